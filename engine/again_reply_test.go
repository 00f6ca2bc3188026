package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// slow is a store that takes its time to load tasks and to append, once closed is
// set, until wait is closed.
type slow struct {
	store.Store
	closed atomic.Bool
	wait   chan struct{}
}

func (g *slow) pass() {
	if g.closed.Load() {
		<-g.wait
	}
}

func (g *slow) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	g.pass()
	return g.Store.Get(ctx, k, most)
}

func (g *slow) Append(a *store.Append, done func(error)) {
	g.pass()
	g.Store.Append(a, done)
}

// allKinds answers with a part of each kind.
func allKinds() []*a2a.Part {
	return []*a2a.Part{
		{Kind: a2a.PartText, Text: "text \u2028 \"x\"", Metadata: a2a.JSON(`{"big":12345678901234567890}`), MediaType: "text/plain"},
		a2a.RawPart([]byte{0, 255, 128}, "image/png", "x.png"),
		a2a.RawPart(make([]byte, 2*stored.MinBlob), "", ""),
		a2a.URLPart("https://example.com/?a=b&c", "", "f"),
		a2a.DataPart(a2a.JSON(`{"b":[1.50,null],"a":{"deep":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}}`)),
		a2a.DataPart(a2a.JSON(`null`)),
	}
}

// A direct answer is the same message when it is asked for again, after a
// restart, too; it is there until the window is over.
func TestDirectAnswerThatComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.ReplyParts(allKinds()...) })}
		w := knowing(t, st, ag)
		req := send("x")
		req.Message.ContextID = "context"
		ask := func(req *a2a.SendMessageRequest) string {
			t.Helper()
			resp, err := w.SendMessage(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			return string(resp.Message.AppendJSON(nil))
		}
		first := ask(req)
		for range 2 {
			if again := ask(repeated(req)); again != first {
				t.Errorf("got %s, want %s", again, first)
			}
			if evs := w.mustStream(repeated(req)); len(evs) != 1 || string(evs[0].Message.AppendJSON(nil)) != first {
				t.Errorf("streamed %s", wire(evs))
			}
			_, err := collect(w.SendStreamingMessage(context.Background(), after(req, 1)))
			wantField(t, err, "Last-Event-ID")
			w.stop()
			st = st.Reopen()
			w = knowing(t, st, ag)
		}
		ag.want(t, 1)
		r, err := st.Receipt(context.Background(), store.Key{}, "m:"+req.Message.MessageID)
		if err != nil || r.TaskID != "" || r.Context != "context" || r.Seq != 0 {
			t.Errorf("the receipt is %+v, %v", r, err)
		}
		time.Sleep(26 * time.Hour)
		if _, err := st.Receipt(context.Background(), store.Key{}, r.Name); err == nil {
			t.Error("it is kept for ever")
		}
		if again := ask(repeated(req)); again == first {
			t.Error("it is still known")
		}
		w.stop()
		st.Close()
	})
}

// The agent does not wait for the disk, but the caller does.
func TestDirectAnswerIsCommittedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &slow{Store: mem, wait: make(chan struct{})}
		st.closed.Store(true)
		returned := make(chan struct{})
		w := knowing(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			defer close(returned)
			return t.Reply("hi")
		}))
		synctest.Wait()
		answered := make(chan error, 2)
		req := send("x")
		for range 2 {
			go func() {
				resp, err := w.SendMessage(context.Background(), repeated(req))
				if err == nil && resp.Message.Text() != "hi" {
					t.Errorf("answered %+v", resp)
				}
				answered <- err
			}()
		}
		<-returned
		synctest.Wait()
		select {
		case err := <-answered:
			t.Fatalf("answered before it was committed: %v", err)
		default:
		}
		close(st.wait)
		for range 2 {
			if err := <-answered; err != nil {
				t.Error(err)
			}
		}
		w.stop()
		if w.AtWork() != 0 || w.topics.LenLocked() != 0 || len(w.sends.m) != 0 {
			t.Errorf("%d owners, %d topics and %d sends are left", w.AtWork(), w.topics.LenLocked(), len(w.sends.m))
		}
	})
}

// A single failure of the store goes unnoticed. A lasting one is reported, and then the message
// is new.
func TestDirectAnswerThatCannotBeKept(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply("hi") })}
				e := New(storetest.Faulty(st, 0, fault), ag, testCard(), &Options{Retries: Retries{Anonymous: true}})
				req := send("x")
				one, err := e.SendMessage(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				two, err := e.SendMessage(t.Context(), repeated(req))
				if err != nil || one.Message.MessageID != two.Message.MessageID {
					t.Errorf("answered %+v, %v", two, err)
				}
				ag.want(t, 1)
				e.drain()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply("hi") })}
		e := New(&broken{Store: mem}, ag, testCard(), &Options{Retries: Retries{Anonymous: true}})
		req := send("x")
		for range 2 {
			_, err := e.SendMessage(t.Context(), repeated(req))
			wantError(t, err, a2a.ErrUnavailable)
			if text := err.(*a2a.Error).Message; !strings.Contains(text, "send the message again") {
				t.Error(text)
			}
		}
		ag.want(t, 2)
		e.drain()
		if e.AtWork() != 0 || e.topics.LenLocked() != 0 || len(e.sends.m) != 0 {
			t.Errorf("%d owners, %d topics and %d sends are left", e.AtWork(), e.topics.LenLocked(), len(e.sends.m))
		}
	})
}
