package a2aclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/webhook"
)

const (
	sourceA = "annannannannannannannannannannan"
	sourceB = "benbenbenbenbenbenbenbenbenbenbe"
)

func idOf(source string, n int) string { return webhook.SourcedID(source, "msg_"+strconv.Itoa(n)) }

// A key alone does not say which caller a delivery belongs to, so a verifier that
// knows nothing else is not made.
func TestWebhookKeysNeedATokenOrASource(t *testing.T) {
	public := []string{webhookKeys().PublicKey()}
	for _, c := range []struct {
		opts WebhookOptions
		ok   bool
	}{
		{WebhookOptions{Keys: keysURL}, false},
		{WebhookOptions{PublicKeys: public}, false},
		{WebhookOptions{Keys: keysURL, Unsigned: true}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{}}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{""}}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{sourceA, "msg_" + sourceA}}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{strings.ToUpper(sourceA)}}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{sourceA}, AnySource: true}, false},
		{WebhookOptions{Keys: keysURL, Sources: []string{sourceA}}, true},
		{WebhookOptions{PublicKeys: public, Sources: []string{sourceA, sourceB}}, true},
		{WebhookOptions{Keys: keysURL, Token: "secret"}, true},
		{WebhookOptions{Keys: keysURL, AnySource: true}, true},
		{WebhookOptions{Token: "secret", Sources: []string{sourceA}}, true},
		{WebhookOptions{Unsigned: true}, true},
	} {
		if _, err := NewWebhookVerifier(c.opts); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
}

// A delivery is taken from the sources that are expected, whatever vouches for it,
// and says which one it has.
func TestWebhookOfAnotherSource(t *testing.T) {
	for what, o := range map[string]WebhookOptions{
		"by key": {Keys: keysURL}, "by a pinned key": {PublicKeys: []string{webhookKeys().PublicKey()}},
		"by token": {Token: "secret"}, "by both": {Keys: keysURL, Token: "secret"},
	} {
		o.Sources = []string{sourceA}
		for id, status := range map[string]int{
			idOf(sourceA, 1): 200, idOf(sourceB, 1): 401, idOf("", 1): 401, "d-1": 401, idOf("", 1) + "_" + sourceA: 401,
		} {
			r := newReceiver(t, o)
			h := r.signed(id, statusEvent, o.Token)
			d := r.want(what+", "+id, h, statusEvent, status)
			if d != nil && d.Source != sourceA {
				t.Errorf("%s, %s: the source is %q", what, id, d.Source)
			}
			// Nothing but the id says so, and the id is signed.
			h.Set(webhook.SourceHeader, sourceA)
			r.want(what+", with a header, "+id, h, statusEvent, status)
			if status != 200 {
				r.pass(keysPause) // or the keys were requested a moment ago
				h[webhook.HeaderID] = []string{idOf(sourceA, 1)}
				r.want(what+", under another id, "+id, h, statusEvent, 401)
			}
			if o.Keys == "" || o.Token != "" {
				continue
			}
			r = newReceiver(t, o)
			r.want(what+", JWT, "+id, r.withJWT(id, "t-1", taskV03), taskV03, status)
			mixed := r.withJWT(id, "t-1", taskV03)
			mixed[webhook.HeaderID] = []string{idOf(sourceA, 1)}
			r.want(what+", JWT beside another id, "+id, mixed, taskV03, status)
		}
	}
	r := newReceiver(t, WebhookOptions{Keys: keysURL, Sources: []string{sourceA}})
	r.want("a JWT without an id", r.withJWT("", "t-1", taskV03), taskV03, 401)
	both := newReceiver(t, WebhookOptions{Keys: keysURL, Sources: []string{sourceA, sourceB}})
	for _, s := range []string{sourceA, sourceB} {
		if d := both.want("one of two", both.signed(idOf(s, 1), statusEvent, ""), statusEvent, 200); d != nil && d.Source != s {
			t.Errorf("%s is taken for %s", s, d.Source)
		}
	}
}

// A refused delivery leaves nothing in the memory of ids: nobody makes a receiver
// take another's delivery for a duplicate, or forget which ones were there.
func TestOtherSourcesLeaveNothingInMemory(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL, Sources: []string{sourceA}, Remember: 3})
	processed := 0
	handler := r.Handler(func(context.Context, *WebhookDelivery) error { processed++; return nil })
	first := r.signed(idOf(sourceA, 1), statusEvent, "")
	for i := range 20 {
		r.want("of another", r.signed(idOf(sourceB, i), statusEvent, ""), statusEvent, 401)
		r.want("without a source", r.signed("msg_"+strconv.Itoa(i), statusEvent, ""), statusEvent, 401)
		r.pass(time.Second)
	}
	if len(r.seen.known) != 0 || !r.seen.floor.IsZero() {
		t.Errorf("%d ids are remembered, up to %v", len(r.seen.known), r.seen.floor)
	}
	// First was signed before all of them: were they remembered, it would be refused.
	if d := r.want("the first", first, statusEvent, 200); d != nil && d.Duplicate {
		t.Error("the first is a duplicate")
	}
	rec, req := httptest.NewRecorder(), httptest.NewRequest("POST", "/hook", strings.NewReader(statusEvent))
	req.Header = r.signed(idOf(sourceB, 99), statusEvent, "")
	if handler.ServeHTTP(rec, req); rec.Code != 401 || processed != 0 {
		t.Errorf("the handler answers %d, and has processed %d", rec.Code, processed)
	}
}

// TestSourceIsRead: servers that have none, or something else under that name, are
// as before.
func TestSourceIsRead(t *testing.T) {
	for value, want := range map[string]string{sourceA: sourceA, "": "", "x": "", sourceA + "x": "", strings.ToUpper(sourceA): ""} {
		one, list := new(a2a.TaskPushNotificationConfig), &a2a.ListTaskPushNotificationConfigsResponse{Configs: []*a2a.TaskPushNotificationConfig{{}, nil}}
		h := http.Header{}
		h.Set(webhook.SourceHeader, value)
		for _, answer := range []any{one, list, &a2a.Task{}, nil} {
			readSource(h, answer)
		}
		if one.Source != want || list.Configs[0].Source != want {
			t.Errorf("%q is read as %q and %q", value, one.Source, list.Configs[0].Source)
		}
	}
}
