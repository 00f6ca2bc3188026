package a2aclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
)

func TestWebhookKeysAreFetchedRarely(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL, Remember: 1000})
	for i := range 100 {
		r.want("good", r.signed("d-"+strconv.Itoa(i), statusEvent, ""), statusEvent, 200)
	}
	if r.fetches != 1 {
		t.Errorf("%d fetches", r.fetches)
	}
	r.pass(keysFresh + time.Second)
	r.want("after an hour", r.signed("e-1", statusEvent, ""), statusEvent, 200)
	if r.fetches != 2 {
		t.Errorf("%d fetches after an hour", r.fetches)
	}
}

// TestWebhookRubbishMakesNoRequests: a sender that cannot sign cannot make us ask
// more than once in a while, and does not shut others out.
func TestWebhookRubbishMakesNoRequests(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL})
	good := func(id string) http.Header { return r.signed(id, statusEvent, "") }
	rubbish := good("d-1")
	r.want("fetched for it", rubbish, taskV03, 401)
	for range 10 {
		r.want("no fetch for it", rubbish, taskV03, 503)
	}
	r.want("a good one", good("d-2"), statusEvent, 200)
	if r.fetches != 1 {
		t.Errorf("%d fetches", r.fetches)
	}
	r.pass(keysPause)
	r.want("after a pause", rubbish, taskV03, 401)
	if r.fetches != 2 {
		t.Errorf("%d fetches", r.fetches)
	}
}

func TestWebhookRotation(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL})
	r.want("before", r.signed("d-1", statusEvent, ""), statusEvent, 200)
	r.pass(time.Minute)
	next, err := r.keys.Rotate(r.clock())
	if err != nil {
		t.Fatal(err)
	}
	r.keys = next
	r.want("signed with both", r.signed("d-2", statusEvent, ""), statusEvent, 200)
	if r.fetches != 1 {
		t.Errorf("%d fetches: the old key is still good", r.fetches)
	}
	r.want("a JWT with the new one", r.withJWT("d-3", "t-1", statusEvent), statusEvent, 200)
	if r.fetches != 2 {
		t.Errorf("%d fetches", r.fetches)
	}
	r.pass(keysPause)
	if r.keys, err = r.keys.Rotate(r.clock()); err != nil {
		t.Fatal(err)
	}
	r.pass(webhook.Overlap + time.Second)
	r.want("long after another one", r.signed("d-4", statusEvent, ""), statusEvent, 200)
}

func TestWebhookKeysThatCannotBeHad(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL})
	r.down = true
	r.want("none yet", r.signed("d-1", statusEvent, ""), statusEvent, 503)
	r.want("none yet, not asked again", r.signed("d-1", statusEvent, ""), statusEvent, 503)
	if r.fetches != 1 {
		t.Errorf("%d fetches", r.fetches)
	}
	r.down = false
	r.pass(keysPause)
	r.want("up", r.signed("d-1", statusEvent, ""), statusEvent, 200)
	r.down = true
	r.pass(2 * time.Hour)
	r.want("the old keys are good enough", r.signed("d-2", statusEvent, ""), statusEvent, 200)
	r.pass(keysStale)
	r.want("for a day", r.signed("d-3", statusEvent, ""), statusEvent, 503)
}

// TestWebhookKeysAreFetchedOnce: deliveries that come at once share a request,
// which does not end with the first of them.
func TestWebhookKeysAreFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fetches atomic.Int32
		release := make(chan bool)
		v, err := NewWebhookVerifier(WebhookOptions{Keys: keysURL, AnySource: true, HTTPClient: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			fetches.Add(1)
			select {
			case <-release:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(webhookKeys().JWKS()))), Request: req}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		results := make(chan error, 9)
		left := make(chan error, 1)
		for i := range 10 {
			h := http.Header{}
			webhookKeys().Sign(h, "d-"+string(rune('0'+i)), time.Now(), []byte(statusEvent), "")
			c, to := t.Context(), results
			if i == 0 {
				c, to = ctx, left
			}
			go func() {
				_, err := v.Verify(c, h, []byte(statusEvent))
				to <- err
			}()
			synctest.Wait()
		}
		cancel(gone)
		if err := <-left; err != gone {
			t.Errorf("the one that left: %v", err)
		}
		close(release)
		for range 9 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := fetches.Load(); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
