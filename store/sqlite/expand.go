package sqlite

import (
	"encoding/binary"
	"strings"
)

// firstDistance is the distance of a repeated copy that comes before any other copy.
var firstDistance = len(words) - strings.LastIndex(words, firstWord)

// expand fills dst with the first bytes of a piece and decodes no more than that, because a
// list needs only heads, which come first, and package s2 decodes only whole blocks. A block
// is a sequence of elements. The low two bits of an element's first byte are its kind:
//
//	0  literal  length-1 in the other bits; 60 and 61: in the next byte, or two
//	1  copy     length-4 in 3 bits, distance in 3 bits and a byte; distance 0: see again
//	2  copy     length-1 in the other bits, distance in two bytes
//
// A copy reads from dst, or from words as if they preceded it. Kinds of larger elements do
// not occur in so few bytes.
func expand(dst, piece []byte) error {
	if len(dst) > sizeOf(piece) {
		return errPiece
	}
	_, n := binary.Uvarint(piece[1:])
	src := piece[1+n:]
	distance := firstDistance
	for d := 0; d < len(dst); {
		if len(src) < 2 { // the shortest element
			return errPiece
		}
		length := int(src[0] >> 2)
		switch src[0] & 3 {
		case 0:
			skip := 1
			if length >= 60 {
				if len(src) < 3 || length > 61 {
					return errPiece
				}
				skip = length - 58
				if length = int(src[1]); skip == 3 {
					length |= int(src[2]) << 8
				}
			}
			length++
			if src = src[skip:]; length > len(src) {
				return errPiece
			}
			d += copy(dst[d:], src[:length])
			src = src[length:]
			continue
		case 1:
			to := int(src[0]&0xe0)<<3 | int(src[1])
			src = src[2:]
			if length &= 7; to > 0 {
				distance = to
			} else if length = again(length, &src); length < 0 {
				return errPiece
			}
			length += 4
		case 2:
			if len(src) < 3 {
				return errPiece
			}
			distance = int(src[1]) | int(src[2])<<8
			length++
			src = src[3:]
		default:
			return errPiece
		}
		length = min(length, len(dst)-d)
		if distance > d { // it begins in words
			at := len(words) - distance + d
			if at < 0 || at+length > len(words) {
				return errPiece
			}
			d += copy(dst[d:], words[at:at+length])
			continue
		}
		if distance == 0 {
			return errPiece
		}
		for end := d + length; d < end; { // a copy may read bytes that it writes
			d += copy(dst[d:end], dst[d-distance:d])
		}
	}
	return nil
}

// again returns the length-4 of a copy that repeats the distance of the copy before, or -1 if
// the piece is damaged. For 5 and 6 the length is in the next one or two bytes.
func again(length int, src *[]byte) int {
	b := *src
	switch {
	case length < 5:
		return length
	case length == 5 && len(b) > 0:
		*src = b[1:]
		return int(b[0]) + 4
	case length == 6 && len(b) > 1:
		*src = b[2:]
		return int(b[0]) | int(b[1])<<8 + 1<<8
	}
	return -1
}
