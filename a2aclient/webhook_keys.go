package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/parley-a2a/parley/internal/webhook"
)

const (
	keysFresh  = time.Hour        // keys are used without fetching them again
	keysStale  = 24 * time.Hour   // keys are used if fetching fails
	keysPause  = 30 * time.Second // between two requests for keys
	keysWait   = 10 * time.Second // for an answer
	maxKeysDoc = 64 << 10         // bytes
)

// keyFetcher fetches the keys that an agent publishes.
type keyFetcher struct {
	// set at start, then constant
	url    string
	client *http.Client
	now    func() time.Time

	asking singleflight.Group // requests under way

	mu      sync.Mutex // protects the fields below
	keys    *webhook.KeySet
	fetched time.Time // when they were last fetched
	asked   time.Time // when they were last requested, with or without success
}

func newKeyFetcher(o *WebhookOptions) (*keyFetcher, error) {
	u, err := url.Parse(o.Keys)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Host)) {
		return nil, errors.New("webhook verifier: Keys must be an https URL, or http to this machine")
	}
	f := &keyFetcher{url: o.Keys, now: o.now}
	f.client = (&Options{HTTPClient: o.HTTPClient}).httpClient()
	return f, nil
}

// current returns the present keys. The error is a *WebhookError, or the cause of ctx.
func (f *keyFetcher) current(ctx context.Context) (*webhook.KeySet, error) {
	keys, age := f.have()
	if keys != nil && age <= keysFresh {
		return keys, nil
	}
	err := f.refresh(ctx)
	if keys, age = f.have(); keys != nil && age <= keysStale {
		return keys, nil
	}
	return nil, f.unavailable(ctx, err)
}

// newer returns keys that were fetched after than.
func (f *keyFetcher) newer(ctx context.Context, than *webhook.KeySet) (*webhook.KeySet, error) {
	if keys, _ := f.have(); keys != than {
		return keys, nil
	}
	err := f.refresh(ctx)
	if keys, _ := f.have(); keys != than {
		return keys, nil
	}
	return nil, f.unavailable(ctx, err)
}

func (f *keyFetcher) have() (keys *webhook.KeySet, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys, f.now().Sub(f.fetched)
}

func (f *keyFetcher) unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &WebhookError{Status: http.StatusServiceUnavailable, Reason: "the agent's keys cannot be fetched now", Err: err}
}

var errPause = errors.New("the keys were requested a moment ago")

// refresh fetches the keys, unless they were requested a moment ago: invalid deliveries
// must not cause requests. It joins a request under way.
func (f *keyFetcher) refresh(ctx context.Context) error {
	done := f.asking.DoChan("", func() (any, error) {
		f.mu.Lock()
		now, before := f.now(), f.asked
		if !before.IsZero() && now.Sub(before) < keysPause {
			f.mu.Unlock()
			return nil, errPause
		}
		f.asked = now
		f.mu.Unlock()
		// Others wait for it, so it does not end with the request that began it;
		// keysWait ends it.
		keys, err := f.fetch(context.WithoutCancel(ctx))
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.keys, f.fetched = keys, now
		return nil, nil
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *keyFetcher) fetch(ctx context.Context) (*webhook.KeySet, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, keysWait, timeout(keysWait))
	defer cancel()
	leaving, _ := new(Options).leave(ctx, nil)
	req, err := http.NewRequestWithContext(leaving, http.MethodGet, f.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := f.client.Do(req)
	if err != nil {
		return nil, new(dialing).transportError(req.URL.Host, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", req.URL.Host, res.StatusCode)
	}
	body, err := readAll(res.Body, maxKeysDoc)
	if err != nil {
		return nil, err
	}
	return webhook.ParseKeySet(body)
}
