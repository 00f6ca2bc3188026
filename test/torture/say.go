package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// message makes the client's next message.
func (c *client) message(r *record, text string) *a2a.Message {
	m := &a2a.Message{
		MessageID: c.messageID(),
		Role:      a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}
	if c.rng.IntN(8) == 0 { // SQLite stores it in several commits
		m.Metadata = a2a.JSON(`{"padding":"` + strings.Repeat("x", 150_000+c.rng.IntN(300_000)) + `"}`)
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

func (c *client) messageID() string { return fmt.Sprintf("m-%d-%d-%d", c.w.o.Seed, c.n, c.sent.Add(1)) }

// sending is a message on its way, and how its sender goes about it.
type sending struct {
	m     *a2a.Message
	key   string // Idempotency-Key; "" without one
	way   int
	stays bool // repeats it until there is an answer
	again bool // it is a repeat
	svc   service
}

func (s *sending) request() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: s.m, IdempotencyKey: s.key}
}

// say sends a message in one of three ways, again as long as it is certain
// that it did not arrive; where the server knows repeats, most clients go on
// until they have an answer. It reports whether it is known to have arrived.
func (c *client) say(ctx context.Context, r *record, m *a2a.Message) bool {
	s := &sending{m: m, way: c.rng.IntN(4), svc: c.svc}
	if c.w.o.Retries && c.rng.IntN(5) > 0 {
		s.stays = true
		if c.rng.IntN(3) == 0 {
			s.key = "key of " + m.MessageID
		}
		if m == r.opening {
			r.key = s.key
		}
	}
	for {
		known, err := c.try(ctx, r, s)
		switch {
		case known || err == nil:
			if s.stays {
				r.isAnswered()
				c.insist(ctx, r, s)
			}
			return known
		case ctx.Err() != nil:
			return false
		case m.TaskID != "" && errors.Is(err, a2a.ErrUnsupportedOperation):
			r.refuses(m.MessageID)
			return false // the task has ended; finish looks
		case !temporary(err):
			r.violate(s.claim(), "sending %s (way %d, again %v): %v", s.m.MessageID, s.way, s.again, err)
			return false
		case unreachable(err):
			c.w.count.unreachable.Add(1)
			c.pause(ctx, 30*time.Millisecond)
		case !s.stays:
			c.w.count.unknown.Add(1)
			c.pause(ctx, 100*time.Millisecond)
			return false
		default:
			c.repeat(ctx, r, s)
			c.pause(ctx, time.Duration(c.rng.IntN(60))*time.Millisecond)
		}
	}
}

// claim is what an error breaks.
func (s *sending) claim() Claim {
	if s.again {
		return Repeats
	}
	return Service
}

// repeat makes s the same message once more: in the same words, but maybe in
// another way, by another binding, or, where it has a key, by another id.
func (c *client) repeat(ctx context.Context, r *record, s *sending) {
	c.w.count.repeats.Add(1)
	s.again, s.way, s.svc = true, c.rng.IntN(4), c.svc
	if c.rng.IntN(3) == 0 {
		s.svc = c.elsewhere(ctx)
	}
	if s.key != "" && c.rng.IntN(2) == 0 {
		s.m = c.renamed(r, s.m)
	}
}

// renamed is a message with another id.
func (c *client) renamed(r *record, m *a2a.Message) *a2a.Message {
	other := *m
	other.MessageID = c.messageID()
	r.mu.Lock()
	r.words[other.MessageID] = m.Text()
	r.alias[other.MessageID] = r.originLocked(m.MessageID)
	r.mu.Unlock()
	c.w.mu.Lock()
	c.w.byMessage[other.MessageID] = r
	c.w.mu.Unlock()
	return &other
}

// insist sends what was answered once more, now and then, and something else
// by the same name.
func (c *client) insist(ctx context.Context, r *record, s *sending) {
	if c.rng.IntN(6) == 0 {
		c.repeat(ctx, r, s)
		s.way = c.rng.IntN(2) * 3 // streaming, or with an answer at once
		for ctx.Err() == nil {
			known, err := c.try(ctx, r, s)
			if known || err == nil || ctx.Err() != nil {
				break
			}
			if !temporary(err) {
				// That it came too late for its task may be the answer, again.
				if s.m.TaskID == "" || !errors.Is(err, a2a.ErrUnsupportedOperation) {
					r.violate(Repeats, "repeating %s, which was answered (way %d): %v", s.m.MessageID, s.way, err)
				}
				break
			}
			c.pause(ctx, 30*time.Millisecond)
		}
	}
	if c.rng.IntN(8) == 0 && !(r.plan.kind == "auth" && s.m.TaskID != "") { // nobody knows what credentials said
		c.contradict(ctx, r, s)
	}
}

// contradict says something else by the name of a message that was answered.
func (c *client) contradict(ctx context.Context, r *record, s *sending) {
	lie := *s
	m := *s.m
	m.Parts = []*a2a.Part{a2a.TextPart(s.m.Text() + ", or not")}
	lie.m, lie.svc = &m, c.svc
	if c.rng.IntN(3) == 0 {
		lie.svc = c.elsewhere(ctx)
	}
	for ctx.Err() == nil {
		req := lie.request()
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		short, cancel := context.WithTimeoutCause(ctx, 4*c.patience, errStalled)
		_, err := lie.svc.SendMessage(short, req)
		cancel()
		switch {
		case errors.Is(err, a2a.ErrConflict):
			c.w.count.conflicts.Add(1)
			return
		case err == nil:
			r.violate(Repeats, "other words by the name of message %s were taken", m.MessageID)
			return
		case ctx.Err() != nil:
		case !temporary(err):
			r.violate(Repeats, "other words by the name of message %s: %v", m.MessageID, err)
			return
		}
		c.pause(ctx, 30*time.Millisecond)
	}
}

// try sends a message once. Without an error it has arrived, but only if it is
// known there is a task.
func (c *client) try(ctx context.Context, r *record, s *sending) (known bool, err error) {
	if s.way < 2 {
		return c.sayStreaming(ctx, r, s)
	}
	return c.sayBlocking(ctx, r, s, s.way == 3)
}

func (c *client) sayStreaming(ctx context.Context, r *record, s *sending) (known bool, err error) {
	seg := r.segment()
	if s.m.TaskID == "" && (r.first == nil || r.first.from == 0) {
		r.first = seg
	}
	ctx, alive, stop := c.patient(ctx)
	defer stop()
	leave := -1
	if c.rng.IntN(5) == 0 {
		leave = c.rng.IntN(8)
	}
	for el, err := range s.svc.SendStreamingMessage(following(ctx, seg), s.request()) {
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
			r.accepts(s.m.MessageID)
		}
		seg.takes(el)
		// Where an authorization is wanted the stream stays open: it may come
		// by another way.
		if leave--; leave == -1 || el.State() == a2a.TaskStateAuthRequired {
			break
		}
	}
	if !known {
		return false, errors.New("the stream had nothing in it")
	}
	return true, nil
}

func (c *client) sayBlocking(ctx context.Context, r *record, s *sending, immediately bool) (known bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*c.patience, errStalled)
	defer cancel()
	pos, taken := r.floor()
	req := s.request()
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: immediately}
	res, err := s.svc.SendMessage(ctx, req)
	if err != nil {
		return false, c.cut(ctx, r, "a send", err)
	}
	if res.Message != nil {
		r.answers(res.Message)
		return false, nil
	}
	r.begins(res.Task)
	r.sees("SendMessage", res.Task, pos, false, true, append(taken, r.accepts(s.m.MessageID)))
	if s := res.Task.Status.State; !immediately && !s.Terminal() && !s.Interrupted() {
		r.violate(Service, "a blocking send came back with %v", s)
	}
	return true, nil
}

// answer sends the answer to the agent's question, or two at once. It reports
// whether one of them is known to have arrived.
func (c *client) answer(ctx context.Context, r *record) bool {
	if !r.plan.twice {
		return c.say(ctx, r, c.message(r, r.plan.answer)) || c.answered(ctx, r)
	}
	second := c.twin(rand.NewPCG(c.rng.Uint64(), 0))
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
