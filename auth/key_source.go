package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// KeySource finds the keys that a signature names. It may be asked by many
// goroutines at once.
type KeySource interface {
	// Keys returns the keys with the id kid. jku is the address that the signature
	// names for them; a signer who made the card up can have made this up, too. If
	// there are none, errors.Is with ErrUnknownKey holds for the error.
	Keys(ctx context.Context, kid, jku string) ([]*Key, error)
}

// Keys returns the keys of the set with an id, whatever jku is.
func (s KeySet) Keys(_ context.Context, kid, _ string) ([]*Key, error) {
	found := slices.DeleteFunc(slices.Clone(s), func(k *Key) bool { return k.id != kid })
	if len(found) == 0 {
		return nil, ErrUnknownKey
	}
	return found, nil
}

// Remote fetches key sets from the addresses that a card's signatures name, if they are
// in a list of the caller's. It caches nothing: a withdrawn key is not found any more.
type Remote struct {
	// Allow are complete addresses: signatures that name any other are not followed.
	// Addresses that are not https must be on this machine.
	Allow []string
	// HTTPClient fetches; nil means one of our own. Redirects are not followed.
	HTTPClient *http.Client
}

// Bounds of fetching a set.
const (
	maxKeys   = 256 << 10 // bytes
	fetchTime = 10 * time.Second
)

// Keys fetches the set at jku and returns its keys with an id.
func (r *Remote) Keys(ctx context.Context, kid, jku string) ([]*Key, error) {
	if jku == "" {
		return nil, fmt.Errorf("%w: the signature does not say where its key is", ErrUnknownKey)
	}
	if !slices.Contains(r.Allow, jku) {
		return nil, fmt.Errorf("%w: the signature says it is at an address that is not allowed", ErrUnknownKey)
	}
	set, err := r.fetch(ctx, jku)
	if err != nil {
		return nil, fmt.Errorf("%w: fetch %s: %w", ErrUnknownKey, jku, err)
	}
	return set.Keys(ctx, kid, jku)
}

func (r *Remote) fetch(ctx context.Context, where string) (KeySet, error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("it is not a URL without credentials")
	}
	if checkSecure(u) != nil {
		return nil, errors.New("keys are fetched by https, or from this machine")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	c := http.Client{}
	if r.HTTPClient != nil {
		c = *r.HTTPClient
	}
	// Only this address is allowed, not one that it redirects to.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	doc, err := io.ReadAll(io.LimitReader(res.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(doc) > maxKeys {
		return nil, fmt.Errorf("the set is larger than %d bytes", maxKeys)
	}
	return ParseKeySet(doc)
}
