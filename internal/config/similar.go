package config

import "strings"

// plain reduces a name by what people spell differently.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// Similar returns the name that s was probably meant to be, "" if none is similar enough. Of
// equally similar names it returns the first.
func Similar(s string, names []string) string {
	if len(s) > 64 { // too long for a typo, and the cost grows with its square
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

// edits returns how many characters must be changed, added, left out or swapped with their
// neighbour to turn a into b.
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
