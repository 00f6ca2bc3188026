package a2aclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestWebhookHandler(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", MaxBody: 1 << 10})
	var got []string
	fail := errors.New("secret words")
	handler := r.Handler(func(_ context.Context, d *WebhookDelivery) error {
		got = append(got, d.ID)
		return fail
	})
	post := func(method, target string, h http.Header, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, target, strings.NewReader(body))
		req.Header = h
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w
	}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h.Set(name, value)
		return h
	}
	good := r.signed("d-1", statusEvent, "secret")
	if w := post("POST", "/", good, statusEvent); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("failing: %d %s", w.Code, w.Body)
	}
	fail = &WebhookError{Status: 410, Reason: "no more, please"}
	if w := post("POST", "/", good, statusEvent); w.Code != 410 {
		t.Errorf("refusing: %d %s", w.Code, w.Body)
	}
	fail = nil
	for _, c := range []struct {
		what, method, target string
		header               http.Header
		body                 string
		status               int
	}{
		{"first", "POST", "/", good, statusEvent, 200},
		{"again", "POST", "/", good, statusEvent, 200},
		{"tampered", "POST", "/", good, statusEvent + " ", 401},
		{"large", "POST", "/", good, strings.Repeat(" ", 1<<10+1), 413},
		{"compressed", "POST", "/", with(good, "Content-Encoding", "gzip"), statusEvent, 415},
		{"a form", "POST", "/", with(good, "Content-Type", "application/x-www-form-urlencoded"), statusEvent, 415},
		{"with a charset", "POST", "/", with(good, "Content-Type", "application/json; charset=utf-8"), statusEvent, 200},
		{"fetched", "GET", "/", http.Header{}, "", 405},
		{"a challenge", "GET", "/?validationToken=a-b", http.Header{}, "", 200},
		{"a script", "GET", "/?validationToken=%3Cscript%3E", http.Header{}, "", 405},
	} {
		w := post(c.method, c.target, c.header, c.body)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.what, w.Code, w.Body, c.status)
		}
		if c.what == "a challenge" && (w.Body.String() != "a-b" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")) {
			t.Errorf("challenge answered %s", w.Body)
		}
	}
	if s := strings.Join(got, " "); s != "d-1 d-1 d-1" {
		t.Errorf("processed %s: want it until it succeeded, then no more", s)
	}
}

// TestWebhookIsNotProcessedTwiceAtOnce: an agent that gave up waiting tries
// again while the first attempt is at work; if that fails, nothing is lost.
func TestWebhookIsNotProcessedTwiceAtOnce(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret"})
	working, finish := make(chan bool), make(chan error)
	handler := r.Handler(func(context.Context, *WebhookDelivery) error {
		working <- true
		return <-finish
	})
	post := func() int {
		req := httptest.NewRequest("POST", "/", strings.NewReader(statusEvent))
		req.Header = r.signed("d-1", statusEvent, "secret")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	codes := make(chan int)
	for _, c := range []struct {
		err  error
		want int
	}{{errors.New("failed"), 500}, {nil, 200}} {
		go func() { codes <- post() }()
		<-working
		if code := post(); code != 503 {
			t.Errorf("meanwhile: %d", code)
		}
		finish <- c.err
		if code := <-codes; code != c.want {
			t.Errorf("got %d, want %d", code, c.want)
		}
	}
	if code := post(); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

// TestWebhookInProcessIsNotForgotten: deliveries that come meanwhile do not push out what
// is being processed, however few are remembered.
func TestWebhookInProcessIsNotForgotten(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", Remember: 2})
	working, finish := make(chan bool), make(chan error)
	var slow atomic.Int32
	handler := r.Handler(func(_ context.Context, d *WebhookDelivery) error {
		if d.ID != "slow" {
			return nil
		}
		if slow.Add(1) > 1 {
			return errors.New("processed twice")
		}
		working <- true
		return <-finish
	})
	post := func(id string) int {
		req := httptest.NewRequest("POST", "/", strings.NewReader(statusEvent))
		req.Header = r.signed(id, statusEvent, "secret")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	code := make(chan int)
	go func() { code <- post("slow") }()
	<-working
	for i := range 10 {
		r.pass(time.Second)
		if got := post("d-" + strconv.Itoa(i)); got != 200 {
			t.Errorf("another: %d", got)
		}
	}
	r.pass(time.Second)
	if got := post("slow"); got != 503 {
		t.Errorf("its next attempt: %d, want 503", got)
	}
	finish <- nil
	if got := <-code; got != 200 || slow.Load() != 1 {
		t.Errorf("%d, processed %d times", got, slow.Load())
	}
	if got := post("slow"); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
	for i := range 10 { // and then it is pushed out like others
		r.pass(time.Second)
		post("e-" + strconv.Itoa(i))
	}
	if len(r.seen.known) > 2 || len(r.seen.order) > 2 {
		t.Errorf("remembers %d ids", len(r.seen.known))
	}
}
