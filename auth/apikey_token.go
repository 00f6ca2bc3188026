package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// A token is parley_<id>_<secret><checksum>: the prefix and the checksum are
// for programs that look for secrets where they should not be (they match
// parley_[a-z2-7]{10}_[0-9A-Za-z]{49} and compute CRC-32), and people can
// name a key by its id.
const (
	tokenPrefix  = "parley_"
	idSize       = 10 // of base 32: 50 bits, unique by the vault
	secretSize   = 43 // of base 62: 256 bits
	checksumSize = 6  // of base 62: 32 bits and leading zeros
	tokenSize    = len(tokenPrefix) + idSize + 1 + secretSize + checksumSize
)

const (
	base32 = "abcdefghijklmnopqrstuvwxyz234567"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// newToken returns a token with a new secret.
func newToken(id string) string {
	b := make([]byte, 0, tokenSize)
	b = append(b, tokenPrefix...)
	b = append(b, id...)
	b = append(b, '_')
	secretEnd := len(b) + secretSize
	var random [64]byte
	for len(b) < secretEnd {
		rand.Read(random[:])
		for _, r := range random {
			// Bytes beyond the last whole 62 would make some digits likelier.
			if r < 4*62 && len(b) < secretEnd {
				b = append(b, base62[r%62])
			}
		}
	}
	sum := checksum(string(b))
	return string(append(b, sum[:]...))
}

// checksum returns the CRC-32 of s in base 62.
func checksum(s string) (sum [checksumSize]byte) {
	var b [tokenSize]byte
	n := crc32.ChecksumIEEE(b[:copy(b[:], s)])
	for i := checksumSize - 1; i >= 0; i-- {
		sum[i] = base62[n%62]
		n /= 62
	}
	return sum
}

// tokenID returns the ID in a token, if it is one: of the right form, with the
// right checksum. Whether there is such a key it does not know.
func tokenID(token string) (id string, ok bool) {
	if len(token) != tokenSize || !isKeyToken(token) {
		return "", false
	}
	id = token[len(tokenPrefix):][:idSize]
	secret := token[len(tokenPrefix)+idSize:]
	if secret[0] != '_' {
		return "", false
	}
	if strings.Trim(id, base32) != "" || strings.Trim(secret[1:], base62) != "" {
		return "", false
	}
	body := token[:tokenSize-checksumSize]
	sum := checksum(body)
	return id, token[len(body):] == string(sum[:])
}

// isKeyToken reports whether a bearer token is meant to be an API key, which no
// other method looks at then.
func isKeyToken(token string) bool { return strings.HasPrefix(token, tokenPrefix) }

// hashToken returns what is kept of a token. A fast hash is enough: slow ones
// are for what people choose, and nobody goes through 2^256 secrets.
func hashToken(token string) (h [sha256.Size]byte) {
	var b [tokenSize]byte // not on the heap, for this is done for each request
	return sha256.Sum256(b[:copy(b[:], token)])
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
