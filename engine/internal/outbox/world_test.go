package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// world is an outbox at work over a store that is its process's alone.
type world struct {
	*Outbox
	t    testing.TB
	st   store.Store
	stop func() // may be called twice

	mu     sync.Mutex // protects the field below
	failed error      // the outcome of the last write of progress
}

var nodes atomic.Int64

// newWorld starts an outbox over st and ends it at the end of the test. Each is a process of
// its own: the ones before count as dead.
func newWorld(t testing.TB, st store.Store, r *receivers) *world {
	t.Helper()
	return tracedWorld(t, st, r, nil)
}

func tracedWorld(t testing.TB, st store.Store, r *receivers, tracer trace.Tracer) *world {
	t.Helper()
	w := &world{t: t, st: st}
	node := fmt.Sprint("node", nodes.Add(1))
	w.Outbox = New(&Engine{
		Store:    st,
		Node:     node,
		Notifier: r,
		Tracer:   tracer,
		Log:      slog.New(slog.NewTextHandler(testLog{t}, nil)),
		Now:      time.Now,
		Caller:   store.Key.Scope,
		Entry: func(_ context.Context, raw *store.Entry) (*a2a.Entry, error) {
			return a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
		},
		FoldTo: func(ctx context.Context, k store.Key, seq int64) (*a2a.Task, error) {
			return a2a.Fold(func(yield func(*a2a.Entry, error) bool) {
				for raw, err := range store.EachEntry(ctx, st, k, 0, seq) {
					var en *a2a.Entry
					if err == nil {
						en, err = a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
					}
					if !yield(en, err) || err != nil {
						return
					}
				}
			})
		},
		MakeRoom: func(context.Context, store.Key) error { return nil },
		Claim: func(ctx context.Context, limit int) (int, error) {
			return st.ClaimPushes(ctx, node, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), limit)
		},
		SendsLetters: func(context.Context) (bool, error) { return true, nil },
		Wrote: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = err
		},
		Advanced: func([]store.Advance) {},
		Notified: func(context.Context, a2a.Verdict) {},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		w.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ran
	}
	t.Cleanup(w.stop)
	return w
}

func (w *world) lastWrite() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// pushTest runs a test over finished tasks, with a store of its own.
func pushTest(t *testing.T, test func(t *testing.T, st *store.Memory, r *receivers)) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		test(t, st, &receivers{})
	})
}

// passes lets time pass, and all that it brings happen, so that what receivers
// keep can be read.
func passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

type receivers = outboxtest.Receivers

// fill is outboxtest.Fill for a task without tenant and owner.
func fill(t testing.TB, st store.Store, id, host, version string, n int) store.PushID {
	t.Helper()
	return outboxtest.Fill(t, st, store.Key{ID: id}, host, version, n)
}

// begin stores a task of this process with its webhook, in one append as a
// message brings both, and tells the outbox.
func (w *world) begin(ctx context.Context, key store.Key, last a2a.TaskState, n int, c *a2a.TaskPushNotificationConfig) {
	w.t.Helper()
	p, err := w.Record(ctx, c)
	if err != nil {
		w.t.Fatal(err)
	}
	a := outboxtest.Log(key, last, n)
	p.Key, p.Cursor = key, 2
	a.Pushes = []store.PushConfig{*p}
	if err := store.Do(context.Background(), w.st, a); err != nil {
		w.t.Fatal(err)
	}
	w.Watch(p, int64(len(a.Entries)))
}

// goOn appends a change of state to a task, and tells the outbox.
func (w *world) goOn(key store.Key, state a2a.TaskState) {
	w.t.Helper()
	rec, err := w.st.Get(context.Background(), key, store.RowOnly)
	if err != nil {
		w.t.Fatal(err)
	}
	a := &store.Append{Row: rec.Row, After: rec.Last, Epoch: rec.Epoch}
	a.Row.State, a.Row.Updated = int32(state), outboxtest.Now()
	en := outboxtest.Status(key.ID, state)
	a.Entries = []store.Entry{{Seq: rec.Last + 1, Time: outboxtest.Now(), Kind: uint8(en.Kind), Body: en.AppendBody(nil)}}
	if err := store.Do(context.Background(), w.st, a); err != nil {
		w.t.Fatal(err)
	}
	w.News(key, rec.Last+1)
}

func (w *world) push(id store.PushID) *store.PushConfig {
	w.t.Helper()
	p, err := w.st.Push(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) letters() []store.DeadLetter {
	w.t.Helper()
	all, err := w.st.DeadLetters(context.Background(), store.LetterQuery{Limit: 1 << 20})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}
