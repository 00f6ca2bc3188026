package main

import (
	"fmt"
	"os"
	"time"
)

// costs is a scenario that takes longer than a load does.
type costs interface {
	// costs is roughly what a contender takes once, and in each round.
	costs(b *bench, of *contender, k setting) (once, each time.Duration)
}

// estimate is roughly how long the scenarios take, so that nobody has to guess.
func (b *bench) estimate(chosen []scenario) time.Duration {
	var sum time.Duration
	filled := map[string]bool{}
	for _, s := range chosen {
		for _, k := range b.cases(s) {
			for _, of := range b.contenders {
				if !b.takesPart(s, of, k) || of.lacks[s.about().key] != "" {
					continue
				}
				once, each := time.Duration(0), b.plan.warm+b.plan.time
				if !b.plan.keep {
					each += time.Second / 2 // a server comes and goes, too
				}
				if c, is := s.(costs); is {
					once, each = c.costs(b, of, k)
				}
				if key := fmt.Sprint(s.about().key, of.name, k.n); !filled[key] { // it is for all cases
					filled[key] = true
					sum += once
				}
				sum += time.Duration(b.plan.rounds) * each
			}
		}
	}
	return sum
}

// filling is roughly how long it takes to send n messages.
func filling(of *contender, n int) time.Duration {
	each := 200 * time.Microsecond
	switch of.name {
	case "a2a-go":
		each = 1300 * time.Microsecond
	case "bare":
		each = 40 * time.Microsecond
	}
	return time.Duration(n) * each
}

func (get) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	return filling(of, k.n), b.plan.warm + b.plan.time
}

func (webhooks) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	if of.program != "parley" {
		return 0, 0
	}
	return filling(of, k.n), b.plan.warm + b.plan.time
}

func (long) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	perChunk := 50 * time.Microsecond
	if of.name == "a2a-go" || of.name == "a2a-js" { // the more, the longer
		perChunk = time.Duration(k.n) * time.Microsecond
	}
	each = max(b.plan.time, time.Duration(k.n)*perChunk) + time.Second
	if each > b.plan.limit { // and then not again
		return b.plan.limit, 0
	}
	return 0, each
}

func (idle) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	return 0, 3*max(b.plan.time, time.Second/2) + time.Duration(k.n)*time.Millisecond/2
}

func (fanOut) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	return 0, b.plan.warm + b.plan.time + time.Second + time.Duration(k.n)*time.Millisecond/2
}

func (list) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	switch {
	case of.data:
		once = b.making(k.n) + time.Duration(k.n/2/walked)*5*time.Millisecond
	case k.n > mostForPeers:
		return 0, 0
	default:
		once = filling(of, k.n)
	}
	return once, b.plan.warm + b.plan.time
}

func (restart) costs(b *bench, of *contender, k setting) (once, each time.Duration) {
	if !of.data {
		return 0, 0
	}
	return b.making(k.n), b.plan.time + time.Second
}

// making is roughly how long a stock takes to make that is not there.
func (b *bench) making(n int) time.Duration {
	if _, err := os.Stat(b.stockDir(n)); err == nil {
		return 0
	}
	return time.Duration(n) * 150 * time.Microsecond
}
