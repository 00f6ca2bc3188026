package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// Judge finds a fault, passes a store without one, and stops when it is told to.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name string
		open Opener
		want bool
	}{
		{"memory", nil, true},
		{"a log without its last entry", func(t testing.TB) store.Store {
			return &broken{Memory: store.NewMemory(), entries: func(es []store.Entry) []store.Entry { return es[:len(es)-1] }}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, failed := 0, 0
			for o := range Judge(t.Context(), nil, true, func(testing.TB) Opener {
				if c.open == nil {
					return Memory()
				}
				return c.open
			}) {
				n++
				if len(o.Failures) > 0 {
					failed++
				}
				if n == 10 || failed == 1 { // other tests cover the others
					break
				}
			}
			if (failed == 0) != c.want {
				t.Errorf("%d of %d tests failed", failed, n)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range Judge(ctx, nil, true, func(testing.TB) Opener { return Memory() }) {
		t.Error("it goes on")
	}
	for o := range Judge(t.Context(), []string{"watching"}, true, func(testing.TB) Opener { return Memory() }) {
		if o.Area != "watching" {
			t.Errorf("area %s", o.Area)
		}
	}
	v := &verdict{ctx: t.Context()}
	v.protect(func() { panic("of a test") })
	if !v.Failed() || !strings.HasPrefix(v.failures[0], "panic") {
		t.Errorf("a panic: %q", v.failures)
	}
}
