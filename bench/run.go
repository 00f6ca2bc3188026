package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// bench is one run of this program.
type bench struct {
	plan       *plan
	dir        string // for programs and databases; on a disk
	contenders []*contender
	say        io.Writer // what goes on

	full map[string]*full // servers that were filled, by contender and size
	pg   *pgtest.Cluster  // nil until it is needed

	collector *httptest.Server // of telemetry; nil until it is needed
}

// full is a server with tasks, which cases share.
type full struct {
	srv   *server
	tasks []stored
}

// load over the connections of a case.
func (b *bench) load(k setting, open func(ctx context.Context, i int, until time.Time) (worker, error)) *load {
	return &load{workers: k.conns, warm: b.plan.warm, last: b.plan.time, open: open}
}

// filled returns a server with n tasks, which other cases may have made.
func (b *bench) filled(ctx context.Context, of *contender, n int) (*server, []stored, error) {
	key := fmt.Sprint(of.name, " ", n)
	if f := b.full[key]; f != nil {
		return f.srv, f.tasks, nil
	}
	srv, err := of.start(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(b.say, "    %s is filled with %s tasks\n", of.name, thousands(n))
	// The slowest one that is known does some 700 a second on a core of its own.
	limit := b.plan.limit + time.Duration(n)*20*time.Millisecond
	tasks, err := fill(ctx, srv, n, time.Now().Add(limit))
	if err != nil {
		srv.stop()
		return nil, nil, err
	}
	b.full[key] = &full{srv, tasks}
	return srv, tasks, nil
}

// empty ends the servers that were filled.
func (b *bench) empty() {
	for key, f := range b.full {
		f.srv.stop()
		delete(b.full, key)
	}
}

// binary builds parley itself.
func (b *bench) binary(ctx context.Context) (string, error) {
	exe := filepath.Join(b.dir, "parley-cli")
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	return exe, command(ctx, "..", "go", "build", "-o", exe, "./cmd/parley")
}

// series are the measurements of one contender in one case.
type series struct {
	Contender string    `json:"contender"`
	Case      string    `json:"case"`
	Skipped   string    `json:"skipped,omitempty"` // why there are none
	Failed    string    `json:"failed,omitempty"`  // what was wrong; there are no figures then, of no round
	Rounds    []figures `json:"rounds,omitempty"`
}

// scenario measures all contenders in all cases.
func (b *bench) scenario(ctx context.Context, s scenario) ([]*series, error) {
	defer b.empty()
	var all []*series
	for _, g := range groups(b.cases(s)) {
		part, err := b.group(ctx, s, g)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// cases are those of a scenario that this run measures.
func (b *bench) cases(s scenario) []setting {
	all := slices.DeleteFunc(s.cases(b.plan), func(k setting) bool { return !strings.Contains(k.label, b.plan.cases) })
	if !b.plan.bar {
		return all
	}
	return slices.DeleteFunc(all, func(k setting) bool {
		return !slices.ContainsFunc(b.contenders, func(of *contender) bool { return s.about().needed(of.name, k.label) })
	})
}

// takesPart says whether a contender is measured in a case.
func (b *bench) takesPart(s scenario, of *contender, k setting) bool {
	if of.only != "" {
		return strings.Contains(of.only, s.about().key)
	}
	return !b.plan.bar || of.program == "" || s.about().needed(of.name, k.label)
}

// groups puts cases that are measured in turn together.
func groups(cases []setting) (all [][]setting) {
	for _, k := range cases {
		i := slices.IndexFunc(all, func(g []setting) bool { return k.turn != "" && g[0].turn == k.turn })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], k)
	}
	return all
}

// group measures contenders and cases in turn, there and back: A B C, C B A, and so
// on, for the disk is still busy with the one before.
func (b *bench) group(ctx context.Context, s scenario, cases []setting) (all []*series, _ error) {
	key := s.about().key
	var bouts []bout // one of each series, nil if it is skipped
	defer func() {
		for _, x := range bouts {
			if x != nil {
				x.close()
			}
		}
	}()
	for _, k := range cases {
		fmt.Fprintf(b.say, "(%s) %s\n", key, k.label)
		for _, of := range b.contenders {
			if !b.takesPart(s, of, k) {
				continue
			}
			one := &series{Contender: of.name, Case: k.label, Skipped: of.lacks[key]}
			var x bout
			var err error
			if one.Skipped == "" {
				if x, err = s.open(ctx, b, of, k); err != nil {
					x = nil
					if err := b.out(ctx, key, one, err); err != nil {
						return nil, err
					}
				}
			}
			all, bouts = append(all, one), append(bouts, x)
		}
	}
	turns := make([]int, len(bouts))
	for i := range turns {
		turns[i] = i
	}
	for range b.plan.rounds {
		for _, i := range turns {
			x := bouts[i]
			if x == nil {
				continue
			}
			f, err := x.measure(ctx)
			if err != nil {
				x.close()
				bouts[i] = nil
				if err := b.out(ctx, key, all[i], err); err != nil {
					return nil, err
				}
				continue
			}
			all[i].Rounds = append(all[i].Rounds, f)
			if f.Over != "" { // it would not end in the next round, either
				x.close()
				bouts[i] = nil
			}
		}
		slices.Reverse(turns)
	}
	return all, nil
}

// out ends a series because of err. If one contender fails, the others are
// measured all the same; the end of ctx stops them all, and is returned.
func (b *bench) out(ctx context.Context, key string, s *series, err error) error {
	var why lacks
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &why):
		s.Skipped = string(why)
	default:
		s.Failed, s.Rounds = err.Error(), nil
		fmt.Fprintf(b.say, "(%s) %s, %s: FAILED: %v\n", key, s.Case, s.Contender, err)
	}
	return nil
}

// median of the rounds: of each figure by itself. nil if there are none.
func (s *series) median() *figures {
	if len(s.Rounds) == 0 {
		return nil
	}
	mid := func(of func(f figures) float64) float64 {
		var list []float64
		for _, f := range s.Rounds {
			list = append(list, of(f))
		}
		slices.Sort(list)
		n := len(list)
		return (list[(n-1)/2] + list[n/2]) / 2
	}
	m := figures{
		Main:   mid(func(f figures) float64 { return f.Main }),
		P50:    mid(func(f figures) float64 { return f.P50 }),
		Worst:  mid(func(f figures) float64 { return f.Worst }),
		P99:    mid(func(f figures) float64 { return f.P99 }),
		CPU:    mid(func(f figures) float64 { return f.CPU }),
		Memory: mid(func(f figures) float64 { return f.Memory }),
		Own:    mid(func(f figures) float64 { return f.Own }),
		Busy:   mid(func(f figures) float64 { return f.Busy }),
	}
	for _, f := range s.Rounds {
		m.Calls += f.Calls
		if f.Over != "" {
			m.Over = f.Over
		}
		if f.Note != "" {
			m.Note = f.Note
		}
	}
	return &m
}

// spread is the least and the most of the rounds.
func (s *series) spread() (least, most float64) {
	least, most = s.Rounds[0].Main, s.Rounds[0].Main
	for _, f := range s.Rounds {
		least, most = min(least, f.Main), max(most, f.Main)
	}
	return least, most
}
