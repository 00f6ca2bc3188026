package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// receivers is a Notifier that keeps what it is given, and answers as told.
type receivers struct {
	answer func(*a2a.Notification) a2a.Outcome                  // nil: delivered
	serve  func(context.Context, *a2a.Notification) a2a.Outcome // the same, if it takes time

	mu  sync.Mutex
	got []*a2a.Notification
	at  []time.Time // of got
}

func (r *receivers) Check(_ context.Context, c *a2a.TaskPushNotificationConfig) (string, error) {
	if c.URL == "bad" {
		return "", a2a.Invalid("url", "is bad")
	}
	return c.URL, nil
}

func (r *receivers) Notify(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	r.mu.Lock()
	r.got, r.at = append(r.got, n), append(r.at, time.Now())
	serve, answer := r.serve, r.answer
	r.mu.Unlock()
	if serve != nil {
		return serve(ctx, n)
	}
	if answer != nil {
		return answer(n)
	}
	return a2a.Outcome{}
}

// seqs returns what came for a configuration, in the order in which it came.
func (r *receivers) seqs(config string) (seqs []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.got {
		if n.Config.ID == config {
			seqs = append(seqs, n.Seq)
		}
	}
	return seqs
}

// passes lets time pass, and all that it brings happen, so that what receivers
// keep can be read.
func passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// all returns all that came.
func (r *receivers) all() []*a2a.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// count returns how often it was called for a host.
func (r *receivers) count(host string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.got {
		if g.Config.URL == host {
			n++
		}
	}
	return n
}

var (
	failing5xx = a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver answered 503", Down: true}
	failing429 = a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver answered 429"}
	refused404 = a2a.Outcome{Verdict: a2a.GiveUp, Reason: "the receiver answered 404"}
	gone410    = a2a.Outcome{Verdict: a2a.DisableConfig, Reason: "the receiver answered 410"}
)

// fill stores a finished task with n events behind its message, and a
// configuration "c" of a process that is gone. It returns the configuration.
func fill(t testing.TB, st store.Store, id, host, version string, n int) store.PushID {
	t.Helper()
	at := now()
	entries := []*a2a.Entry{
		{Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: id, ContextID: "ctx"}},
		{Kind: a2a.EntryMessage, Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, TaskID: id, ContextID: "ctx", Parts: []*a2a.Part{a2a.TextPart("go")}}},
	}
	for i := range n {
		state := a2a.TaskStateWorking
		if i == n-1 {
			state = a2a.TaskStateCompleted
		}
		entries = append(entries, &a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{
			TaskID: id, ContextID: "ctx", Status: a2a.TaskStatus{State: state, Timestamp: at},
		}})
	}
	a := &store.Append{Row: store.Row{
		Key: store.Key{ID: id}, Context: "ctx", State: int32(a2a.TaskStateCompleted), Created: at, Updated: at, Epoch: 1,
	}}
	for i, en := range entries {
		a.Entries = append(a.Entries, store.Entry{Seq: int64(i + 1), Time: at, Kind: uint8(en.Kind), Body: en.AppendBody(nil)})
	}
	body, err := json.Marshal(&keptPush{Version: version, URL: host})
	if err != nil {
		t.Fatal(err)
	}
	a.Pushes = []store.PushConfig{{ID: "c", Host: host, Body: body, Created: at, Live: true, Progress: store.Progress{Cursor: 2}}}
	if err := store.Do(context.Background(), st, a); err != nil {
		t.Fatal(err)
	}
	return store.PushID{Key: store.Key{ID: id}, ID: "c"}
}

func (w *world) push(id store.PushID) *store.PushConfig {
	w.t.Helper()
	p, err := w.st.Push(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) letters() []store.DeadLetter {
	w.t.Helper()
	all, err := w.st.DeadLetters(w.t.Context(), store.LetterQuery{Limit: 1 << 20})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func pushCard() *a2a.AgentCard {
	card := testCard()
	card.Capabilities.PushNotifications = new(true)
	return card
}

func pushWorld(t testing.TB, st store.Store, ag agent.Agent, r *receivers) *world {
	return newWorldWith(t, st, ag, pushCard(), &Options{Push: r})
}

// counted writes n chunks when it is told to, and ends.
func countedTo(n int, begin <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("begun"); err != nil {
			return err
		}
		<-begin
		w := t.Artifact("out")
		for i := range n {
			fmt.Fprintf(w, "chunk %d\n", i)
		}
		return w.Close()
	})
}

func TestPushDeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		begin := make(chan struct{})
		w := pushWorld(t, nil, countedTo(5, begin), r)
		task := w.mustSend(sendNow("go"))
		for _, id := range []string{"a", "b"} {
			_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: id, URL: "h"})
			if err != nil {
				t.Fatal(err)
			}
		}
		close(begin)
		synctest.Wait()
		passes(time.Minute)
		entries, err := w.st.Entries(t.Context(), store.Key{ID: task.ID}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, en := range entries {
			if k := a2a.EntryKind(en.Kind); k == a2a.EntryArtifact || k == a2a.EntryStatus && en.Seq > 3 {
				want = append(want, en.Seq)
			}
		}
		for _, id := range []string{"a", "b"} {
			if got := r.seqs(id); !slices.Equal(got, want) {
				t.Errorf("%s got %v, want %v", id, got, want)
			}
			p, err := w.st.Push(t.Context(), store.PushID{Key: store.Key{ID: task.ID}, ID: id})
			if err != nil || p.Live || p.Cursor != want[len(want)-1] {
				t.Errorf("%+v, %v", p, err)
			}
		}
	})
}

func TestPushIsTriedAgainAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		fails := true
		r := &receivers{}
		r.answer = func(*a2a.Notification) a2a.Outcome {
			if fails {
				return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "500", Down: true}
			}
			return a2a.Outcome{}
		}
		begin := make(chan struct{})
		w := pushWorld(t, m, countedTo(3, begin), r)
		task := w.mustSend(sendNow("go"))
		_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"})
		if err != nil {
			t.Fatal(err)
		}
		close(begin)
		passes(time.Hour)
		first := len(r.seqs("a"))
		if first < 3 || first > 40 {
			t.Errorf("%d attempts in an hour", first)
		}
		if n := slices.Compact(r.seqs("a")); len(n) != 1 {
			t.Errorf("went on behind what failed: %v", n)
		}
		w.stop()
		m = m.Reopen()
		defer m.Close()
		fails = false
		w = pushWorld(t, m, countedTo(3, begin), r)
		passes(3 * time.Hour)
		if got := slices.Compact(r.seqs("a")); len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("got %v", got)
		}
		ids := map[int64]string{}
		for _, n := range r.all() {
			if was, ok := ids[n.Seq]; ok && was != n.ID {
				t.Errorf("seq %d was %s and %s", n.Seq, was, n.ID)
			}
			ids[n.Seq] = n.ID
		}
		w.stop()
	})
}
