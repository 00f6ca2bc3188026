package webhook

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A caller that stops waiting for the keys does not stop the others: making them may
// take longer than an attempt.
func TestKeysAreLoadedWithoutThoseWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewSender(nil, "", "")
		loads := 0
		w.LoadKeys(func(ctx context.Context) (*Keys, error) {
			loads++
			time.Sleep(20 * time.Second)
			return new(Keys), ctx.Err()
		})
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := w.current(brief); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		for range 2 {
			if k, err := w.current(t.Context()); k == nil || err != nil || loads != 1 || time.Since(began) != 20*time.Second {
				t.Errorf("%v, %v after %v and %d loads", k, err, time.Since(began), loads)
			}
		}
	})
}
