package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetry(t *testing.T) {
	weak, hard := errors.New("try again"), errors.New("no such card")
	for name, c := range map[string]struct {
		tries, fails int
		err          error // of each failure
		calls        int
		want         error
		least, most  time.Duration
	}{
		"at once":        {5, 0, weak, 1, nil, 0, 0},
		"third time":     {5, 2, weak, 3, nil, 750 * time.Millisecond, 1500 * time.Millisecond},
		"never":          {3, 9, weak, 3, weak, 750 * time.Millisecond, 1500 * time.Millisecond},
		"no tries":       {0, 9, weak, 1, weak, 0, 0},
		"permanent":      {5, 9, Permanent(hard), 1, hard, 0, 0},
		"within another": {5, 9, fmt.Errorf("charge: %w", Permanent(hard)), 1, hard, 0, 0},
		"long":           {20, 19, weak, 20, nil, 200 * time.Second, 432 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				began := time.Now()
				got, err := Retry(c.tries, func(context.Context) (int, error) {
					if calls++; calls <= c.fails {
						return 0, c.err
					}
					return calls, nil
				})(t.Context())
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
				if calls != c.calls || !errors.Is(err, c.want) || err == nil && got != calls {
					t.Errorf("after %d calls: %d, %v", calls, got, err)
				}
				if name == "within another" && err.Error() != c.err.Error() {
					t.Errorf("of %q came %q", c.err, err)
				}
			})
		})
	}
	if Permanent(nil) != nil {
		t.Error("no error is permanent")
	}
}

// A turn that is cancelled does not wait for the next try.
func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { cancel(ErrCanceled) })
		_, err := Retry(5, func(context.Context) (int, error) { return 0, errors.New("try again") })(ctx)
		if took := time.Since(began); !errors.Is(err, ErrCanceled) || took != 100*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}
