package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

const unit = 1 << 20

// A caller has a quarter at most, or one piece that is larger.
func TestCallerHasAShare(t *testing.T) {
	b := New(16 * unit)
	first, second, other := b.Open("a"), b.Open("a"), b.Open("b")
	if !first.Try(3 * unit) {
		t.Fatal("3 of 4 MiB are refused")
	}
	if second.Try(2 * unit) {
		t.Error("a caller has more than a quarter")
	}
	if !other.Try(9 * unit) {
		t.Error("one piece that is larger than a share is refused")
	}
	first.Close()
	if !second.Try(2 * unit) {
		t.Error("what was given back is not there")
	}
	second.Close()
	other.Close()
	if n := b.Used(); n != 0 || len(b.accounts) != 0 {
		t.Errorf("%d bytes and %d accounts are left", n, len(b.accounts))
	}
}

// Data larger than the budget is let in alone, and then nothing else.
func TestLargerThanAllIsLetInAlone(t *testing.T) {
	b := New(4 * unit)
	huge, other := b.Open("a"), b.Open("b")
	if !huge.Try(100 * unit) {
		t.Fatal("it is refused although nothing else is held")
	}
	if other.Try(unit) {
		t.Error("something comes in beside it")
	}
	huge.Set(3 * unit)
	if !other.Try(unit) {
		t.Error("what shrank still takes all")
	}
}

// Small data is not counted, and nil has no limit.
func TestSmallIsNotCounted(t *testing.T) {
	b := New(unit)
	full := b.Open("a")
	full.Set(50 * unit)
	h := b.Open("b")
	if err := h.Ensure(t.Context(), Small); err != nil || h.Held() != 0 {
		t.Errorf("small data: %v, %d held", err, h.Held())
	}
	none := New(0).Open("a")
	if err := none.Ensure(t.Context(), 1<<60); err != nil {
		t.Error(err)
	}
	none.Close()
	if From(With(t.Context(), nil)) != nil || From(With(t.Context(), h)) != h {
		t.Error("the context has another hold")
	}
}

func TestWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(8 * unit)
		big, h := b.Open("a"), b.Open("b")
		big.Set(8 * unit)
		done := make(chan error)
		go func() { done <- h.Ensure(t.Context(), 2*unit) }()
		synctest.Wait()
		big.Set(7 * unit) // not enough
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		big.Close()
		if err := <-done; err != nil || h.Held() != 2*unit {
			t.Errorf("%v, %d held", err, h.Held())
		}
	})
}

func TestDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(8 * unit)
		big := b.Open("a")
		big.Set(8 * unit)
		begun := time.Now()
		if err := b.Open("b").Ensure(t.Context(), unit); err != ErrFull || time.Since(begun) != Wait {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("gone"))
		if err := b.Open("b").Ensure(gone, unit); err == nil || err.Error() != "gone" {
			t.Errorf("%v, want the cause", err)
		}
		big.Close()
		if len(b.accounts) != 0 || b.waiting.Load() != 0 {
			t.Errorf("%d accounts, %d waiting are left", len(b.accounts), b.waiting.Load())
		}
	})
}

// A thousand requests of one caller keep no other waiting, and a large request
// is not passed by small ones for ever.
func TestFewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(8 * unit)
		all := b.Open("x")
		all.Set(8 * unit)
		got := make(chan string, 100)
		want := func(name string, key any, n int64) {
			go func() {
				h := b.Open(key)
				if err := h.Ensure(t.Context(), n); err == nil {
					got <- name
				}
			}()
			synctest.Wait()
		}
		for range 20 {
			want("flood", "a", unit)
		}
		want("one", "b", unit)
		all.Set(6 * unit)
		synctest.Wait()
		if x, y := <-got, <-got; x == y {
			t.Errorf("%s and %s came in, want one of each", x, y)
		}
		want("large", "c", 5*unit) // more than a share, and less than others who hold
		want("small", "d", unit)
		all.Set(5 * unit)
		synctest.Wait()
		select {
		case name := <-got:
			if name == "flood" {
				t.Errorf("%s came in before those who hold nothing", name)
			}
		default:
		}
		all.Close()
		synctest.Wait()
		seen := map[string]int{}
		for len(got) > 0 {
			seen[<-got]++
		}
		if seen["large"] != 1 && b.Used() < 5*unit {
			t.Errorf("the large one waits: %v", seen)
		}
	})
}

// If two calls need a little more than is left, what one gives back is for the other, not for a
// call that begins, be it another caller's or the same one's.
func TestBegunComesFirst(t *testing.T) {
	for _, newcomer := range []string{"a", "b", "c"} {
		synctest.Test(t, func(t *testing.T) {
			b := New(10 * unit)
			leaves, stays := b.Open("a"), b.Open("b")
			leaves.Set(4 * unit)
			stays.Set(5 * unit)
			granted := make(chan string, 3)
			ensure := func(name string, h *Hold, n int64) {
				go func() {
					if h.Ensure(t.Context(), n) == nil {
						granted <- name
					}
				}()
				synctest.Wait()
			}
			begins := b.Open(newcomer)
			ensure("begins", begins, 4*unit)
			ensure("leaves", leaves, 6*unit)
			ensure("stays", stays, 7*unit)
			leaves.Close()
			if first := <-granted; first != "stays" {
				t.Errorf("%s of %s has come first", first, newcomer)
			}
			stays.Close()
			begins.Close()
		})
	}
}

// A caller that waits for its own share presses no other caller.
func TestStallsIsForThoseWhoGain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16 * unit)
		own, other := b.Open("a"), b.Open("b")
		own.Set(4 * unit)
		other.Set(4 * unit)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- b.Open("a").Ensure(ctx, unit) }()
		synctest.Wait()
		if !own.Stalls() || other.Stalls() {
			t.Errorf("stalls: %v and %v, want the one whose caller waits", own.Stalls(), other.Stalls())
		}
		go func() { done <- b.Open("c").Ensure(ctx, 9*unit) }()
		synctest.Wait()
		if !own.Stalls() || !other.Stalls() {
			t.Errorf("stalls: %v and %v, want both where somebody waits for the total", own.Stalls(), other.Stalls())
		}
		cancel()
		for range 2 {
			<-done
		}
	})
}

// In any sequence of requests and releases, what is held stays within the limits.
func FuzzBudget(f *testing.F) {
	f.Add([]byte{0, 10, 17, 3, 33, 200, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		b := New(16 * unit)
		holds := make([]*Hold, 6)
		for i := range holds {
			holds[i] = b.Open(i % 3)
		}
		for i := 0; i+1 < len(ops); i += 2 {
			h, n := holds[ops[i]%6], int64(ops[i+1])*unit/8
			switch {
			case ops[i] >= 128:
				h.Set(min(n, h.Held())) // it shrinks
			default:
				h.Try(n)
			}
			var sum int64
			by := map[any]int64{}
			pieces := map[any]int{}
			for _, h := range holds {
				sum += h.Held()
				by[h.key] += h.Held()
				if h.Held() > 0 {
					pieces[h.key]++
				}
			}
			if sum != b.used {
				t.Fatalf("%d held, %d counted", sum, b.used)
			}
			for k, n := range by {
				if n > b.total/4 && pieces[k] > 1 {
					t.Fatalf("%v holds %d in %d pieces", k, n, pieces[k])
				}
			}
			if sum > b.total && len(pieces) > 1 {
				t.Fatalf("%d of %d are held", sum, b.total)
			}
		}
		for _, h := range holds {
			h.Close()
		}
		if b.used != 0 || len(b.accounts) != 0 {
			t.Fatalf("%d bytes, %d accounts left", b.used, len(b.accounts))
		}
	})
}

// A request that does not fit does not hold up one of its own caller that has begun and fits:
// the first may wait for the second to end.
func TestBegunPassesBegunOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16 * unit)
		large, small := b.Open("a"), b.Open("a")
		large.Set(1 * unit)
		small.Set(2 * unit)
		go func() { _ = large.Ensure(t.Context(), 3*unit) }() // with the 2 of small more than a quarter
		synctest.Wait()
		begun := time.Now()
		if err := small.Ensure(t.Context(), 3*unit); err != nil || time.Since(begun) > 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		small.Close()
		synctest.Wait()
		if n := large.Held(); n != 3*unit {
			t.Errorf("the large one holds %d", n)
		}
		large.Close()
	})
}

// Of callers that hold nothing the first to ask comes first, or small requests would pass
// a large one for ever.
func TestFirstToAskComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(8 * unit)
		all := b.Open("x")
		all.Set(4 * unit)
		large := b.Open("large")
		go func() { _ = large.Ensure(t.Context(), 6*unit) }()
		synctest.Wait()
		for i := range 20 {
			small := b.Open(i)
			go func() { _ = small.Ensure(t.Context(), unit) }()
			synctest.Wait()
			if small.Held() > 0 {
				t.Fatalf("small request %d has passed the large one", i)
			}
		}
		all.Close()
		synctest.Wait()
		if large.Held() == 0 {
			t.Error("the large one waits")
		}
	})
}
