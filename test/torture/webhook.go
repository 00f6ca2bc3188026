package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// WebhookOptions says what RunWebhooks does. Server, Addr, Tasks and Clients are
// required; of those a fleet needs Clients alone.
type WebhookOptions struct {
	// Server returns the command of the server's n-th life, from 0. All lives
	// have the same data and listen on Addr. Webhooks may go to this machine.
	Server func(life int) *exec.Cmd
	Addr   string

	Tasks   int // each with 10 events
	Clients int
	Seed    uint64
	// Mercy makes receivers fail each delivery once at most, and that more often:
	// each failure makes the pause before the next attempt longer.
	Mercy bool
	// Hangs is how many requests are left without an answer until their sender
	// gives up. Zero means 3 of 1,000. Negative: none.
	Hangs int
	// Receivers is the host that receivers listen on. Empty: 127.0.0.1.
	Receivers string
	// Retain is how long the servers keep tasks that failed or were canceled, as some
	// then are. Zero: for ever. It is for a fleet.
	Retain time.Duration

	// Log gets what the server writes to its standard error, and the driver's
	// own notes. Nil discards.
	Log io.Writer
}

// hookWorld is one run of RunWebhooks.
type hookWorld struct {
	// set at start, then constant
	o      *WebhookOptions
	server *server // nil where there are several
	url    string  // where clients go
	log    *lastLines
	keys   *keyring
	hosts  []*receiver
	start  time.Time

	count   hookCounts
	ready   atomic.Int64  // how many lives have been ready
	news    chan struct{} // capacity one: a post came
	deletes chan *hook    // of the hooks that are to be deleted

	mu         sync.Mutex // protects the fields below
	hooks      []*hook
	brief      []*briefTask
	violations []string
	broken     [hookClaims]int
}

// hookCounts are what the report shows. They only grow.
type hookCounts struct {
	kills, stops, unknown atomic.Int64
	posts, accepted       atomic.Int64
	repeats               atomic.Int64 // of a delivery that had been accepted
	hangs, late           atomic.Int64 // late: for what had been deleted long before
	failures              [faults2]atomic.Int64
}

// RunWebhooks lets clients have webhooks sent to receivers that fail at random,
// kills the server twice and stops it once while they are, and then compares
// what came with the logs of the tasks. The error is about the driver or its
// surroundings; what the server did wrong is in the report.
func RunWebhooks(ctx context.Context, o *WebhookOptions) (*WebhookReport, error) {
	w, err := newHookWorld(o, newLastLines(o.Log))
	defer w.close()
	if err != nil {
		return nil, err
	}
	w.server, w.url = newServer(&Options{Server: o.Server, Addr: o.Addr}, w.log), "http://"+o.Addr
	defer w.server.kill()
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	if w.keys, err = fetchKeys(ctx, w.url); err != nil {
		return nil, err
	}

	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var sending, deleting sync.WaitGroup
	for n := range o.Clients {
		sending.Go(func() { newHookClient(w, n).run(working, numbers) })
	}
	deleting.Go(func() { w.deleteAll(working) })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		defer sending.Wait()
		defer close(numbers)
		for n := range o.Tasks {
			select {
			case numbers <- n:
			case <-working.Done():
				return
			}
		}
	}()
	err = w.violence(ctx, sent)
	if err == nil {
		err = w.await(ctx, func() bool { return isClosed(sent) && w.pending() == 0 })
	}
	if errors.Is(err, errSilent) {
		err = nil // what is missing shows
	}
	cancel(errors.New("the run is over"))
	<-sent
	deleting.Wait()
	if err != nil {
		return nil, err
	}
	// Only the state on disk counts. What it would repeat now is not looked at.
	w.server.kill()
	for _, r := range w.hosts {
		if err := r.http.Shutdown(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	tasks, events, err := w.judge(ctx, w.url)
	if err != nil {
		return nil, err
	}
	return w.report(tasks, events), nil
}

// newHookWorld makes the receivers, which close ends whether or not it failed.
func newHookWorld(o *WebhookOptions, log *lastLines) (*hookWorld, error) {
	w := &hookWorld{o: o, log: log, start: time.Now(), news: make(chan struct{}, 1), deletes: make(chan *hook, 4*max(o.Tasks, 1000))}
	for n := range 4 {
		r, err := newReceiver(w, n)
		if err != nil {
			return w, err
		}
		w.hosts = append(w.hosts, r)
	}
	return w, nil
}

func (w *hookWorld) close() {
	for _, r := range w.hosts {
		r.close()
	}
}

// many reports whether there are several servers.
func (w *hookWorld) many() bool { return w.server == nil }

// begin starts the server's next life and waits until it is ready.
func (w *hookWorld) begin(ctx context.Context) error {
	if err := w.server.begin(); err != nil {
		return err
	}
	for !w.server.ready(ctx) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !w.server.alive():
			return fmt.Errorf("the server ended %w; %s", w.server.ended(), w.server.tail())
		case time.Since(w.server.began) > readyWithin:
			return fmt.Errorf("the server is not ready after %v; %s", readyWithin, w.server.tail())
		}
		pause(ctx, 10*time.Millisecond)
	}
	w.ready.Add(1)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// violence ends lives of the server, each when a part of the posts has come
// that the tasks bring about.
func (w *hookWorld) violence(ctx context.Context, sent <-chan struct{}) error {
	const perTask = 14 // about, accepted ones
	for _, step := range []struct {
		part float64
		kill bool
	}{{0.15, true}, {0.4, true}, {0.6, false}} {
		if err := w.await(ctx, func() bool {
			return float64(w.count.accepted.Load()) >= step.part*perTask*float64(w.o.Tasks) || isClosed(sent) && w.pending() == 0
		}); err != nil {
			return err
		}
		if step.kill || runtime.GOOS == "windows" { // where nobody can be asked to end
			w.note("kill -9 after %d posts", w.count.posts.Load())
			w.count.kills.Add(1)
			w.server.kill()
		} else {
			w.note("stop after %d posts", w.count.posts.Load())
			w.count.stops.Add(1)
			if err := w.server.stop(0); err != nil {
				w.violate(hookService, "SIGTERM: %v", err)
			}
		}
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

var errSilent = errors.New("no post came for long")

// await waits until enough says so, which is asked after each post, and often. It
// is errSilent if no post comes any more.
func (w *hookWorld) await(ctx context.Context, enough func() bool) error {
	const patience = 90 * time.Second // more than a circuit stays open
	silence := time.NewTimer(patience)
	defer silence.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !enough() {
		select {
		case <-w.news:
			silence.Reset(patience)
		case <-tick.C:
		case <-silence.C:
			return errSilent
		case <-w.server.exited():
			return fmt.Errorf("the server ended %w; %s", w.server.ended(), w.server.tail())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pending counts the hooks that something is still to come for.
func (w *hookWorld) pending() int {
	w.mu.Lock()
	hooks := w.hooks
	w.mu.Unlock()
	n := 0
	for _, h := range hooks {
		if h.waits() {
			n++
		}
	}
	return n
}

// violate notes that a promise was broken.
func (w *hookWorld) violate(c hookClaim, format string, args ...any) {
	text := hookClaimNames[c] + ": " + fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[c]++
	if len(w.violations) < maxViolations {
		w.violations = append(w.violations, text)
	}
}

// note writes a line of the driver's own into the log.
func (w *hookWorld) note(format string, args ...any) {
	fmt.Fprintf(w.log, "torture %8.3f  %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
}
