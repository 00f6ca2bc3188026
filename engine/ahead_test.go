package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// lateStore commits, and holds back the word that it has: the moment in which
// its readers are ahead of what is published.
type lateStore struct {
	store.Store
	late   chan struct{} // closed when the word may come
	onRead atomic.Pointer[func()]
}

func (s *lateStore) Append(a *store.Append, done func(error)) {
	s.Store.Append(a, func(err error) {
		go func() {
			<-s.late
			done(err)
		}()
	})
}

func (s *lateStore) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	rec, err := s.Store.Get(ctx, k, most)
	if f := s.onRead.Swap(nil); f != nil {
		(*f)()
	}
	return rec, err
}

// attempts says which attempt it is and works until it is told to stop.
var attempts = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	if err := t.Status(map[int]string{1: "first", 2: "second"}[t.Attempt()]); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
})

// TestNobodyIsAheadOfWhatIsPublished: a stream that reads from the store must
// not show an event that GetTask and other streams, which are served from
// memory, deny.
func TestNobodyIsAheadOfWhatIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		w := newWorld(t, mem, attempts)
		resp, err := w.SendMessage(t.Context(), sendNow("x"))
		if err != nil {
			t.Fatal(err)
		}
		id := resp.Task.ID
		synctest.Wait()
		w.stop()

		late := &lateStore{Store: mem, late: make(chan struct{})}
		w = newWorld(t, late, attempts)
		synctest.Wait() // the second attempt has spoken, which is stored and not published
		if rec, err := mem.Get(t.Context(), store.Key{ID: id}, store.RowOnly); err != nil || rec.Last != 4 {
			t.Fatalf("%+v, %v", rec, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan string, 8)
		over := make(chan struct{})
		go func() {
			defer close(over)
			for el, err := range w.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id, After: 1}) {
				if err == nil && el.StatusUpdate != nil {
					seen <- el.StatusUpdate.Status.Message.Text()
				}
			}
		}()
		synctest.Wait()
		if got := <-seen; got != "first" || len(seen) > 0 {
			t.Errorf("the stream has %q and %d more", got, len(seen))
		}
		if got := w.mustGet(id).Status.Message.Text(); got != "first" {
			t.Errorf("the task says %q", got)
		}
		close(late.late)
		synctest.Wait()
		if got := <-seen; got != "second" {
			t.Errorf("then the stream has %q", got)
		}
		if got := w.mustGet(id).Status.Message.Text(); got != "second" {
			t.Errorf("then the task says %q", got)
		}
		cancel()
		<-over
		w.stop()
	})
}

// TestLookIsNotAheadOfWhatIsPublished: a task that gets an owner while it is
// read from the store.
func TestLookIsNotAheadOfWhatIsPublished(t *testing.T) {
	st := &lateStore{Store: store.NewMemory(), late: make(chan struct{})}
	close(st.late)
	defer st.Close()
	w := newWorld(t, st, parrot)
	id := w.mustSend(send("x")).ID
	key := store.Key{ID: id}
	tp := w.topics.Join(key)
	defer w.topics.Leave(tp)
	tp.Adopt(nil, nil, 0) // as in a process that does not own it
	before := &a2a.Task{ID: id, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	adopt := func() { tp.Adopt(&task.Owner{}, before, 2) }
	st.onRead.Store(&adopt)
	task, last, err := w.topics.LoadAt(t.Context(), tp)
	if err != nil || last != 2 || task.Status.State != a2a.TaskStateWorking {
		t.Errorf("got %+v as of %d, %v", task, last, err)
	}
	w.stop()
}
