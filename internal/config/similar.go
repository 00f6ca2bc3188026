package config

import "strings"

// plain is a name without what people write in different ways.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// Similar returns the one of names that s was probably meant to be, "" if none
// is near. Of several it is the first of the nearest.
func Similar(s string, names []string) string {
	if len(s) > 64 { // nobody's slip of the pen, and the effort grows with its square
		return ""
	}
	best, distance := "", 3
	for _, n := range names {
		d := edits(plain(s), plain(n))
		if d < distance && d*3 <= max(len(plain(n)), len(plain(s)))+1 {
			best, distance = n, d
		}
	}
	return best
}

// edits is how many characters have to be changed, added, left out or swapped
// with their neighbour to make b of a.
func edits(a, b string) int {
	var before, last, this = make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		this[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			this[j] = min(last[j]+1, this[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				this[j] = min(this[j], before[j-2]+1)
			}
		}
		before, last, this = last, this, before
	}
	return last[len(b)]
}
