// Package storecheck judges a database server that speaks PostgreSQL's protocol: it
// runs the suite of all stores (store/storetest) on a scratch database there, and says
// what holds. It is a package of its own so that nothing but the command links the
// suite.
package storecheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// Report says how a server did.
type Report struct {
	Server     string   `json:"server"`   // as it says of itself
	Database   string   `json:"database"` // where the tests ran
	Without    []string `json:"without"`  // what it lacks, and what that means
	Durability string   `json:"durability"`
	Areas      []Area   `json:"areas"`
	Tests      int      `json:"tests"`
	Failed     int      `json:"failed"`
	Only       []string `json:"only,omitempty"` // areas; none: all were run
	// Usable says that Parley can be used with it: all tests that were run hold, and a
	// server would not refuse it for what may be lost.
	Usable bool `json:"usable"`
}

// Area is a part of the suite.
type Area struct {
	Name    string    `json:"name"`
	Tests   int       `json:"tests"`
	Failed  []Failure `json:"failed"`
	Seconds float64   `json:"seconds"`
}

// Failure is a test that failed.
type Failure struct {
	Test   string `json:"test"`
	Reason string `json:"reason"` // the first one
}

// Areas are the parts of the suite.
func Areas() []string { return storetest.Areas() }

// Run runs the tests in a place that was made, and empties it before each: those of the areas
// named in only, or all. told is
// called with each area when it is done; what comes before the areas is known then.
// After an error, as when ctx ends, the report is not complete.
func Run(ctx context.Context, s *Scratch, only []string, told func(*Report, *Area) error) (*Report, error) {
	r := &Report{Server: s.state.Server, Database: s.Name, Durability: s.state.Durability, Only: only}
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r.Without = append([]string{}, st.Without()...) // which is a list where it is empty, too
	hints := !slices.ContainsFunc(r.Without, func(w string) bool { return strings.HasPrefix(w, "LISTEN") })
	if err := st.Close(); err != nil {
		return nil, err
	}
	fresh := func(t testing.TB) storetest.Opener {
		if err := s.empty(t.Context()); err != nil {
			t.Fatalf("empty the database: %v", err)
		}
		return func(t testing.TB) store.Store {
			st, err := s.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
	}
	var a *Area
	done := func() error {
		if a == nil {
			return nil
		}
		r.Areas = append(r.Areas, *a)
		return told(r, a)
	}
	for o := range storetest.Judge(ctx, only, hints, fresh) {
		if a == nil || a.Name != o.Area {
			if err := done(); err != nil {
				return nil, err
			}
			a = &Area{Name: o.Area, Failed: []Failure{}}
		}
		if o.Skipped != "" {
			continue
		}
		r.Tests++
		a.Tests++
		a.Seconds += o.Took.Round(time.Millisecond).Seconds()
		if len(o.Failures) > 0 {
			r.Failed++
			a.Failed = append(a.Failed, Failure{Test: o.Test, Reason: o.Failures[0]})
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("after %d tests: %w", r.Tests, err)
	}
	r.Usable = r.Failed == 0 && s.state.Lossy == nil
	return r, done()
}
