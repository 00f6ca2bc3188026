package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// restart is scenario (h): from the start of the process until it says that it is
// ready, on a database full of tasks and on an empty one. It is the program
// itself, parley serve, that is started. Its files are in the system's memory, as
// after an upgrade, or they are not, as after a reboot; what a disk or a host
// keeps in its own is not ours to empty.
type restart struct{}

// what of (h) is in the label of a case whose files the system does not have in
// its memory.
const cold = "cold"

func (restart) about() about {
	const full, empty = "1,000,000 tasks", "0 tasks"
	return about{
		key: "h", title: "Start of parley serve until it is ready", unit: "s", lessBetter: true,
		bars: []bar{
			startsIn(full), startsIn(full + ", " + cold),
			{
				text: "× the memory of an empty start", atMost: 1.5, needs: []need{{parleyDisk, full}, {parleyDisk, empty}},
				value: func(m medians) (float64, bool) {
					f, e := m.of(parleyDisk, full), m.of(parleyDisk, empty)
					if f == nil || e == nil || e.Memory == 0 {
						return 0, false
					}
					return f.Memory / e.Memory, true
				},
			},
		},
	}
}

func startsIn(label string) bar {
	return bar{text: "s with " + label, atMost: 2, needs: []need{{parleyDisk, label}}, value: func(m medians) (float64, bool) {
		f := m.of(parleyDisk, label)
		if f == nil {
			return 0, false
		}
		return f.Main, true
	}}
}

func (restart) cases(p *plan) []setting {
	n := 1_000_000
	if p.short {
		n = 10_000
	}
	full := setting{label: thousands(n) + " tasks", conns: 1, n: n, turn: "sizes"}
	fresh := full
	fresh.label, fresh.what = full.label+", "+cold, cold
	return []setting{{label: "0 tasks", conns: 1, turn: "sizes"}, full, fresh}
}

func (restart) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	if !of.data {
		return nil, lacks("it keeps nothing over a restart")
	}
	dir, err := b.stocked(ctx, k.n)
	if err != nil {
		return nil, err
	}
	return &restartBout{b: b, dir: dir, tasks: k.n, cold: k.what == cold}, nil
}

type restartBout struct {
	b     *bench
	dir   string
	tasks int
	cold  bool
}

func (r *restartBout) close() {}

func (r *restartBout) measure(ctx context.Context) (figures, error) {
	program, err := r.b.binary(ctx)
	if err != nil {
		return figures{}, err
	}
	if r.cold {
		if err := forget(r.dir); err != nil {
			return figures{}, err
		}
	}
	of := &contender{name: "parley serve", dialect: rpc10, banner: "  JSON-RPC   http://"}
	srv, err := start(ctx, of, program, "serve", "--listen", "127.0.0.1:0", "--data", r.dir, "--drain-timeout", "0", "--log-level", "warn")
	if err != nil {
		return figures{}, err
	}
	defer srv.stop()
	limit := time.Now().Add(r.b.plan.limit)
	asking := http.Client{Timeout: r.b.plan.limit}
	defer asking.CloseIdleConnections()
	for {
		res, err := asking.Get("http://" + srv.addr + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(limit) {
			return figures{}, srv.blame(fmt.Errorf("it is not ready after %v", r.b.plan.limit))
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return figures{}, err
		}
	}
	took := time.Since(srv.began)
	// It is what it says only if it works.
	w, err := newSender(ctx, srv.addr, rpc10, 0, limit)
	if err != nil {
		return figures{}, srv.blame(err)
	}
	defer w.close()
	began := time.Now()
	if _, err := w.do(ctx, 0); err != nil {
		return figures{}, srv.blame(err)
	}
	first := time.Since(began)
	if err := r.check(ctx, srv); err != nil {
		return figures{}, srv.blame(err)
	}
	if err := pause(ctx, r.b.plan.time); err != nil {
		return figures{}, err
	}
	return figures{Main: took.Seconds(), P50: first.Seconds() * 1000, Memory: megabytes(srv.usage().peak), Calls: 1}, nil
}

// check asks whether the tasks are there.
func (r *restartBout) check(ctx context.Context, srv *server) error {
	c, err := dial(ctx, srv.addr, wide, time.Now().Add(r.b.plan.limit))
	if err != nil {
		return err
	}
	defer c.close()
	l := &lister{c: c, d: rpc10, ids: newIDs(0)}
	p, err := l.page(`{"pageSize":1}`)
	if err == nil && p.TotalSize < r.tasks {
		err = fmt.Errorf("it has %d tasks and should have %d", p.TotalSize, r.tasks)
	}
	return err
}
