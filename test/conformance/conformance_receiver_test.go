package conformance

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
)

// TestConformanceReceiver looks at the other end of a webhook, which is a part
// of the client.
func TestConformanceReceiver(t *testing.T) {
	t.Parallel()
	const token = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
	ag := newHeld()
	url := start(t, agent.DemoCard(), ag, &parley.Options{Egress: &a2aserver.Egress{Loopback: true}})
	w := dial(t, jsonrpc, url)

	var mine string
	var processed []string // ids of deliveries; the requests come one after the other
	now := time.Now
	verifier := func(clock func() time.Time) http.Handler {
		v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{
			Keys: url + "/.well-known/jwks.json", Token: token, Now: clock,
			Task: func(_ context.Context, id string) bool { return id == mine },
		})
		if err != nil {
			t.Fatal(err)
		}
		return v.Handler(func(_ context.Context, d *a2aclient.WebhookDelivery) error {
			processed = append(processed, d.ID)
			return nil
		})
	}
	h := verifier(now)

	// Two tasks are delivered to a mailbox, from where the test takes them on.
	deliveries := func() (id string, posts []posted) {
		m := newMailbox(t, nil)
		id = ag.hold(t, w)
		w.ok(t, "CreateTaskPushNotificationConfig", obj{"taskId": id, "url": m.url, "token": token})
		ag.release <- struct{}{}
		posts, _ = m.untilDone()
		return id, posts
	}
	id, posts := deliveries()
	_, foreign := deliveries()
	mine = id

	hand := func(h http.Handler, p posted, change func(r *http.Request)) int {
		r := httptest.NewRequest("POST", "/hook", bytes.NewReader(p.raw))
		r.Header = p.header.Clone()
		if change != nil {
			change(r)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec.Code
	}
	t.Run("R-140 what is delivered is answered with 2xx", func(t *testing.T) {
		for _, p := range posts {
			equal(t, "the answer", hand(h, p, nil), 200)
		}
		equal(t, "what was processed", len(processed), len(posts))
	})
	t.Run("R-141 R-266 R-288 what comes again is answered and not processed", func(t *testing.T) {
		before := slices.Clone(processed)
		for range 2 {
			equal(t, "the answer", hand(h, posts[0], nil), 200)
		}
		equal(t, "what was processed", processed, before)
	})
	t.Run("R-142 R-266 the tasks of others are refused", func(t *testing.T) {
		before := slices.Clone(processed)
		equal(t, "the answer", hand(h, foreign[0], nil), 404)
		equal(t, "what was processed", processed, before)
	})
	t.Run("R-265 what is not from the agent is refused", func(t *testing.T) {
		before := slices.Clone(processed)
		fresh := verifier(now)
		for what, change := range map[string]func(r *http.Request){
			"without signature": func(r *http.Request) { r.Header.Del("Webhook-Signature") },
			"another body":      func(r *http.Request) { r.Body = http.NoBody },
			"another id":        func(r *http.Request) { r.Header.Set("Webhook-Id", "msg_other") },
			"another time":      func(r *http.Request) { r.Header.Set("Webhook-Timestamp", "1700000000") },
			"the token alone": func(r *http.Request) {
				r.Header.Set("Webhook-Signature", strings.Split(r.Header.Get("Webhook-Signature"), " ")[0])
			},
			"the key alone": func(r *http.Request) {
				r.Header.Set("Webhook-Signature", strings.Split(r.Header.Get("Webhook-Signature"), " ")[1])
			},
		} {
			// 503 is for keys that nobody knows and that were fetched a moment ago.
			if got := hand(fresh, posts[1], change); got != 401 && got != 503 {
				t.Errorf("%s is answered with %d", what, got)
			}
		}
		equal(t, "as it came", hand(fresh, posts[1], nil), 200)
		equal(t, "what was processed", len(processed), len(before)+1)
	})
	t.Run("R-288 what is old is refused", func(t *testing.T) {
		late := verifier(func() time.Time { return time.Now().Add(10 * time.Minute) })
		equal(t, "the answer", hand(late, posts[0], nil), 425)
	})
}
