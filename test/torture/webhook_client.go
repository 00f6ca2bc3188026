package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// hookClient begins tasks that have webhooks. It belongs to one goroutine.
type hookClient struct {
	w       *hookWorld
	rng     *rand.Rand
	how     speech
	began   time.Time // before the task that it is at was sent
	own     *a2aclient.Client
	control *a2aclient.Client // sees all
}

// hookSpeeches are what the clients speak, in turn.
var hookSpeeches = []speech{
	{version: "1.0", binding: a2a.BindingJSONRPC}, {version: "0.3", binding: a2a.BindingJSONRPC},
	{version: "1.0", binding: a2a.BindingHTTPJSON}, {version: "0.1", binding: a2a.BindingJSONRPC},
	{version: "1.0", binding: a2a.BindingGRPC}, {version: "0.3", binding: a2a.BindingGRPC},
	{version: "1.0", binding: a2a.BindingJSONRPC}, {version: "0.3", binding: a2a.BindingHTTPJSON},
}

func newHookClient(w *hookWorld, n int) *hookClient {
	return &hookClient{w: w, rng: rand.New(rand.NewPCG(w.o.Seed, uint64(n)+1)), how: hookSpeeches[n%len(hookSpeeches)]}
}

func (c *hookClient) run(ctx context.Context, numbers <-chan int) {
	c.own, c.control = c.w.dial(ctx, c.how), c.w.control(ctx)
	for range numbers {
		if ctx.Err() == nil {
			c.work(ctx)
		}
	}
}

// control is a client that is told of everything, whichever version it began in.
func (w *hookWorld) control(ctx context.Context) *a2aclient.Client {
	return w.dial(ctx, speech{version: "1.1", binding: a2a.BindingJSONRPC})
}

// dial gets the card, however often the server is not there.
func (w *hookWorld) dial(ctx context.Context, how speech) (cl *a2aclient.Client) {
	patience := 20 * time.Second
	if w.many() { // another answers
		patience = 3 * time.Second
	}
	w.insist(ctx, "get the card", func() (err error) {
		cl, err = a2aclient.Dial(ctx, w.url, &a2aclient.Options{Version: how.version, Bindings: []string{how.binding}, UnaryTimeout: patience})
		return err
	})
	return cl
}

// insist calls until it succeeds, fails for a reason that is not the server's
// being away, or ctx ends. It reports whether it succeeded.
func (w *hookWorld) insist(ctx context.Context, what string, call func() error) bool {
	for {
		err := call()
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !temporary(err):
			w.violate(hookService, "%s: %v", what, err)
			return false
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// hook makes one for which nothing has been said yet.
func (c *hookClient) hook(version string, along bool) *hook {
	h := &hook{version: version, along: along, token: uuid.NewString()}
	if x := c.rng.IntN(3); x > 0 {
		h.bearer = true
		if x == 2 {
			h.secret = uuid.NewString()
		}
	}
	switch x := c.rng.IntN(100); {
	case x < 8 && !h.single():
		h.fate = hookDeleted
	case x < 12:
		h.fate = hookGone
	}
	var err error
	if h.judge, err = c.w.keys.verifier(c.w.url, h.token); err == nil && h.whole() && h.bearer && h.secret == "" {
		h.jwt, err = c.w.keys.verifier(c.w.url, h.token)
	}
	if err != nil {
		c.w.violate(hookService, "make a verifier: %v", err)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	h.n = len(c.w.hooks)
	h.url = fmt.Sprintf("%s/hook/%d", c.w.hosts[c.rng.IntN(len(c.w.hosts))].url, h.n)
	c.w.hooks = append(c.w.hooks, h)
	return h
}

// work begins one task with its hooks, and stays until it has ended.
func (c *hookClient) work(ctx context.Context) {
	var along *hook
	// Where there is one configuration for a task, a second would replace it.
	more := c.rng.IntN(3)
	if more == 0 || c.rng.IntN(4) > 0 {
		along = c.hook(c.how.version, true)
	}
	b := &briefTask{message: c.message(), ends: c.w.o.Retain > 0 && c.rng.IntN(3) == 0}
	id := c.begin(ctx, b, along)
	if id == "" {
		return
	}
	for range more {
		how := c.how.version
		if how < "0.3" {
			how = "1.0"
		}
		c.create(ctx, c.hook(how, false), id)
	}
	if b.ends {
		c.cancel(ctx, id)
	}
	c.finish(ctx, id)
	if c.w.o.Retain > 0 {
		c.isBrief(ctx, b, id)
	}
}

// message asks for 10 events.
func (c *hookClient) message() *a2a.Message {
	return &a2a.Message{
		MessageID: uuid.NewString(), Role: a2a.RoleUser,
		Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("stream 8 %d", 40+c.rng.IntN(80)))},
	}
}

// begin sends the message, and returns the task's id; empty if nobody knows it.
func (c *hookClient) begin(ctx context.Context, b *briefTask, along *hook) string {
	b.began = time.Now()
	c.began = b.began
	req := &a2a.SendMessageRequest{
		Message:       b.message,
		Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true},
	}
	if along != nil {
		req.Configuration.TaskPushNotificationConfig = along.config("")
	}
	res, err := c.own.SendMessage(ctx, req)
	switch {
	case err == nil && res.Task != nil:
		if along != nil {
			along.exists(idOf(along, res.Task.ID), res.Task.ID, 0, 0, false)
		}
		return res.Task.ID
	case err == nil || !temporary(err) && ctx.Err() == nil:
		c.w.violate(hookService, "send a message: %+v, %v", res, err)
	}
	c.w.count.unknown.Add(1)
	if along != nil {
		along.lost()
	}
	return ""
}

func idOf(h *hook, task string) string {
	if h.single() {
		return task
	}
	return h.config(task).ID
}

// create makes a hook for a task that is there.
func (c *hookClient) create(ctx context.Context, h *hook, id string) {
	before, _, ok := c.look(ctx, id)
	if !ok {
		h.lost()
		return
	}
	client := c.own
	if c.how.version < "0.3" {
		client = c.control
	}
	made, err := client.CreateTaskPushNotificationConfig(ctx, h.config(id))
	if err != nil {
		if !temporary(err) && ctx.Err() == nil && !c.expired(err) {
			c.w.violate(hookService, "%s: create: %v", h, err)
		}
		// Once more would put another in its place, with deliveries of its own.
		c.w.count.unknown.Add(1)
		h.lost()
		return
	}
	bound, over, ok := c.look(ctx, id)
	if !ok {
		h.lost()
		return
	}
	h.exists(made.ID, id, before, bound, over)
}

// look returns a task's generation, and whether it has ended.
func (c *hookClient) look(ctx context.Context, id string) (generation int64, over, ok bool) {
	ok = c.w.insist(ctx, "get task "+id, func() error {
		task, err := c.control.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err == nil {
			generation, over = task.Generation, task.Status.State.Terminal()
		}
		if c.expired(err) {
			over, err = true, nil
		}
		return err
	})
	return generation, over, ok
}

// finish stays until a task has ended.
func (c *hookClient) finish(ctx context.Context, id string) {
	for ctx.Err() == nil {
		if _, over, ok := c.look(ctx, id); over || !ok {
			return
		}
		for _, err := range c.control.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil && !temporary(err) && !errors.Is(err, a2a.ErrUnsupportedOperation) && ctx.Err() == nil {
				c.w.violate(hookService, "subscribe to task %s: %v", id, err)
			}
		}
	}
}

// deleteAll deletes the hooks that it is given, until ctx ends.
func (w *hookWorld) deleteAll(ctx context.Context) {
	cl := w.control(ctx)
	for {
		select {
		case h := <-w.deletes:
			h.mu.Lock()
			req := &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: h.task, ID: h.id}
			done := !h.deleted.IsZero()
			h.mu.Unlock()
			if !done && w.insist(ctx, "delete "+h.String(), func() error { return cl.DeleteTaskPushNotificationConfig(ctx, req) }) {
				h.mu.Lock()
				h.deleted = time.Now()
				h.mu.Unlock()
			}
		case <-ctx.Done():
			return
		}
	}
}
