package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPacedWorkersCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		p := pace{began: time.Now(), every: 10 * time.Millisecond}
		l := loadOf(8, 0, 0, &closed)
		l.warm, l.last = 0, 10*time.Second
		l.open = func(context.Context, int, time.Time) (worker, error) {
			return &paced{&stalling{p.began.Add(time.Second), p.began.Add(3 * time.Second)}, &p, nil}, nil
		}
		// A call takes 10 ms, so the last ones end late.
		if got, err := l.run(t.Context(), nobody); err != nil || got.calls < 995 || got.calls > 1000 {
			t.Errorf("%+v, %v, want a thousand calls", got, err)
		}
	})
}

func TestTooFewWebhooksFail(t *testing.T) {
	for _, c := range []struct {
		arrived int64
		elapsed time.Duration
		note    string // "" fails
	}{
		{1984, 10 * time.Second, "198 webhooks/s arrived; one call took 2.0 s"},
		{1300, 10 * time.Second, ""},
		{0, 400 * time.Millisecond, ""},
		{40, 400 * time.Millisecond, "100 webhooks/s arrived; one call took 2.0 s"}, // the others are under way
	} {
		f, x := figures{Note: "one call took 2.0 s"}, &besideBout{elapsed: c.elapsed}
		x.arrived.Store(c.arrived)
		if err := x.judge(&f); (err == nil) != (c.note != "") || err == nil && f.Note != c.note {
			t.Errorf("%d in %v: %q, %v", c.arrived, c.elapsed, f.Note, err)
		}
	}
}

// What a load beside another posts is counted, and the first error ends both.
func TestBesideCountsWhatArrives(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     string
			Params struct {
				Message       struct{ Parts []struct{ Text string } }
				Configuration struct{ TaskPushNotificationConfig struct{ URL string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
			return
		}
		url := q.Params.Configuration.TaskPushNotificationConfig.URL
		for range 2 {
			if answer, err := http.Post(url, "application/json", nil); err == nil {
				_ = answer.Body.Close()
			}
		}
		_, text, _ := strings.Cut(q.Params.Message.Parts[0].Text, " ")
		fmt.Fprintf(w, `{"id":"%s","result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"%s"}]}]}}}`, q.ID, text)
	}))
	defer answers.Close()
	srv := &server{of: &contender{name: "answers", dialect: rpc10}, addr: answers.Listener.Addr().String()}
	var fails int
	var closed atomic.Int32
	const last = 200 * time.Millisecond
	x := newBeside(&bench{plan: &plan{time: last}}, loadBout{kept: srv, shared: true, load: func(*server) *load {
		l := loadOf(1, time.Millisecond, fails, &closed)
		l.warm, l.last = 0, last
		return l
	}})
	defer x.close()
	if f, err := x.measure(t.Context()); err != nil || !strings.HasSuffix(f.Note, " webhooks/s arrived") {
		t.Errorf("%+v, %v", f, err)
	}
	if x.arrived.Load() == 0 {
		t.Error("none arrived")
	}
	fails = 1
	if _, err := x.measure(t.Context()); err == nil || !strings.Contains(err.Error(), "a wrong answer") {
		t.Error(err)
	}
}
