package storetest

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Outcome is the outcome of one test that Judge ran.
type Outcome struct {
	Area, Test string
	Took       time.Duration
	Failures   []string // empty: it passed
	Skipped    string   // why it was skipped, if it was
}

// judgeLimit is how long a test of Judge may take. judgeEnd is how much later it must have
// ended; a test that has not may still use the store.
const (
	judgeLimit = 3 * time.Minute
	judgeEnd   = 30 * time.Second
)

// Areas returns the names of the suite's parts, in the order in which Judge runs them.
func Areas() (names []string) {
	for _, a := range areas(true) {
		names = append(names, a.name)
	}
	return names
}

// Judge runs the suite outside of a test, for a program that judges a database. It yields the
// outcome of each test, one after the other, until ctx ends. only names the areas to run;
// empty means all. several selects the tests of Run rather than RunAlone, and fresh is as for
// these. If a test does not end, its outcome is the last one.
func Judge(ctx context.Context, only []string, several bool, fresh func(t testing.TB) Opener) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		for _, a := range areas(several) {
			if len(only) > 0 && !slices.Contains(only, a.name) {
				continue
			}
			for _, b := range a.tests {
				o, ended := judge(ctx, b, fresh)
				if ctx.Err() != nil {
					return
				}
				if o.Area = a.name; !yield(o) || !ended {
					return
				}
			}
		}
	}
}

// judge runs one test.
func judge(ctx context.Context, b behaviour, fresh func(t testing.TB) Opener) (o Outcome, ended bool) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, judgeLimit)
	defer cancel()
	v := &verdict{name: b.name, ctx: limited}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.protect(func() { b.test(v, fresh(v)) })
		cancel() // as a test's context ends before its cleanup
		for f := v.cleanup(); f != nil; f = v.cleanup() {
			v.protect(f)
		}
	}()
	select {
	case <-done:
		ended = true
	case <-limited.Done():
		select {
		case <-done:
			ended = true
		case <-time.After(judgeEnd):
		}
		if ctx.Err() == nil && time.Since(began) >= judgeLimit {
			v.Errorf("it did not end within %v", judgeLimit)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return Outcome{Test: b.name, Took: time.Since(began), Failures: slices.Clone(v.failures), Skipped: v.skipped}, ended
}

// verdict is a testing.TB that records the calls. It lacks the methods that no test of the
// suite calls.
type verdict struct {
	testing.TB // nil
	name       string
	ctx        context.Context

	mu       sync.Mutex // protects the fields below
	failures []string
	skipped  string
	after    []func()
}

// protect runs f in a goroutine of its own, which f may end, and turns a panic into a
// failure.
func (v *verdict) protect(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				v.Errorf("panic: %v", r)
			}
		}()
		f()
	}()
	<-done
}

func (v *verdict) cleanup() (f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.after); n > 0 {
		f, v.after = v.after[n-1], v.after[:n-1]
	}
	return f
}

func (v *verdict) fail(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failures = append(v.failures, strings.TrimRight(text, "\n"))
}

func (v *verdict) Name() string             { return v.name }
func (v *verdict) Helper()                  {}
func (v *verdict) Context() context.Context { return v.ctx }
func (v *verdict) Log(...any)               {}
func (v *verdict) Logf(string, ...any)      {}

func (v *verdict) Error(args ...any)                 { v.fail(fmt.Sprintln(args...)) }
func (v *verdict) Errorf(format string, args ...any) { v.fail(fmt.Sprintf(format, args...)) }

func (v *verdict) Fatal(args ...any) {
	v.Error(args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Failed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.failures) > 0
}

func (v *verdict) Skip(args ...any) {
	v.mu.Lock()
	v.skipped = strings.TrimRight(fmt.Sprintln(args...), "\n")
	v.mu.Unlock()
	runtime.Goexit()
}

func (v *verdict) Cleanup(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.after = append(v.after, f)
}
