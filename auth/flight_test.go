package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A panic reaches the caller that made the call. The others get an error, and the next
// call is made as usual.
func TestPanicDoesNotHangOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight[int]
		var mu sync.Mutex
		panics, failures := 0, 0
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						mu.Lock()
						defer mu.Unlock()
						if panics++; !strings.Contains(p.(string), "a bug") || !strings.Contains(p.(string), "flight_test.go") {
							t.Errorf("the panic is %v", p)
						}
					}
				}()
				_, own, err := f.do(t.Context(), "k", func() (int, error) {
					time.Sleep(time.Second)
					panic("a bug")
				})
				mu.Lock()
				defer mu.Unlock()
				if failures++; own || err == nil {
					t.Errorf("own %t, error %v", own, err)
				}
			})
		}
		all.Wait()
		if panics != 1 || failures != 9 {
			t.Errorf("%d panics and %d failures, want 1 and 9", panics, failures)
		}
		if v, own, err := f.do(t.Context(), "k", func() (int, error) { return 7, nil }); v != 7 || !own || err != nil {
			t.Errorf("afterwards: %d, %t, %v", v, own, err)
		}
	})
}

// A caller that leaves does not harm those who wait: its call continues.
func TestCallGoesOnForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight[int]
		ctx, leave := context.WithCancel(t.Context())
		call := func(ctx context.Context) (int, bool, error) {
			return f.do(ctx, "k", func() (int, error) {
				time.Sleep(time.Second)
				return 7, nil
			})
		}
		var all sync.WaitGroup
		all.Go(func() {
			if v, own, err := call(ctx); v != 7 || !own || err != nil {
				t.Errorf("the caller got %d, %t, %v", v, own, err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if v, own, err := call(t.Context()); v != 7 || own || err != nil {
				t.Errorf("the other got %d, %t, %v", v, own, err)
			}
		})
		all.Go(func() {
			if _, own, err := call(ctx); own || !errors.Is(err, context.Canceled) {
				t.Errorf("the other that left got %t, %v", own, err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
	})
}
