// Package torture is a driver that judges a server from the outside, by
// violence. It starts the server as a process of its own, lets clients of
// several versions and bindings work with it, kills it at random moments and
// starts it again; then it compares what each client was shown with the log
// that the server shows in the end.
//
//	report, err := torture.Run(ctx, &torture.Options{
//		Server: func(int) *exec.Cmd { return exec.Command("parley", "serve", "--listen", addr, "--data", dir) },
//		Addr:   addr, Log: log, Rounds: 10, Clients: 50, Seed: 1,
//	})
//
// The server must run the demo agent. The checks are in audit.go (a task's
// log, and what was seen of it) and judge.go (all tasks together). A seed gives
// the same plans and the same moments; which of them coincide is up to the scheduler.
package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Options says what to do. Server, Addr, Rounds and Clients are required.
type Options struct {
	// Server returns the command of the server's n-th life, from 0. All lives
	// have the same data and listen on Addr.
	Server func(life int) *exec.Cmd
	Addr   string
	// Metrics is where all lives offer their metrics. Empty: nowhere.
	Metrics string

	Rounds  int // each ends one life of the server, or two
	Clients int
	Seed    uint64
	// Life is how long the server lives at most, about. Zero means 800 ms, and
	// three times that now and then.
	Life time.Duration

	// Network puts a proxy between the clients and the server that cuts,
	// delays and swallows.
	Network bool
	// Retries says that the server knows messages that come again, also those of
	// callers who are not authenticated.
	Retries bool
	// Effects is the file to which the agent's command "steps N" adds a line
	// "TASK STEP RESULT" for each run of a step. Empty: there is no such command.
	Effects string
	// Dies says that the server may fail by itself; it is started again.
	Dies bool

	// Log gets what the server writes to its standard error, and the driver's
	// own notes. Nil discards.
	Log io.Writer
}

// limits of patience. Only a violation waits for them.
const (
	readyWithin = 30 * time.Second // from the start of a life
	endWithin   = 90 * time.Second // for one task, from its first message
	quietWithin = 60 * time.Second // from the last kill to the last task's end
)

// world is one run.
type world struct {
	// set at start, then constant
	o      *Options
	log    *lastLines
	server *server // nil where there are several
	proxy  *proxy  // nil without Network
	hasty  bool    // clients do not wait long
	many   bool    // there are several servers
	strict bool    // requests may be refused with 503, and fail in no other way
	hooked bool    // clients with webhooks work, too, whose tasks have no record
	lossy  bool    // what is acknowledged may be lost, and is to be counted
	start  time.Time

	stopping chan struct{} // closed when no new tasks are to begin

	count    counts
	counters []*counted // of the driver's goroutine, and then of the judge's

	mu         sync.Mutex // protects the fields below
	records    []*record
	byMessage  map[string]*record // of each message that was sent
	violations []string
	broken     [claims]int
}

// counts are what the report shows. They only grow.
type counts struct {
	kills, stops, deaths             atomic.Int64
	events, resumes, cuts, stalls    atomic.Int64
	unknown, unreachable, wornOut    atomic.Int64
	direct, canceled, steps, effects atomic.Int64
	subscribed, opened               atomic.Int64 // over HTTP, by the library; of those by the driver
	repeats, conflicts, attached     atomic.Int64
	pauses                           atomic.Int64
	elsewhere                        atomic.Int64 // streams that went on at another replica
	refused                          atomic.Int64 // requests, with 503, where that is counted
}

const maxViolations = 50

// violate notes that a promise was broken.
func (w *world) violate(c Claim, format string, args ...any) {
	text := faultf(c, format, args...).String()
	w.note("VIOLATION: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[c]++
	if len(w.violations) < maxViolations {
		w.violations = append(w.violations, text)
	}
}

// note writes a line of the driver's own into the log.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.log, "torture %8.3f  %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
}

// Run does it all. The error is about the driver or its surroundings;
// what the server did wrong is in the report.
func Run(ctx context.Context, o *Options) (*Report, error) {
	w := newWorld(o)
	w.server, w.hasty = newServer(o, w.log), o.Network
	defer w.server.kill()
	addr := o.Addr
	if o.Network {
		p, err := newProxy(o.Addr, o.Seed)
		if err != nil {
			return nil, err
		}
		defer p.close()
		w.proxy, addr = p, p.addr()
	}
	if err := w.server.begin(); err != nil {
		return nil, err
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var clients sync.WaitGroup
	for n := range o.Clients {
		c := newClient(w, n, "http://"+addr)
		clients.Go(func() { c.run(working) })
	}
	err := w.rounds(ctx)
	close(w.stopping)
	if w.proxy != nil {
		w.proxy.calm()
	}
	if err == nil {
		w.note("the rounds are over")
		err = w.quiet(ctx, &clients)
	}
	w.note("the clients have ended")
	cancel(errors.New("the run is over"))
	clients.Wait()
	if err == nil {
		err = w.scrapeAtRest(ctx)
	}
	if err != nil {
		return nil, err
	}
	// Only the state on disk counts.
	w.server.kill()
	if err := w.server.begin(); err != nil {
		return nil, err
	}
	if err := w.up(ctx); err != nil {
		return nil, err
	}
	tasks, err := w.judge(ctx, o.Addr)
	if err != nil {
		return nil, err
	}
	r := w.report(tasks)
	r.SlowestStart = w.server.slowest
	return r, nil
}

func newWorld(o *Options) *world {
	return &world{
		o:         o,
		log:       newLastLines(o.Log),
		start:     time.Now(),
		stopping:  make(chan struct{}),
		byMessage: map[string]*record{},
	}
}

// quiet waits until the clients have ended their tasks.
func (w *world) quiet(ctx context.Context, clients *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	limit := time.NewTimer(endWithin + quietWithin)
	defer limit.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-limit.C:
			w.violate(Service, "clients do not come to an end")
			return nil
		case <-w.server.exited():
			if err := w.died(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
