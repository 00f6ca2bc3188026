package openai_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// Over real connections, by the agent's own client: answers, ends and cuts are the
// same, and neither connections nor goroutines are left.
func TestOverTheNetwork(t *testing.T) {
	before := runtime.NumGoroutine()
	hang := openaitest.Text("Hel")
	hang.Pieces, hang.Until = append(hang.Pieces[:2:2], ""), make(chan struct{})
	cut := openaitest.Text("Hel", "lo")
	cut.Pieces, cut.Cut = cut.Pieces[:2], true
	fake := openaitest.New(openaitest.Fixture("gemini-text"), cut, hang)
	var query string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		fake.ServeHTTP(w, r)
	}))
	ag, err := openai.New(srv.URL+"/openai/v1?api-version=1", "m", &openai.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	card := openai.Card("m", nil)
	st := store.NewMemory()
	w := &world{Engine: engine.New(st, ag, &card, nil), t: t, st: st}
	stop := w.start()
	want(t, w.say("hello"), a2a.TaskStateCompleted, "Hello there", "19 tokens in, 10 out")
	if query != "api-version=1" {
		t.Errorf("query %q", query)
	}
	want(t, w.say("hello"), a2a.TaskStateFailed, "Hel", "broke off")
	w.stream("hello", func(ev *a2a.StreamResponse) {
		if ev.ArtifactUpdate == nil {
			return
		}
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: ev.TaskID()}); err != nil {
			t.Error(err)
		}
	})
	want(t, w.say("after that"), a2a.TaskStateCompleted, "after that", "")
	stop()
	if err := ag.Close(); err != nil {
		t.Error(err)
	}
	srv.Close()
	st.Close()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

// A redirect would carry messages, and perhaps keys, to somebody else.
func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusPermanentRedirect))
	defer srv.Close()
	ag, err := openai.New(srv.URL, "m", &openai.Options{Client: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	card := openai.Card("m", nil)
	st := store.NewMemory()
	defer st.Close()
	w := &world{Engine: engine.New(st, ag, &card, nil), t: t, st: st}
	defer w.start()()
	task := w.say("hello")
	want(t, task, a2a.TaskStateFailed, "", "has moved")
	if asked || strings.Contains(string(task.AppendJSON(nil)), "127.0.0.1") {
		t.Errorf("followed: %v; told %s", asked, task.AppendJSON(nil))
	}
}
