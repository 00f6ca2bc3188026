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
// A wrong password counts for its address and for its user or, if that user signed in
// from that address before, for the pair alone. So guesses from elsewhere do not lock the
// user out, and guesses from that address count for no other user. Keys and tokens, which
// cannot be guessed, have a count of their own: behind a NAT, a program with an old key
// must not make people with a password wait.
type failures struct {
	limit int // in a minute; negative: no limit
	now   func() time.Time
	seed  maphash.Seed

	mu    sync.Mutex // protects the fields below, whose keys are from key
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

// What failures are counted for.
const (
	ofKeys    = "keys" // and tokens, of an address
	ofAddress = "address"
	ofUser    = "user"
	ofPair    = "pair" // of address and user
)

// key returns the key of a count in the maps: a hash under a secret of this process, so
// that long names take no memory.
func (f *failures) key(of, address, user string) uint64 {
	return maphash.Comparable(f.seed, [...]string{of, address, user})
}

// countsLocked returns the keys of the counts that a failure of an origin adds to.
func (f *failures) countsLocked(o origin) []uint64 {
	if o.user == "" {
		return []uint64{f.key(ofKeys, o.address, "")}
	}
	pair := f.key(ofPair, o.address, o.user)
	if at, ok := f.known[pair]; ok && f.now().Sub(at) < knownFor {
		return []uint64{pair}
	}
	return []uint64{f.key(ofAddress, o.address, ""), f.key(ofUser, "", o.user)}
}

// wait returns how long an origin has to wait before it may guess; 0: it need not wait.
func (f *failures) wait(o origin) time.Duration {
	if f.limit < 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := f.countsLocked(o)
	if o.user == "" { // wrong passwords make keys wait, too
		counts = append(counts, f.key(ofAddress, o.address, ""))
	}
	var longest time.Duration
	now := f.now()
	for _, k := range counts {
		longest = max(longest, f.all[k].until.Sub(now))
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
	for _, k := range f.countsLocked(o) {
		was, there := f.all[k]
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
		f.all[k] = e
	}
}

// succeed remembers that the user of an origin is known there.
func (f *failures) succeed(o origin) {
	if f.limit < 0 || o.user == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pair := f.key(ofPair, o.address, o.user)
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
	for k, e := range f.all { // in random order
		if e = e.at(now, f.limit); n == 0 || e.less(leastOf) {
			least, leastOf = k, e
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
