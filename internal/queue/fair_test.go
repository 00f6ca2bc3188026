package queue

import (
	"context"
	"errors"
	"testing"
)

// Keys have their turns, however many wait of one.
func TestKeysInTurn(t *testing.T) {
	q := NewFair[string](1)
	if err := q.Enter(t.Context(), "flood"); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	in := make(chan string)
	left := make(chan error, 2)
	wait := func(ctx context.Context, k, name string) {
		before := q.Waiting()
		go func() {
			if err := q.Enter(ctx, k); err != nil {
				left <- err
				return
			}
			in <- name
		}()
		for q.Waiting() == before { // in this order
		}
	}
	wait(t.Context(), "flood", "1")
	wait(gone, "flood", "2")
	wait(t.Context(), "flood", "3")
	wait(t.Context(), "flood", "4")
	wait(t.Context(), "one", "a")
	wait(gone, "two", "b") // whose key goes with it
	wait(t.Context(), "three", "c")
	cancel(errors.New("gone"))
	for range 2 {
		if err := <-left; err == nil || err.Error() != "gone" {
			t.Errorf("enter = %v, want the cause", err)
		}
	}
	for _, want := range []string{"1", "a", "c", "3", "4"} {
		q.Leave()
		if got := <-in; got != want {
			t.Errorf("%s came in, want %s", got, want)
		}
	}
	q.Leave()
	if q.free != 1 || len(q.order) != 0 || len(q.lines) != 0 {
		t.Errorf("%d places are free, %v and %v wait, want 1 and nobody", q.free, q.order, q.lines)
	}
	if err := q.Enter(gone, "one"); err == nil {
		t.Error("came in with a context that has ended")
	}
}
