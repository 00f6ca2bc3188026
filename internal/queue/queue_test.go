package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestFirstComeFirstServed(t *testing.T) {
	q := New(2)
	for range 2 {
		if err := q.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	in := make(chan int, 5)
	left := make(chan error, 1)
	for i := range 5 {
		go func() {
			if i == 1 {
				left <- q.Enter(ctx)
				return
			}
			if err := q.Enter(t.Context()); err != nil {
				t.Error(err)
			}
			in <- i
		}()
		for queued := 0; queued <= i; { // in this order
			queued = q.Waiting()
		}
	}
	cancel(errors.New("gone"))
	if err := <-left; err == nil || err.Error() != "gone" {
		t.Errorf("enter = %v, want the cause", err)
	}
	for _, want := range []int{0, 2, 3, 4} {
		q.Leave()
		if got := <-in; got != want {
			t.Errorf("%d came in, want %d", got, want)
		}
	}
	for range 2 {
		q.Leave()
	}
	if q.Fair.free != 2 || q.Waiting() != 0 {
		t.Errorf("%d places are free and %d wait, want 2 and 0", q.Fair.free, q.Waiting())
	}
	if err := q.Enter(ctx); err == nil {
		t.Error("came in with a context that has ended")
	}
}

// A caller that takes its place back does not wait, and others wait until it has left.
func TestReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		in := false
		_ = q.Enter(t.Context()) // another one, while the first has left
		q.Return()
		go func() { in = q.Enter(t.Context()) == nil }()
		synctest.Wait()
		q.Leave()
		synctest.Wait()
		if in {
			t.Error("two are in where one may be")
		}
		q.Leave()
		synctest.Wait()
		if !in {
			t.Error("the place is lost")
		}
	})
}
