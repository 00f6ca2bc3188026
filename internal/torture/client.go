package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
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
	sent int

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
	c := &client{w: w, n: n, url: url, rng: rand.New(rand.NewPCG(w.o.Seed, uint64(n)+1)), how: speechOf(n), patience: 20 * time.Second}
	if w.proxy != nil {
		c.patience = 2 * time.Second
	}
	return c
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
	o := &a2aclient.Options{
		Version: c.how.version, Bindings: []string{c.how.binding}, UnaryTimeout: c.patience,
		Logger: slog.New(requests{&c.w.count}),
	}
	for {
		cl, err := a2aclient.Dial(ctx, c.url, o)
		switch {
		case err == nil:
			if got := cl.Interface().ProtocolBinding; got != c.how.binding {
				c.w.violate("a client that wants %s got %s", c.how, got)
			}
			c.svc = cl
			if c.how.raw {
				c.svc = newRaw(cl, c.url)
			}
			return true
		case ctx.Err() != nil:
			return false
		case !temporary(err):
			c.w.violate("the card cannot be had: %v", err)
			return false
		}
		c.pause(ctx, 50*time.Millisecond)
	}
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
	r := &record{w: c.w, plan: c.plan(), who: fmt.Sprintf("client %d, %s", c.n, c.how), words: map[string]string{}}
	ctx, cancel := context.WithTimeoutCause(ctx, endWithin, errTooLong)
	defer cancel()
	m := c.message(r, r.plan.text)
	r.said = m.MessageID
	if e := r.plan.earlier; e != nil {
		m.ReferenceTaskIDs = []string{e.id}
	}
	c.w.mu.Lock()
	c.w.records = append(c.w.records, r)
	c.w.mu.Unlock()

	c.say(ctx, r, m)
	if r.id == "" {
		return // a direct answer, or nobody knows
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
			r.violate("has no end after %v; it is %v", endWithin, r.now())
		}
		return
	}
	c.after(ctx, r)
}

var errTooLong = errors.New("it takes too long")

// message makes the client's next message.
func (c *client) message(r *record, text string) *a2a.Message {
	c.sent++
	m := &a2a.Message{
		MessageID: fmt.Sprintf("m-%d-%d-%d", c.w.o.Seed, c.n, c.sent),
		Role:      a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}
	r.mu.Lock()
	r.words[m.MessageID] = text
	m.TaskID, m.ContextID = r.id, r.contextID
	r.mu.Unlock()
	c.w.mu.Lock()
	c.w.byMessage[m.MessageID] = r
	c.w.mu.Unlock()
	return m
}

// say sends a message in one of three ways, again as long as it is certain
// that it did not arrive. It reports whether it is known to have arrived.
func (c *client) say(ctx context.Context, r *record, m *a2a.Message) bool {
	way := c.rng.IntN(4)
	for {
		var known bool
		var err error
		if way < 2 {
			known, err = c.sayStreaming(ctx, r, m)
		} else {
			known, err = c.sayBlocking(ctx, r, m, way == 3)
		}
		switch {
		case known || err == nil:
			return known
		case ctx.Err() != nil:
			return false
		case m.TaskID != "" && errors.Is(err, a2a.ErrUnsupportedOperation):
			return false // the task has ended; finish looks
		case !temporary(err):
			r.violate("sending %s (way %d): %v", m.MessageID, way, err)
			return false
		case !unreachable(err):
			c.w.count.unknown.Add(1)
			c.pause(ctx, 100*time.Millisecond)
			return false
		}
		c.w.count.unreachable.Add(1)
		c.pause(ctx, 30*time.Millisecond)
	}
}

func (c *client) sayStreaming(ctx context.Context, r *record, m *a2a.Message) (known bool, err error) {
	seg := r.segment()
	if m.TaskID == "" {
		r.first = seg
	}
	ctx, alive, stop := c.patient(ctx)
	defer stop()
	leave := -1
	if c.rng.IntN(5) == 0 {
		leave = c.rng.IntN(8)
	}
	for el, err := range c.svc.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: m}) {
		if err != nil {
			return known, c.cut(ctx, r, "a streaming send", err)
		}
		alive()
		if el.Message != nil {
			r.answers(el.Message)
			return false, nil
		}
		if el.Task != nil {
			r.begins(el.Task)
		}
		if !known {
			known = true
			r.accepts(m.MessageID)
		}
		seg.takes(el)
		// Where an authorization is wanted the stream stays open: it may come
		// by another way.
		if leave--; leave == -1 || el.State() == a2a.TaskStateAuthRequired {
			break
		}
	}
	return known, nil
}

func (c *client) sayBlocking(ctx context.Context, r *record, m *a2a.Message, immediately bool) (known bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*c.patience, errStalled)
	defer cancel()
	pos, taken := r.floor()
	res, err := c.svc.SendMessage(ctx, &a2a.SendMessageRequest{Message: m, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: immediately}})
	if err != nil {
		return false, c.cut(ctx, r, "a send", err)
	}
	if res.Message != nil {
		r.answers(res.Message)
		return false, nil
	}
	r.begins(res.Task)
	r.accepts(m.MessageID)
	r.sees("SendMessage", res.Task, pos, false, true, append(taken, m.MessageID))
	if s := res.Task.Status.State; !immediately && !s.Terminal() && !s.Interrupted() {
		r.violate("a blocking send came back with %v", s)
	}
	return true, nil
}

// answers notes a direct message.
func (r *record) answers(m *a2a.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.direct = m
	r.w.count.direct.Add(1)
	if want := r.plan.text[len(r.plan.kind)+1:]; r.plan.kind != "message" || m.Text() != want {
		r.violate("was answered with the message %q", m.Text())
	}
}

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
			answered = c.answer(ctx, r)
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

// answer sends the answer to the agent's question, or two at once. It reports
// whether one of them is known to have arrived.
func (c *client) answer(ctx context.Context, r *record) bool {
	if !r.plan.twice {
		return c.say(ctx, r, c.message(r, r.plan.answer)) || c.answered(ctx, r)
	}
	second := &client{
		w: c.w, n: c.n, url: c.url, rng: rand.New(rand.NewPCG(c.rng.Uint64(), 0)), how: c.how, svc: c.svc, patience: c.patience,
	}
	one, other := c.message(r, r.plan.answer), c.message(r, r.plan.answer+", again")
	var wg sync.WaitGroup
	var a, b bool
	wg.Go(func() { a = c.say(ctx, r, one) })
	wg.Go(func() { b = second.say(ctx, r, other) })
	wg.Wait()
	return a || b || c.answered(ctx, r)
}

// answered looks whether an answer has arrived though nobody said so.
func (c *client) answered(ctx context.Context, r *record) bool {
	t := c.look(ctx, r)
	if t == nil {
		return false
	}
	n := 0
	for _, m := range t.History {
		if m.Role == a2a.RoleUser {
			n++
		}
	}
	return n > 1
}
