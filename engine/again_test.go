package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// counted counts how often an agent runs.
type counted struct {
	agent.Agent
	runs atomic.Int32
}

func (c *counted) Run(ctx context.Context, t *agent.Turn) error {
	c.runs.Add(1)
	return c.Agent.Run(ctx, t)
}

func (c *counted) want(t testing.TB, n int32) {
	t.Helper()
	if got := c.runs.Load(); got != n {
		t.Errorf("the agent ran %d times, want %d", got, n)
	}
}

// knowing starts an engine that recognizes repeated messages of all callers.
func knowing(t testing.TB, st store.Store, ag agent.Agent) *world {
	return newWorldWith(t, st, ag, testCard(), &Options{Retries: Retries{Anonymous: true}})
}

// repeated is the same request as another call brings it.
func repeated(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	r, m := *req, *req.Message
	r.Message = &m
	return &r
}

func after(req *a2a.SendMessageRequest, seq int64) *a2a.SendMessageRequest {
	r := repeated(req)
	r.After = seq
	return r
}

func by(subject string) context.Context {
	return a2a.WithCaller(context.Background(), a2a.Caller{Subject: subject})
}

func wantField(t testing.TB, err error, field string) {
	t.Helper()
	wantError(t, err, a2a.ErrInvalidParams)
	if e := err.(*a2a.Error); len(e.Fields) != 1 || e.Fields[0].Field != field {
		t.Errorf("the error is about %+v, want %s", e.Fields, field)
	}
}

func TestMessageThatComesAgain(t *testing.T) {
	ag := &counted{Agent: parrot}
	w := knowing(t, nil, ag)
	req := send("x")
	first := w.mustSend(req)
	sameTask(t, w.mustSend(repeated(req)), first)
	now := repeated(req)
	now.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32(0))}
	if task := w.mustSend(now); task.ID != first.ID || len(task.History) != 0 {
		t.Errorf("got %s", task.AppendJSON(nil))
	}
	ag.want(t, 1)

	// Under a key the message may have a new id, which then is known, too.
	keyed := send("y")
	keyed.IdempotencyKey = "key"
	one := w.mustSend(keyed)
	other := repeated(keyed)
	other.Message.MessageID = stored.NewID()
	sameTask(t, w.mustSend(other), one)
	plain := repeated(keyed)
	plain.IdempotencyKey = ""
	sameTask(t, w.mustSend(plain), one)
	plain.IdempotencyKey = "another"
	sameTask(t, w.mustSend(plain), one)
	ag.want(t, 2)

	for _, key := range []string{"a\nb", "ключ", string(make([]byte, 256))} {
		bad := send("z")
		bad.IdempotencyKey = key
		_, err := w.SendMessage(t.Context(), bad)
		wantField(t, err, "Idempotency-Key")
	}
	ag.want(t, 2)
}

func TestNameThatWasUsed(t *testing.T) {
	ag := &counted{Agent: parrot}
	w := knowing(t, nil, ag)
	req := send("x")
	req.IdempotencyKey = "key"
	task := w.mustSend(req)
	another := send("x")
	second := w.mustSend(another)

	wantOther := func(req *a2a.SendMessageRequest, name, value string) {
		t.Helper()
		for _, send := range []func() error{
			func() error { _, err := w.SendMessage(t.Context(), req); return err },
			func() error { _, err := collect(w.SendStreamingMessage(t.Context(), req)); return err },
		} {
			err := send()
			wantError(t, err, a2a.ErrConflict)
			if meta := err.(*a2a.Error).Meta; len(meta) != 1 || meta[name] != value {
				t.Errorf("told %v", meta)
			}
		}
	}
	otherText := repeated(req)
	otherText.Message.Parts = []*a2a.Part{a2a.TextPart("y")}
	wantOther(otherText, "messageId", req.Message.MessageID)
	otherID := repeated(otherText)
	otherID.Message.MessageID = stored.NewID()
	wantOther(otherID, "idempotencyKey", "key")
	// Both say the same, but they were two.
	both := repeated(another)
	both.IdempotencyKey = "key"
	wantOther(both, "idempotencyKey", "key")
	ag.want(t, 2)
	sameTask(t, w.mustGet(task.ID), task)
	sameTask(t, w.mustGet(second.ID), second)
}

// Callers are apart, and so are tenants.
func TestWhoseMessagesAreKnown(t *testing.T) {
	for name, c := range map[string]struct {
		retries Retries
		ctx     context.Context
		known   bool
	}{
		"anonymous":                       {Retries{}, by(""), false},
		"anonymous, switched on":          {Retries{Anonymous: true}, by(""), true},
		"authenticated":                   {Retries{}, by("alice"), true},
		"authenticated, no window":        {Retries{Window: -1, Anonymous: true}, by("alice"), false},
		"anonymous, with a window":        {Retries{Window: time.Hour}, by(""), false},
		"authenticated, anonymous is too": {Retries{Anonymous: true}, by("alice"), true},
	} {
		t.Run(name, func(t *testing.T) {
			ag := &counted{Agent: parrot}
			w := newWorldWith(t, nil, ag, testCard(), &Options{Retries: c.retries})
			req := send("x")
			req.IdempotencyKey = "key"
			one, err1 := w.SendMessage(c.ctx, req)
			two, err2 := w.SendMessage(c.ctx, repeated(req))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if got := one.Task.ID == two.Task.ID; got != c.known {
				t.Errorf("the same task: %v, want %v", got, c.known)
			}
			// A cursor without an earlier stream is ignored if earlier streams cannot be known.
			_, err := collect(w.SendStreamingMessage(c.ctx, after(send("y"), 2)))
			if c.known {
				wantField(t, err, "Last-Event-ID")
			} else if err != nil {
				t.Error(err)
			}
			runs := int32(1)
			if !c.known {
				runs = 3
				receipts, err := w.st.Receipts(t.Context(), store.Key{Owner: a2a.CallerFrom(c.ctx).Subject, ID: one.Task.ID})
				if err != nil || len(receipts) > 0 {
					t.Errorf("receipts %v, %v", receipts, err)
				}
			}
			ag.want(t, runs)

			other, err := w.SendMessage(by("bob"), repeated(req))
			if err != nil || other.Task.ID == one.Task.ID {
				t.Errorf("bob got %v, %v", other, err)
			}
			req.Tenant = "elsewhere"
			if other, err = w.SendMessage(c.ctx, repeated(req)); err != nil || other.Task.ID == one.Task.ID {
				t.Errorf("another tenant got %v, %v", other, err)
			}
		})
	}
}

func TestMessageIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := &counted{Agent: parrot}
		w := newWorldWith(t, st, ag, testCard(), &Options{Retries: Retries{Window: time.Hour, Anonymous: true}})
		req := send("x")
		task := w.mustSend(req)
		time.Sleep(59 * time.Minute)
		sameTask(t, w.mustSend(repeated(req)), task)
		time.Sleep(time.Minute)
		if next := w.mustSend(repeated(req)); next.ID == task.ID {
			t.Error("it is still known")
		}
		ag.want(t, 2)

		// The sweeper forgets them all, though no task is ever deleted.
		for range 3 * receiptBatch {
			w.mustSend(send("x"))
		}
		time.Sleep(2 * time.Hour)
		if n, err := st.Forget(t.Context(), store.ForgetQuery{Before: time.Now().Add(time.Hour), Limit: 1}); n != 0 || err != nil {
			t.Errorf("%d receipts are left, %v", n, err)
		}
		w.mustGet(task.ID)
		w.stop()
	})
}

// The receipts of messages are deleted with their task.
func TestMessageOfADeletedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorldWith(t, st, parrot, testCard(), &Options{
			Retries: Retries{Anonymous: true}, Retention: Retention{Completed: time.Hour},
		})
		req := send("x")
		task := w.mustSend(req)
		time.Sleep(2 * time.Hour)
		w.wantGone(task.ID)
		if again := w.mustSend(repeated(req)); again.ID == task.ID {
			t.Error("it has the id of the first one")
		}
		w.stop()
	})
}

// A message for a task is in it once. What it expected is not asked again.
func TestAnswerThatComesAgain(t *testing.T) {
	w := knowing(t, nil, interview)
	task := w.mustSend(send("go"))
	name := expecting(reply(task, "Ada"), task.Generation)
	asked := w.mustSend(name)
	wantTexts(t, asked.History, "go", "Name?", "Ada")
	sameTask(t, w.mustSend(repeated(name)), asked)
	_, err := w.SendMessage(t.Context(), expecting(reply(task, "Eve"), task.Generation))
	wantError(t, err, a2a.ErrTaskGenerationMismatch)

	end := w.mustSend(reply(task, "London"))
	wantState(t, end, a2a.TaskStateCompleted)
	// Also now that the task takes no more.
	sameTask(t, w.mustSend(repeated(name)), end)
	elsewhere := repeated(name)
	elsewhere.Message.TaskID = "another"
	_, err = w.SendMessage(t.Context(), elsewhere)
	wantError(t, err, a2a.ErrConflict)

	// A refused message leaves no receipt.
	late := reply(task, "late")
	for range 2 {
		_, err = w.SendMessage(t.Context(), repeated(late))
		wantError(t, err, a2a.ErrUnsupportedOperation)
	}
}

// A sender that repeats its message waits for the turn, as the first one does;
// where the turn has stopped once the answer is the task as it stands.
func TestWaitingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		w := knowing(t, nil, g)
		req := send("go")
		one := w.posted(req)
		turn := <-g.entered
		if err := turn.Status("at it"); err != nil {
			t.Fatal(err)
		}
		two := w.posted(repeated(req))
		synctest.Wait()
		select {
		case got := <-two:
			t.Fatalf("answered while the turn runs: %+v", got)
		default:
		}
		go turn.Ask(context.Background(), "?")
		got, again := <-one, <-two
		if got.err != nil || again.err != nil {
			t.Fatal(got.err, again.err)
		}
		wantState(t, again.task, a2a.TaskStateInputRequired)
		sameTask(t, again.task, got.task)

		w.mustSend(func() *a2a.SendMessageRequest {
			r := reply(got.task, "answer")
			r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			return r
		}())
		wantState(t, w.mustSend(repeated(req)), a2a.TaskStateWorking)
		g.leave <- nil
		w.eventually(got.task.ID, a2a.TaskStateCompleted)
		w.stop()
	})
}
