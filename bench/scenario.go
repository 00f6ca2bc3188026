package main

import (
	"context"
	"fmt"
	"time"
)

// scenario is one thing that is measured, of all contenders.
type scenario interface {
	about() about
	// cases are measured one after the other.
	cases(p *plan) []setting
	// open readies a contender for a case. It fails with lacks where the
	// contender has no such thing.
	open(ctx context.Context, b *bench, of *contender, k setting) (bout, error)
}

// bout is one contender in one case. It is measured once in each round, while the
// others of its case are there but idle.
type bout interface {
	measure(ctx context.Context) (figures, error)
	close()
}

// about says what a scenario is.
type about struct {
	key, title string
	unit       string // of figures.main
	lessBetter bool
	done       string // what figures.cpu is per
	bars       []bar
}

// setting is one case of a scenario.
type setting struct {
	label string
	conns int
	n     int    // how many of what the scenario counts
	what  string // which of its variants
	turn  string // cases that share one are measured in turn, as contenders are: they are compared
}

// figures are what one measurement came to. Zero is unknown, but for main.
type figures struct {
	Main   float64 `json:"main"`             // in the scenario's unit
	P50    float64 `json:"p50,omitempty"`    // of a call, in milliseconds
	P99    float64 `json:"p99,omitempty"`    // of a call, in milliseconds
	Worst  float64 `json:"worst,omitempty"`  // of all calls, in milliseconds
	CPU    float64 `json:"cpu,omitempty"`    // of the server, in microseconds per thing done
	Memory float64 `json:"memory,omitempty"` // resident, of the server, in MB
	Calls  int     `json:"calls,omitempty"`
	Own    float64 `json:"generator,omitempty"`     // processor time of the generator, as CPU
	Busy   float64 `json:"generatorBusy,omitempty"` // the share of its processors that it used
	Note   string  `json:"note,omitempty"`          // what to know beside it
	Over   string  `json:"over,omitempty"`          // it did not end in time: how far it came. Main is then a bound
}

// lacks is why a contender does not take part in a case.
type lacks string

func (l lacks) Error() string { return string(l) }

// plan says how long and how much.
type plan struct {
	short  bool
	bar    bool   // nothing but what the bars compare
	keep   bool   // a load's servers run over all rounds
	cases  string // a part of the labels of the cases that are measured
	rounds int
	time   time.Duration // of one measurement
	warm   time.Duration // before it
	conns  []int
	limit  time.Duration // that one measurement may take where it is work that is fixed
	stock  string        // directory for databases that take long to make
}

// byConns are cases that differ in connections.
func byConns(conns []int) []setting {
	var list []setting
	for _, n := range conns {
		label := fmt.Sprintf("%d connections", n)
		if n == 1 {
			label = "1 connection"
		}
		list = append(list, setting{label: label, conns: n})
	}
	return list
}

// scenarios in the order in which they are measured.
var scenarios = []scenario{
	send{}, get{}, stream{}, long{}, idle{}, fanOut{}, list{}, restart{}, file{}, dialects{}, webhooks{},
}

// loadBout measures by a load, on a server that may be fresh each time.
type loadBout struct {
	start  func(ctx context.Context) (*server, error)
	load   func(srv *server) *load
	kept   *server // nil: a fresh one each time
	shared bool    // kept is used by other cases, too
}

// underLoad readies a contender for a load.
func (b *bench) underLoad(ctx context.Context, of *contender, load func(srv *server) *load) (bout, error) {
	start := func(ctx context.Context) (*server, error) { return of.start(ctx, b) }
	if !b.plan.keep {
		return &loadBout{start: start, load: load}, nil
	}
	srv, err := start(ctx)
	if err != nil {
		return nil, err
	}
	first := load(srv)
	first.warm, first.last = max(first.warm, 2*time.Second), 0
	if _, err := first.run(ctx, srv); err != nil {
		srv.stop()
		return nil, err
	}
	return &loadBout{kept: srv, load: load}, nil
}

func (b *loadBout) measure(ctx context.Context) (figures, error) {
	srv := b.kept
	if srv == nil {
		var err error
		if srv, err = b.start(ctx); err != nil {
			return figures{}, err
		}
		defer srv.stop()
	}
	t, err := b.load(srv).run(ctx, srv)
	if err != nil {
		return figures{}, err
	}
	f := figures{
		Main: t.perSecond(), P50: t.quantile(0.5), P99: t.quantile(0.99), Worst: t.worst.Seconds() * 1000,
		CPU: t.used.per(t.done), Memory: megabytes(t.used.memory), Calls: t.calls, Own: t.own.per(t.done), Busy: t.busy(),
	}
	if t.db.known {
		f.Note = fmt.Sprintf("PostgreSQL beside it: %.0f µs", t.db.per(t.done))
	}
	if f.Worst > 1000 && f.Worst > 10*f.P99 {
		f.Note = fmt.Sprintf("one call took %.1f s", f.Worst/1000)
	}
	return f, nil
}

func (b *loadBout) close() {
	if b.kept != nil && !b.shared {
		b.kept.stop()
	}
}
