package a2aserver

import "time"

// Limits of package port that these tests rely on.
const (
	addrStrangers = 256     // answers of an address under way
	minRate       = 4 << 10 // bytes a second
)

func atMinRate(n int) time.Duration { return time.Duration(n) * (time.Second / minRate) }
