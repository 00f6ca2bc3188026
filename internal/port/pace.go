package port

import (
	"time"

	"github.com/parley-a2a/parley/internal/budget"
)

const (
	// WriteSize is how much is written at a time, in bytes: each piece has the time
	// limit of a write.
	WriteSize = 32 << 10
	// minRate is the least rate at which a peer has to read, in bytes a second. A
	// mobile client at 100 kbit/s reads three times as fast, so it may have three
	// answers at once. At just this rate, an answer of 16 MB takes 68 minutes.
	minRate = 4 << 10
	// heldRate is minRate for a peer whose answer holds memory that others wait for: an
	// answer of 16 MB takes four minutes.
	heldRate = 64 << 10
)

// atMinRate returns how long n bytes take at minRate.
func atMinRate(n int) time.Duration {
	return time.Duration(n) * (time.Second / minRate)
}

// Pace tracks how far a peer is behind minRate while writes wait for it. A write that
// takes longer than minRate allows adds to that; a faster one and the time between
// writes reduce it. A peer that is behind by the time limit of a write has had its
// time. So n bytes keep a writer for at most the limit and n / minRate.
//
// Times are since some moment, the same for all.
type Pace struct {
	behind time.Duration
	ended  time.Duration // the last write
	// Hold is the memory that is being written, or nil. While others wait for it
	// the peer has to be faster.
	Hold *budget.Hold
}

// Take returns how long n bytes take at the rate that the peer has to have.
func (p *Pace) Take(n int) time.Duration {
	if p.Hold.Stalls() {
		return time.Duration(n) * (time.Second / heldRate)
	}
	return atMinRate(n)
}

// Allows returns how long a write of n bytes that begins now may take.
func (p *Pace) Allows(n int, limit, now time.Duration) time.Duration {
	if p.behind > 0 {
		p.behind = max(0, p.behind-(now-p.ended))
	}
	return min(limit, limit-p.behind+p.Take(n))
}

// Wrote notes that n bytes were written from began to now.
func (p *Pace) Wrote(n int, began, now time.Duration) {
	p.behind = max(0, p.behind+now-began-p.Take(n))
	p.ended = now
}

// Behind returns how far the peer is behind.
func (p *Pace) Behind() time.Duration { return p.behind }
