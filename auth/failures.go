package auth

import (
	"cmp"
	"hash/maphash"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
)

// failures counts wrong credentials, by the address they come from and the user they
// are for. An address or user with too many of them has to wait, longer with each
// further one, and less after each quiet minute.
//
// The keys of the count are hashes under a secret of this process: of an address, of a
// user, or of both if that user signed in from that address before. So guesses from
// elsewhere do not lock the user out, and guesses from that address count for no other
// user.
type failures struct {
	limit int // in a minute; negative: no limit
	now   func() time.Time
	seed  maphash.Seed

	mu    sync.Mutex // protects the fields below
	all   map[uint64]failed
	known map[uint64]time.Time // pairs of user and address, and when they were good last
}

// failed is the state of an address or user with failures.
type failed struct {
	count float64   // failures; it falls by limit a minute
	level int       // of the time to wait: 2^(level-1) seconds; it falls by one a quiet minute
	last  time.Time // the time of the two above
	until time.Time // no guess is allowed before this
}

// Bounds, and how time counts.
const (
	maxFailed   = 16384 // about 1.5 MiB
	maxKnown    = 16384
	failWindow  = time.Minute
	firstWait   = time.Second
	longestWait = 5 * time.Minute
	knownFor    = 24 * time.Hour

	highestLevel = 10 // that with the longest time to wait
	sampled      = 8  // of a full map; see room
)

func (f *failures) init(limit int, now func() time.Time) {
	limit = cmp.Or(limit, 10)
	f.limit, f.now, f.seed = limit, now, maphash.MakeSeed()
	f.all, f.known = map[uint64]failed{}, map[uint64]time.Time{}
}

// inherit copies the counts of another one. f must not be in use yet.
func (f *failures) inherit(before *failures) {
	before.mu.Lock()
	defer before.mu.Unlock()
	f.seed, f.all, f.known = before.seed, maps.Clone(before.all), maps.Clone(before.known)
}

// origin is an address or, for a password, an address and a user.
type origin struct {
	address string
	user    string // "": none
}

// counts returns the hashes under which the failures of an origin are counted. For an
// address alone the first one counts keys and tokens, which cannot be guessed: behind a
// NAT, a program with an old key must not make people with a password wait. The lock is
// held.
func (f *failures) counts(o origin) (of [2]uint64, n int) {
	if o.user == "" {
		return [2]uint64{f.hash("keys", o.address), f.hash("address", o.address)}, 2
	}
	pair := f.hash("pair", o.address, o.user)
	if at, ok := f.known[pair]; ok && f.now().Sub(at) < knownFor {
		return [2]uint64{pair}, 1
	}
	return [2]uint64{f.hash("address", o.address), f.hash("user", o.user)}, 2
}

func (f *failures) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	for _, p := range parts {
		maphash.WriteComparable(&h, len(p))
		h.WriteString(p)
	}
	return h.Sum64()
}

// wait returns how long an origin has to wait before it may guess; 0: it need not wait.
func (f *failures) wait(o origin) time.Duration {
	if f.limit < 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var longest time.Duration
	now := f.now()
	of, n := f.counts(o)
	for _, h := range of[:n] {
		longest = max(longest, f.all[h].until.Sub(now))
	}
	return longest
}

// fail counts wrong credentials of an origin that does not have to wait.
func (f *failures) fail(o origin) {
	if f.limit < 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	of, n := f.counts(o)
	if o.user == "" {
		n = 1 // wrong passwords make keys wait, but wrong keys do not make passwords wait
	}
	for _, h := range of[:n] {
		was, there := f.all[h]
		e := was.at(now, f.limit)
		if now.Before(e.until) {
			continue // attempts that were judged at the same time count as one
		}
		e.count = min(e.count+1, float64(f.limit))
		if e.level > 0 || e.count >= float64(f.limit) {
			e.level = min(e.level+1, highestLevel)
			e.until = now.Add(min(firstWait<<(e.level-1), longestWait))
		}
		if !there {
			f.room(now)
		}
		f.all[h] = e
	}
}

// succeed remembers that the user of an origin is known there.
func (f *failures) succeed(o origin) {
	if f.limit < 0 || o.user == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pair := f.hash("pair", o.address, o.user)
	if _, ok := f.known[pair]; !ok {
		makeRoom(f.known, maxKnown)
	}
	f.known[pair] = f.now()
	delete(f.all, pair)
}

// room makes room for one more: of a few random elements it removes the one with the
// least failures. An attacker who wants to be forgotten has to fill the map with others
// that have more, which takes longer than waiting.
func (f *failures) room(now time.Time) {
	if len(f.all) < maxFailed {
		return
	}
	var least uint64
	var leastOf failed
	n := 0
	for h, e := range f.all { // in random order
		if e = e.at(now, f.limit); n == 0 || e.less(leastOf) {
			least, leastOf = h, e
		}
		if n++; n == sampled {
			break
		}
	}
	delete(f.all, least)
}

func (e failed) less(other failed) bool {
	return cmp.Or(cmp.Compare(e.level, other.level), cmp.Compare(e.count, other.count)) < 0
}

// at returns e as of a time.
func (e failed) at(now time.Time, limit int) failed {
	passed := now.Sub(e.last)
	if e.last.IsZero() || passed < 0 {
		e.last = now
		return e
	}
	e.count = max(0, e.count-float64(limit)*passed.Seconds()/failWindow.Seconds())
	if quiet := now.Sub(e.until); e.level > 0 && quiet > 0 {
		// Quiet time counts once: the caller, which stores e, sets until again.
		e.level = max(0, e.level-int(quiet/failWindow))
	}
	e.last = now
	return e
}

// addressOf returns the key for where a request comes from: an address, of IPv6 its
// first 64 bits, which is what one subscriber has. What is not an address, such as a
// socket's, is returned unchanged.
func addressOf(from string) string {
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	ip, err := netip.ParseAddr(from)
	if err != nil {
		return from
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
