package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// client works with the server, one task after the other. It belongs to one
// goroutine, but for what it starts for a task and waits for.
type client struct {
	w    *world
	n    int
	url  string
	rng  *rand.Rand
	how  speech
	svc  service // of how
	sent *atomic.Int64

	other    *other        // for what is said again elsewhere
	patience time.Duration // without a word in a stream
	echoed   *record       // an earlier result
}

// service is what clients use of a2a.Service.
type service interface {
	SendMessage(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error)
	SendStreamingMessage(context.Context, *a2a.SendMessageRequest) events
	GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error)
	ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error)
	SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) events
}

// speech is a version and a binding; raw is the driver's own reader of streams,
// which resumes nothing by itself.
type speech struct {
	version, binding string
	raw              bool
	weight           int
}

var speeches = []speech{
	{"1.0", a2a.BindingJSONRPC, false, 12},
	{"1.0", a2a.BindingJSONRPC, true, 10},
	{"1.0", a2a.BindingHTTPJSON, false, 9},
	{"1.0", a2a.BindingGRPC, false, 9},
	{"1.1", a2a.BindingJSONRPC, false, 2},
	{"0.3", a2a.BindingJSONRPC, false, 5},
	{"0.3", a2a.BindingHTTPJSON, false, 1},
	{"0.3", a2a.BindingGRPC, false, 2},
}

// speechOf shares the clients out, the same way for every seed.
func speechOf(n int) speech {
	total := 0
	for _, s := range speeches {
		total += s.weight
	}
	n = n * 7 % total // so that a few clients are of many kinds
	for _, s := range speeches {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	return speeches[0]
}

func (s speech) String() string {
	if s.raw {
		return s.version + " " + s.binding + " by hand"
	}
	return s.version + " " + s.binding
}

func newClient(w *world, n int, url string) *client {
	c := &client{
		w: w, n: n, url: url, rng: rand.New(rand.NewPCG(w.o.Seed, uint64(n)+1)), how: speechOf(n),
		sent: new(atomic.Int64), other: new(other), patience: 20 * time.Second,
	}
	if w.hasty {
		c.patience = 2 * time.Second
	}
	return c
}

// twin is the same client once more, for what it does beside its work.
func (c *client) twin(dice rand.Source) *client {
	t := *c
	t.rng, t.echoed = rand.New(dice), nil
	return &t
}

func (c *client) run(ctx context.Context) {
	if !c.dial(ctx) {
		return
	}
	for {
		select {
		case <-c.w.stopping:
			return
		case <-ctx.Done():
			return
		default:
		}
		c.work(ctx)
		c.pause(ctx, time.Duration(c.rng.IntN(40))*time.Millisecond)
	}
}

// dial gets the card, however long it takes.
func (c *client) dial(ctx context.Context) bool {
	for {
		svc, err := c.speak(ctx, c.how)
		switch {
		case err == nil:
			c.svc = svc
			return true
		case ctx.Err() != nil:
			return false
		case !temporary(err):
			c.w.violate(Service, "the card cannot be had: %v", err)
			return false
		}
		c.pause(ctx, 50*time.Millisecond)
	}
}

func (c *client) speak(ctx context.Context, how speech) (service, error) {
	o := &a2aclient.Options{
		Version: how.version, Bindings: []string{how.binding}, UnaryTimeout: c.patience,
		Logger: slog.New(requests{&c.w.count}),
	}
	if how.raw || c.n%2 == 1 {
		o.Retries = -1 // the driver resumes and repeats by itself
	}
	rt := c.w.newTransport(how.binding)
	if rt != nil {
		o.HTTPClient = &http.Client{Transport: rt}
	}
	cl, err := a2aclient.Dial(ctx, c.url, o)
	if err != nil {
		return nil, err
	}
	if got := cl.Interface().ProtocolBinding; got != how.binding {
		c.w.violate(Service, "a client that wants %s got %s", how, got)
	}
	if how.raw {
		return newRaw(cl, c.url, rt), nil
	}
	return cl, nil
}

// other is a client's second language, for what it says again.
type other struct {
	mu  sync.Mutex // protects the field below
	svc service
}

// elsewhere is the client in another version or by another binding, or as it
// is if the card cannot be had just now.
func (c *client) elsewhere(ctx context.Context) service {
	c.other.mu.Lock()
	defer c.other.mu.Unlock()
	if c.other.svc == nil {
		svc, err := c.speak(ctx, speechOf(c.n+3))
		if err != nil {
			return c.svc
		}
		c.other.svc = svc
	}
	return c.other.svc
}

func (c *client) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// work carries out one plan.
func (c *client) work(ctx context.Context) {
	r := &record{w: c.w, plan: c.plan(), who: fmt.Sprintf("client %d, %s", c.n, c.how), words: map[string]string{}, alias: map[string]string{}}
	ctx, cancel := context.WithTimeoutCause(ctx, endWithin, errTooLong)
	defer cancel()
	if c.w.lossy {
		r.abandon = cancel
	}
	m := c.message(r, r.plan.text)
	r.said, r.opening = m.MessageID, m
	if e := r.plan.earlier; e != nil {
		m.ReferenceTaskIDs = []string{e.id}
	}
	c.w.mu.Lock()
	c.w.records = append(c.w.records, r)
	c.w.mu.Unlock()

	c.say(ctx, r, m)
	if r.id == "" { // a direct answer, or nobody knows
		if r.direct == nil && context.Cause(ctx) == errTooLong {
			r.violate(Service, "its message was not answered within %v", endWithin)
		}
		return
	}
	var others sync.WaitGroup
	if r.plan.cancel {
		after := time.Duration(c.rng.IntN(250)) * time.Millisecond
		others.Go(func() { c.cancel(ctx, r, after) })
	}
	if !r.plan.quick && c.rng.IntN(6) == 0 {
		seg := r.segment()
		others.Go(func() { c.watch(ctx, r, seg) })
	}
	ok := c.finish(ctx, r)
	others.Wait()
	if !ok {
		if context.Cause(ctx) == errTooLong {
			r.violate(Left, "has no end after %v; it is %v", endWithin, r.now())
		}
		return
	}
	c.after(ctx, r)
}

var errTooLong = errors.New("it takes too long")

// finish goes on until the task has ended, or waits for a client that does not
// come back. It returns false if ctx ended first.
func (c *client) finish(ctx context.Context, r *record) bool {
	seg := r.first
	if seg != nil && seg.holes {
		seg = nil
	}
	answered := false
	for ctx.Err() == nil {
		switch s := r.now(); {
		case s.Terminal():
			return true
		case s.Interrupted() && !answered && r.plan.answer == "" && !r.plan.cancel:
			return true
		case s.Interrupted() && !answered && r.plan.answer != "":
			r.settles(true)
			answered = c.answer(ctx, r)
			continue
		case answered && r.asksAgain():
			r.settles(true)
			if !c.say(ctx, r, c.message(r, r.plan.answer)) {
				r.settles(false)
				c.look(ctx, r)
			}
			continue
		}
		if c.rng.IntN(5) == 0 {
			c.look(ctx, r)
			c.pause(ctx, 20*time.Millisecond)
			continue
		}
		if seg == nil || c.rng.IntN(6) == 0 {
			seg = r.segment()
		}
		if !c.follow(ctx, r, seg, answered || r.plan.cancel) {
			c.look(ctx, r)
			c.pause(ctx, 20*time.Millisecond)
		}
		if seg.holes {
			seg = nil
		}
	}
	return false
}
