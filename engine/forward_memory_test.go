package engine

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// postCounter counts what is posted, and how large the batches are that are taken.
type postCounter struct {
	store.Store
	deaf    atomic.Bool // no mail is taken
	posted  atomic.Int64
	largest atomic.Int64 // batch, in bytes
}

func (c *postCounter) Post(ctx context.Context, all []store.Mail) error {
	c.posted.Add(int64(len(all)))
	return c.Store.Post(ctx, all)
}

func (c *postCounter) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	if c.deaf.Load() {
		return nil, context.Cause(ctx)
	}
	got, err := c.Store.Mail(ctx, node, limit)
	var n int64
	for _, m := range got {
		n += int64(len(m.Body))
	}
	c.largest.Store(max(c.largest.Load(), n))
	return got, err
}

// A message that waits for another process counts in the memory of its call with
// what is posted of it, and a process that is slow finds a few copies of it and not
// one for every two seconds.
func TestMessagesForASlowProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		slow, counts := &postCounter{Store: mem}, &postCounter{Store: mem}
		here := newWorldWith(t, slow, waiting, testCard(), shared(t))
		there := newWorldWith(t, counts, waiting, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		slow.deaf.Store(true)
		const size = 1 << 20
		all := budget.New(64 << 20)
		hold := all.Open("ann")
		hold.Set(size)
		sent := make(chan error, 1)
		go func() {
			_, err := there.SendMessage(budget.With(t.Context(), hold), replyNow(task, strings.Repeat("x", size)))
			sent <- err
		}()
		time.Sleep(time.Minute + time.Second/2)
		synctest.Wait()
		if n := all.Used(); n < 2*size {
			t.Errorf("%d bytes are held for a message of %d", n, size)
		}
		if n := counts.posted.Load(); n > 6 {
			t.Errorf("it was posted %d times in a minute", n)
		}
		slow.deaf.Store(false)
		if err := <-sent; err != nil {
			t.Error(err)
		}
		here.stop()
		there.stop()
	})
}

// Large messages between processes are fetched a few at a time, even if there are many.
func TestLargeMailIsTakenInSmallBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &postCounter{Store: mem}
		w := newWorldWith(t, st, waiting, testCard(), shared(t))
		synctest.Wait()
		st.deaf.Store(true)
		const size = 1 << 20
		body, err := (&memo{ID: "m", Answer: &memoAnswer{Error: &memoError{Code: a2a.CodeInternal.String(), Message: strings.Repeat("x", size)}}}).seal(w.node)
		if err != nil {
			t.Fatal(err)
		}
		for range 16 {
			if err := st.Post(t.Context(), []store.Mail{{Node: w.node, Body: body}}); err != nil {
				t.Fatal(err)
			}
		}
		st.deaf.Store(false)
		time.Sleep(time.Minute)
		if n := st.largest.Load(); n == 0 || n > 4*int64(len(body)) {
			t.Errorf("%d bytes are taken at a time", n)
		}
		if left, err := mem.Mail(t.Context(), w.node, 1); len(left) > 0 || err != nil {
			t.Errorf("%d pieces are left, %v", len(left), err)
		}
		w.stop()
	})
}

// A process that took a message for another keeps no second copy of it until its agent
// has taken it.
func TestForwardedMessageIsKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		w, asks := newWorldWith(t, mem, waiting, testCard(), shared(t)), newNodeKey()
		task := w.mustSend(sendNow("x"))
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // what a sync.Pool has outlives one
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		const size = 16 << 20
		before := heap()
		func() {
			req := reply(task, strings.Repeat("x", size))
			m := &memo{ID: "m", From: asks.name, Send: sendMemo(&access{}, req, w.forwardName(&access{}, req))}
			m.Send.Waits = true
			body, err := m.seal(w.node)
			if err == nil {
				err = mem.Post(t.Context(), []store.Mail{{Node: w.node, Body: body}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}()
		time.Sleep(time.Minute)
		if n := heap() - before; n > size*5/2 { // the message, and its entry in the log
			t.Errorf("%d bytes are kept of a message of %d", n, size)
		}
		w.stop()
	})
}
