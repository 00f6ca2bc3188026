package jsonscan

import "math/bits"

// lowest returns the index of the byte that the lowest mark is for.
func lowest(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// Plain returns how long the part is that s begins with and that a JSON string
// has as it is: ASCII without quotes, backslashes and control characters.
func Plain(s string) int {
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := load(s[i : i+8])
		if m := special(w) | w&tops; m != 0 {
			return i + lowest(m)
		}
	}
	for ; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= 0x80 || b == '"' || b == '\\' {
			break
		}
	}
	return i
}

// load is what binary.LittleEndian.Uint64 is for bytes; the compiler makes one
// instruction of it, where there is one.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
