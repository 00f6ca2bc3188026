package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// keyring has the keys of an issuer and loads new ones. A request waits for a load only
// if it cannot be answered without one; one of the requests that wait does the work.
type keyring struct {
	// set before use, then constant
	load       func(context.Context) ([]*Key, error)
	algorithms []string
	retry      time.Duration // the shortest time between two loads
	refresh    time.Duration // after which they are loaded again
	stale      time.Duration // the time after which they are not used any more; 0: never
	now        func() time.Time
	log        *slog.Logger

	loads flight[struct{}]

	mu      sync.Mutex // protects the fields below
	keys    []*Key
	loaded  time.Time // when keys were loaded; zero: never
	ended   time.Time // when the last load ended, well or not
	err     error     // of the last load
	loading bool      // a load is under way
	running bool      // run loads when it is time
}

// inherit takes the keys of another keyring of the issuer, if this one has none yet.
// They are loaded again when this one is used, because it may ask the issuer in another
// way.
func (k *keyring) inherit(from *keyring) {
	from.mu.Lock()
	keys, loaded := from.keys, from.loaded
	from.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loaded.IsZero() {
		k.keys, k.loaded = keys, loaded
	}
}

// every sets how often keys are loaded, unless the operator has set it.
func (k *keyring) every(refresh, retry time.Duration) {
	if k.refresh <= 0 {
		k.refresh = refresh
	}
	if k.retry <= 0 {
		k.retry = retry
	}
	k.retry = min(k.retry, k.refresh)
}

// find returns the keys that a token may be signed with, at least one. Errors are of
// two kinds: there is no such key, which is the token's fault; or that cannot be known
// at the moment.
func (k *keyring) find(ctx context.Context, id, alg string) ([]*Key, error) {
	found, ask, err := k.look(id, alg, true)
	if !ask {
		return found, err
	}
	// Others wait for what this request does, so it does it to the end, even if its
	// caller hangs up.
	if err := k.reload(ctx, context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	found, _, err = k.look(id, alg, false)
	return found, err
}

// look answers from the keys that it has or, if may is true, says that they have to be
// loaded first.
func (k *keyring) look(id, alg string, may bool) (found []*Key, ask bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	age := now.Sub(k.loaded)
	usable := !k.loaded.IsZero() && (k.stale == 0 || age <= k.stale)
	may = may && (k.loading || now.Sub(k.ended) >= k.retry)
	if usable {
		if found, err = matching(k.keys, id, alg, now); err != nil {
			return nil, false, err
		}
	}
	switch {
	case len(found) > 0 && (k.running || age <= k.refresh || k.loading):
		return found, false, nil
	case may:
		return nil, true, nil
	case len(found) > 0:
		return found, false, nil
	case !usable || k.err != nil:
		return nil, false, fmt.Errorf("auth: the issuer's keys cannot be fetched: %w", k.err)
	}
	return nil, false, refuse("the token is signed with a key that the issuer does not have")
}

// matching returns the keys with an id that are for an algorithm. Without an id there
// must not be more than one (OpenID Connect Core §10.1).
func matching(keys []*Key, id, alg string, now time.Time) ([]*Key, error) {
	var found []*Key
	for _, k := range keys {
		if (id == "" || k.id == id) && k.takes(alg) && !k.ended(now) {
			found = append(found, k)
		}
	}
	if id == "" && len(found) > 1 {
		return nil, refuse("the token does not say which of the issuer's keys it is signed with (kid)")
	}
	return found, nil
}

// loadTime bounds a load of the keys.
const loadTime = 10 * time.Second

// reload loads the keys, or waits for the load under way. An error means that ctx
// ended; the outcome of the load is in the keyring.
func (k *keyring) reload(ctx, work context.Context) error {
	_, _, err := k.loads.do(ctx, "", func() (struct{}, error) {
		k.mu.Lock()
		k.loading = true
		k.mu.Unlock()
		work, cancel := context.WithTimeout(work, loadTime)
		defer cancel()
		keys, err := []*Key(nil), errors.New("it was given up")
		defer func() { k.done(keys, err) }() // also when load panics
		keys, err = k.load(work)
		return struct{}{}, nil
	})
	return err
}

// done stores the result of a load, and logs what is new.
func (k *keyring) done(keys []*Key, err error) {
	k.mu.Lock()
	before, failed, first := k.keys, k.err, k.loaded.IsZero()
	k.loading, k.ended, k.err = false, k.now(), err
	if err == nil {
		k.keys, k.loaded = keys, k.ended
	}
	k.mu.Unlock()
	switch added, gone := ids(keys, before), ids(before, keys); {
	case errors.Is(err, context.Canceled), err != nil && failed != nil && failed.Error() == err.Error():
		// The server ends, or this was logged already.
	case err != nil && first:
		k.log.Warn("the keys of a token issuer cannot be fetched; until they are, its tokens are refused", "error", err)
	case err != nil:
		k.log.Warn("the keys of a token issuer cannot be fetched; the last ones stay in use", "error", err)
	case len(keys) == 0:
		k.log.Warn("a token issuer has no keys for the accepted algorithms", "algorithms", k.algorithms, "gone", gone)
	case len(added)+len(gone) > 0 || failed != nil:
		k.log.Info("the keys of a token issuer were read", "new", added, "gone", gone)
	}
}

// ids returns the names of keys that are not among others.
func ids(keys, others []*Key) []string {
	out := []string{}
	for _, k := range keys {
		if !slices.ContainsFunc(others, func(o *Key) bool { return k.id == o.id && k.equal(o) }) {
			out = append(out, strings.ToValidUTF8(k.id, "?"))
		}
	}
	return out
}

// first loads the keys and returns why there are none.
func (k *keyring) first(ctx context.Context) error {
	_ = k.reload(ctx, ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil && len(k.keys) == 0 {
		return fmt.Errorf("there is none for %s", strings.Join(k.algorithms, ", "))
	}
	return k.err
}

// run loads the keys whenever it is time, until ctx ends.
func (k *keyring) run(ctx context.Context) error {
	k.setRunning(true)
	defer k.setRunning(false)
	for {
		wait := k.due()
		if wait <= 0 {
			_ = k.reload(ctx, ctx)
			wait = k.due()
		}
		if wake.Pause(ctx, max(wait, k.retry)) != nil {
			return nil
		}
	}
}

func (k *keyring) setRunning(is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = is
}

// due returns how long until keys should be loaded: sooner after a failure.
func (k *keyring) due() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch now := k.now(); {
	case k.ended.IsZero():
		return 0
	case k.err != nil:
		return min(3*k.retry, k.refresh) - now.Sub(k.ended)
	default:
		return k.refresh - now.Sub(k.loaded)
	}
}

// fromFile makes the keyring take its keys from a file. The file is read again and
// again instead of watched: it is small, and this notices a replaced file on every file
// system. The keys never get too old, because the operator has them.
func (k *keyring) fromFile(name string) {
	k.every(10*time.Second, time.Second)
	k.load = func(context.Context) ([]*Key, error) {
		doc, err := readCredentials(name, maxKeys)
		if p, ok := errors.AsType[*fs.PathError](err); ok && p.Op == "read" {
			return nil, fmt.Errorf("read it: %w", p.Err)
		} else if err != nil {
			return nil, bare(err) // the operator knows by the issuer where it is
		}
		if private(doc) {
			return nil, errors.New("the file holds private keys, with which tokens can be made: give the server the public ones only")
		}
		return parseIssuerKeys(doc, k.algorithms)
	}
}
