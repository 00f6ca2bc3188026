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

// verifier compares passwords with hashes: a few at a time, because each comparison
// takes a core for a good part of a second; and right ones only once a minute.
type verifier struct {
	now   func() time.Time
	key   [32]byte      // random, of this process
	slots chan struct{} // one token per comparison that runs

	running flight[bool] // comparisons, by digest

	mu      sync.Mutex // protects the fields below
	good    map[digest]time.Time
	waiting int // comparisons that have no slot yet
}

// digest identifies a name, a password and a hash without revealing them.
type digest [sha256.Size]byte

const (
	goodFor       = time.Minute // a password that was right is not compared again
	maxGood       = 4096        // passwords that are known to be right
	maxComparison = 64          // comparisons that wait for their turn
)

var errManyLogins = errors.New("auth: too many passwords wait to be verified")

func newVerifier(now func() time.Time) *verifier {
	v := &verifier{
		now: now,
		// Half of the machine, so that other work goes on.
		slots: make(chan struct{}, max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2)),
		good:  map[digest]time.Time{},
	}
	rand.Read(v.key[:])
	return v
}

// check reports whether a password has a hash. It believes an earlier comparison that
// was right for that time. Just before a comparison it calls may, and returns its
// error. Concurrent callers with the same password and hash share one comparison.
func (v *verifier) check(ctx context.Context, name, password string, hash []byte, believe time.Duration, may func() error) (bool, error) {
	d := v.digest(name, password, hash)
	for {
		now := v.now()
		if v.known(d, func(at time.Time) bool { age := now.Sub(at); return 0 <= age && age < believe }) {
			return true, nil
		}
		good, own, err := v.running.do(ctx, string(d[:]), func() (bool, error) {
			if v.known(d, func(at time.Time) bool { return !at.Before(now) }) {
				return true, nil // by a comparison that has just ended
			}
			return v.compare(ctx, d, password, hash, may)
		})
		if err == nil || own || ctx.Err() != nil {
			return good, err
		}
		// The caller that did the comparison has left, or may not guess. This one makes
		// its own.
	}
}

// known reports whether a password was found right recently enough. It forgets an older
// result.
func (v *verifier) known(d digest, recent func(time.Time) bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.good[d]
	if ok && !recent(at) {
		delete(v.good, d)
		return false
	}
	return ok
}

// compare waits for a slot while ctx lasts, and compares.
func (v *verifier) compare(ctx context.Context, d digest, password string, hash []byte, may func() error) (bool, error) {
	if !v.wait(+1) {
		return false, errManyLogins
	}
	select {
	case v.slots <- struct{}{}:
		v.wait(-1)
	case <-ctx.Done():
		v.wait(-1)
		return false, context.Cause(ctx)
	}
	defer func() { <-v.slots }()
	if err := may(); err != nil {
		return false, err
	}
	good := bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil
	if good {
		v.mu.Lock()
		defer v.mu.Unlock()
		makeRoom(v.good, maxGood)
		v.good[d] = v.now()
	}
	return good, nil
}

// wait counts the comparisons that wait for a slot. It reports false if there are too
// many.
func (v *verifier) wait(n int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waiting+n > maxComparison {
		return false
	}
	v.waiting += n
	return true
}

// digest includes the hash, so that a password that was changed is compared again.
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
