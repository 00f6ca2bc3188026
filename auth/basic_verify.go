package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// verifier compares passwords with hashes: a few at a time, for each takes a
// core for a good part of a second, and once a minute for those that are right.
type verifier struct {
	now   func() time.Time
	key   [32]byte      // random, of this process
	slots chan struct{} // one token per comparison that runs

	mu      sync.Mutex // protects the fields below
	good    map[digest]time.Time
	running map[digest]*comparison
	waiting int // callers with a comparison that has no slot yet
}

// digest stands for a name, a password and a hash, without telling them.
type digest [sha256.Size]byte

// comparison is one that runs or waits for its turn.
type comparison struct {
	done chan struct{} // closed when the two below are set
	good bool
	err  error // there was none
}

const (
	goodFor       = time.Minute // a password that was right is not compared again
	maxGood       = 4096        // passwords that are known to be right
	maxComparison = 64          // comparisons that wait for their turn
)

var errManyLogins = errors.New("auth: too many passwords wait to be verified")

func newVerifier(now func() time.Time) *verifier {
	v := &verifier{
		now: now,
		// Half of the machine, so that others get on with their work.
		slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		good:  map[digest]time.Time{}, running: map[digest]*comparison{},
	}
	rand.Read(v.key[:])
	return v
}

// check reports whether a password has a hash; that it was so is believed for some
// time. may is asked just before they are compared, and an error of it is returned. Who comes with the same
// while it is being compared waits for the answer.
func (v *verifier) check(ctx context.Context, name, password string, hash []byte, believe time.Duration, may func() error) (bool, error) {
	d := v.digest(name, password, hash)
	for {
		v.mu.Lock()
		if at, ok := v.good[d]; ok {
			if age := v.now().Sub(at); 0 <= age && age < believe {
				v.mu.Unlock()
				return true, nil
			}
			delete(v.good, d)
		}
		c := v.running[d]
		if c == nil {
			if v.waiting >= maxComparison {
				v.mu.Unlock()
				return false, errManyLogins
			}
			c = &comparison{done: make(chan struct{})}
			v.running[d] = c
			v.waiting++
			v.mu.Unlock()
			v.compare(ctx, d, c, password, hash, may)
			return c.good, c.err
		}
		v.mu.Unlock()
		select {
		case <-c.done:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		if c.err == nil {
			return c.good, nil
		}
		// The other one left, or may not guess. That is its own affair.
	}
}

func (v *verifier) compare(ctx context.Context, d digest, c *comparison, password string, hash []byte, may func() error) {
	err := turn(ctx, v.slots)
	v.mu.Lock()
	v.waiting--
	v.mu.Unlock()
	if err == nil {
		if err = may(); err == nil {
			c.good = bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil
		}
		<-v.slots
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c.err = err
	delete(v.running, d)
	if c.good {
		makeRoom(v.good, maxGood)
		v.good[d] = v.now()
	}
	close(c.done)
}

// digest depends on the hash, too, so that a password that was changed is
// compared again.
func (v *verifier) digest(name, password string, hash []byte) (d digest) {
	m := hmac.New(sha256.New, v.key[:])
	for _, s := range []string{name, password, string(hash)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		m.Write(n[:])
		m.Write([]byte(s))
	}
	m.Sum(d[:0])
	return d
}
