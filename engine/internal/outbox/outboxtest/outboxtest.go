// Package outboxtest has what tests of webhooks need: receivers without a
// network, and tasks with something to deliver.
package outboxtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Outcomes of attempts that fail.
var (
	Failing5xx = a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver answered 503", Down: true}
	Failing429 = a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver answered 429"}
	Refused404 = a2a.Outcome{Verdict: a2a.GiveUp, Reason: "the receiver answered 404"}
	Gone410    = a2a.Outcome{Verdict: a2a.DisableConfig, Reason: "the receiver answered 410"}
)

// Receivers is a Notifier that keeps the notifications that it gets. The host of a webhook is
// its URL. The zero value accepts all.
type Receivers struct {
	Mu     sync.Mutex                                           // protects the fields below, once there are deliveries
	Answer func(*a2a.Notification) a2a.Outcome                  // nil: all are accepted
	Serve  func(context.Context, *a2a.Notification) a2a.Outcome // the same for receivers that take time; preferred to Answer
	got    []Got
}

// Got is an attempt that was made, and when it began.
type Got struct {
	*a2a.Notification
	At time.Time
}

// Check refuses the URL "bad".
func (r *Receivers) Check(_ context.Context, c *a2a.TaskPushNotificationConfig) (string, error) {
	if c.URL == "bad" {
		return "", a2a.Invalid("url", "is bad")
	}
	return c.URL, nil
}

// Notify implements a2a.Notifier.
func (r *Receivers) Notify(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	r.Mu.Lock()
	r.got = append(r.got, Got{n, time.Now()})
	serve, answer := r.Serve, r.Answer
	r.Mu.Unlock()
	switch {
	case serve != nil:
		return serve(ctx, n)
	case answer != nil:
		return answer(n)
	}
	return a2a.Outcome{}
}

// All returns the attempts so far, in the order in which they began.
func (r *Receivers) All() []Got {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.got[:len(r.got):len(r.got)]
}

// Forget forgets the attempts so far.
func (r *Receivers) Forget() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.got = nil
}

// Seqs returns which events came for a configuration, as often and in the order
// in which they came.
func (r *Receivers) Seqs(config string) (seqs []int64) {
	for _, n := range r.All() {
		if n.Config.ID == config {
			seqs = append(seqs, n.Seq)
		}
	}
	return seqs
}

// Count returns how many attempts there were at a host.
func (r *Receivers) Count(host string) (n int) {
	for _, g := range r.All() {
		if g.Config.URL == host {
			n++
		}
	}
	return n
}

// Log returns the log of a task with n changes of its state after its first message, the last
// of them to a given state.
func Log(key store.Key, last a2a.TaskState, n int) *store.Append {
	at := Now()
	a := &store.Append{Row: store.Row{Key: key, Context: "ctx", State: int32(last), Created: at, Updated: at, Epoch: 1}}
	message := &a2a.Message{MessageID: "m", Role: a2a.RoleUser, TaskID: key.ID, ContextID: "ctx", Parts: []*a2a.Part{a2a.TextPart("go")}}
	all := []*a2a.Entry{
		{Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: key.ID, ContextID: "ctx"}},
		{Kind: a2a.EntryMessage, Message: message},
	}
	for i := range n {
		state := a2a.TaskStateWorking
		if i == n-1 {
			state = last
		}
		all = append(all, Status(key.ID, state))
	}
	for i, en := range all {
		a.Entries = append(a.Entries, store.Entry{Seq: int64(i + 1), Time: at, Kind: uint8(en.Kind), Body: en.AppendBody(nil)})
	}
	return a
}

// Status returns an entry that changes the state of a task of Log.
func Status(task string, state a2a.TaskState) *a2a.Entry {
	return &a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{
		TaskID: task, ContextID: "ctx", Status: a2a.TaskStatus{State: state, Timestamp: Now()},
	}}
}

// Fill stores a finished task with n events after its message, and with a configuration "c" of
// a process that has died. version is the protocol version in which the configuration was made.
func Fill(t testing.TB, st store.Store, key store.Key, host, version string, n int) store.PushID {
	t.Helper()
	a := Log(key, a2a.TaskStateCompleted, n)
	a.Pushes = []store.PushConfig{{
		ID: "c", Host: host, Body: fmt.Appendf(nil, `{"version":%q,"url":%q}`, version, host),
		Created: a.Row.Created, Live: true, Progress: store.Progress{Cursor: 2},
	}}
	if err := store.Do(context.Background(), st, a); err != nil {
		t.Fatal(err)
	}
	return store.PushID{Key: key, ID: "c"}
}

// Again marks all dead letters to be sent again, as an operator does.
func Again(t testing.TB, st store.Store) {
	t.Helper()
	all, err := st.DeadLetters(t.Context(), store.LetterQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Again = true
	}
	if err := st.SetLetters(t.Context(), all, false); err != nil {
		t.Fatal(err)
	}
}

// Now is the time as entries carry it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
