package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// FleetOptions says what to do with several servers at one database. Replica,
// DeadAfter, Rounds and Clients are required.
type FleetOptions struct {
	// Replica returns the command of a replica's next life, which listens at one
	// address, and finds the database at the other.
	Replica func(listen, database string) *exec.Cmd
	// Old is what the replicas' first lives are, in place of Replica. Nil: the same.
	Old func(listen, database string) *exec.Cmd
	// Listen is the address of the n-th replica. Nil: one of this machine's.
	Listen func(n int) (string, error)
	// Replicas is how many there are. Zero means 3.
	Replicas int
	// Database is what all of them share. Nil: they find it by themselves, and Replica
	// gets no address of it.
	Database Database
	// DeadAfter is what the replicas were told: how long one may be silent.
	DeadAfter time.Duration

	Rounds  int // each has something happen to replicas, to the database or to both
	Clients int
	Seed    uint64
	// Hooks has clients with webhooks work, too. Nil: none.
	Hooks *WebhookOptions
	// Effects is as in Options.
	Effects string
	// Log is as in Options; lines of the n-th replica begin with its number.
	Log io.Writer
}

// Database is what the replicas share. Its methods are for one goroutine, but
// for Dial.
type Database interface {
	Dial() (net.Conn, error)
	// Stop ends it: in good order, or at once, as a loss of power does.
	Stop(hard bool) error
	// Kill ends each of its processes as kill -9 does.
	Kill() error
	Start() error
}

func (o *FleetOptions) replicas() int {
	if o.Replicas == 0 {
		return 3
	}
	return o.Replicas
}

// fleet is several servers at one database, behind one balancer.
type fleet struct {
	o        *FleetOptions
	w        *world
	replicas []*replica
	balancer *balancer
	hooks    *hooking // nil: none

	strokes [strokeKinds]int // what has happened to it
}

// RunFleet does it all. The error is about the driver or its surroundings;
// what the servers did wrong is in the report.
func RunFleet(ctx context.Context, o *FleetOptions) (*Report, error) {
	f := newFleet(o)
	f.w.hasty = true
	return f.run(ctx, o.Seed, f.rounds)
}

func newFleet(o *FleetOptions) *fleet {
	w := newWorld(&Options{Rounds: o.Rounds, Clients: o.Clients, Seed: o.Seed, Effects: o.Effects, Log: o.Log, Retries: true})
	w.many = true
	return &fleet{o: o, w: w}
}

// run lets clients work while rounds goes on, and judges.
func (f *fleet) run(ctx context.Context, cuts uint64, rounds func(context.Context) error) (*Report, error) {
	defer f.close()
	if err := f.begin(ctx, cuts); err != nil {
		return nil, err
	}
	w := f.w
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clients sync.WaitGroup
	for n := range f.o.Clients {
		c := newClient(w, n, "http://"+f.balancer.addr())
		clients.Go(func() { c.run(working) })
	}
	if f.o.Hooks != nil {
		err := f.hook(working, &clients)
		defer f.hooks.close()
		if err != nil {
			return nil, err
		}
	}
	err := rounds(ctx)
	close(w.stopping)
	f.balancer.calm()
	if err == nil {
		w.note("the rounds are over")
		err = f.quiet(ctx, &clients)
	}
	if err == nil && f.hooks != nil {
		err = f.rest(ctx)
	}
	w.note("the clients have ended")
	cancel(errors.New("the run is over"))
	clients.Wait()
	if f.hooks != nil {
		f.hooks.watching.Wait()
	}
	if err != nil {
		return nil, err
	}
	return f.verdict(ctx)
}

// begin starts the replicas. With a seed for it the balancer cuts connections.
func (f *fleet) begin(ctx context.Context, cuts uint64) error {
	var addrs []string
	for n := range f.o.replicas() {
		r, err := f.w.newReplica(f.o, n)
		if err != nil {
			return err
		}
		f.replicas = append(f.replicas, r)
		addrs = append(addrs, r.o.Addr)
		if err := r.start(); err != nil {
			return err
		}
	}
	b, err := newBalancer(addrs, cuts)
	if err != nil {
		return err
	}
	f.balancer = b
	return f.await(ctx, len(f.replicas))
}

func (f *fleet) close() {
	for _, r := range f.replicas {
		r.close()
	}
	if f.balancer != nil {
		f.balancer.close()
	}
}

// quiet waits until the clients have ended their tasks.
func (f *fleet) quiet(ctx context.Context, clients *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	ended := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	err := f.until(ctx, endWithin+quietWithin, ended)
	if errors.Is(err, errTooLong) {
		f.w.violate(Service, "clients do not come to an end")
		return nil
	}
	return err
}

// verdict ends all replicas and judges by what a new one says.
func (f *fleet) verdict(ctx context.Context) (*Report, error) {
	for _, r := range f.replicas {
		r.end()
	}
	fresh, err := f.w.newReplica(f.o, len(f.replicas))
	if err != nil {
		return nil, err
	}
	f.replicas = append(f.replicas, fresh)
	if err := fresh.start(); err != nil {
		return nil, err
	}
	if err := f.await(ctx, 1); err != nil {
		return nil, err
	}
	tasks, err := f.w.judge(ctx, fresh.o.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, fresh.tail())
	}
	r := f.w.report(tasks)
	r.Strokes = f.strokes
	if f.hooks != nil {
		tasks, events, err := f.hooks.judge(ctx, "http://"+fresh.o.Addr)
		if err != nil {
			return nil, fmt.Errorf("%w; %s", err, fresh.tail())
		}
		r.Hooks = f.hooks.report(tasks, events)
	}
	for _, one := range f.replicas {
		one.end()
		r.SlowestStart = max(r.SlowestStart, one.slowest)
	}
	return r, nil
}

// await waits until n replicas are ready that are not meant to be down.
func (f *fleet) await(ctx context.Context, n int) error {
	err := f.until(ctx, readyWithin, func() bool {
		ready := 0
		for _, r := range f.replicas {
			if !r.away && r.wasUp() {
				ready++
			}
		}
		return ready >= n
	})
	if errors.Is(err, errTooLong) {
		for _, r := range f.replicas {
			if !r.away && !r.wasUp() {
				return fmt.Errorf("replica %d is not ready after %v; %s", r.n, readyWithin, r.tail())
			}
		}
	}
	return err
}

// until lets the replicas live until something is so, for a while at most. Ones
// that end by themselves are started again.
func (f *fleet) until(ctx context.Context, limit time.Duration, enough func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !enough(); {
		if time.Now().After(end) {
			return errTooLong
		}
		for _, r := range f.replicas {
			if r.away || r.alive() || time.Since(r.began) < 100*time.Millisecond {
				continue
			}
			// It may give up if there is no database when it starts, and never else.
			f.w.count.deaths.Add(1)
			f.w.note("replica %d ended by itself: %v", r.n, r.server.ended())
			if r.wasUp() {
				f.w.violate(Service, "replica %d ended by itself: %v; %s", r.n, r.server.ended(), r.tail())
			}
			r.end()
			if err := r.start(); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// live lets the replicas live for a while.
func (f *fleet) live(ctx context.Context, d time.Duration) error {
	err := f.until(ctx, d, func() bool { return false })
	if errors.Is(err, errTooLong) {
		return nil
	}
	return err
}
