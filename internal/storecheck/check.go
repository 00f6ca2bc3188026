// Package storecheck judges a database server that speaks PostgreSQL's protocol: it runs the
// suite of all stores (store/storetest) on a scratch database there, and reports which tests
// pass. It is a separate package so that only the command links the suite.
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

// Report is the result for a server.
type Report struct {
	Server     string   `json:"server"`   // the version that it reports
	Database   string   `json:"database"` // where the tests ran
	Without    []string `json:"without"`  // features that it lacks, and the consequences
	Durability string   `json:"durability"`
	Areas      []Area   `json:"areas"`
	Tests      int      `json:"tests"`
	Failed     int      `json:"failed"`
	Only       []string `json:"only,omitempty"` // areas that were run; none: all
	// Usable means that Parley can use the server: all tests that were run passed, and Parley
	// would not refuse to start because the server may lose commits.
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
	Reason string `json:"reason"` // the first failure
}

// Areas returns the names of the suite's parts.
func Areas() []string { return storetest.Areas() }

// Run runs the tests of the areas named in only, or of all areas, in a scratch place that
// Make made, which it empties before each test. It calls told with each area when that is
// done; by then the rest of the report, except for later areas, is known. After an error,
// also when ctx ends, the report is incomplete.
func Run(ctx context.Context, s *Scratch, only []string, told func(*Report, *Area) error) (*Report, error) {
	r := &Report{Server: s.state.Server, Database: s.Name, Durability: s.state.Durability, Only: only}
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r.Without = append([]string{}, st.Without()...) // so that JSON has a list even if it is empty
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
