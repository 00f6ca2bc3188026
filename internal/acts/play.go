package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// player runs one test on one interface.
type player struct {
	*runner
	*job

	captured map[string]obj // by step: its captures, and its response
	answers  map[string]*Answer
	order    []*Answer
	hooks    map[string]*hook
	kept     kept
	tasks    map[string]bool // ids of tasks in this test
	depth    int             // of variables that refer to others
}

// play runs the fixtures and the steps of the test.
func (p *player) play(ctx context.Context) error {
	defer p.end()
	for _, name := range p.given() {
		if err := p.steps(ctx, p.doc.Fixtures[name], name); err != nil {
			if f, ok := errors.AsType[*Failure](err); ok {
				return &errSkip{fmt.Sprintf("not tested: it needs %s, and %s", name, f.Message)}
			}
			return err
		}
	}
	if err := p.steps(ctx, p.test.Steps, ""); err != nil {
		return err
	}
	for _, a := range p.test.Assertions {
		if err := p.assert(a, "", nil); err != nil {
			return err
		}
	}
	return nil
}

// given returns the fixtures that run first: those that show whether the agent has the behavior
// that a test requires, and those that the test names.
func (p *player) given() (names []string) {
	for _, name := range p.test.Behaviors {
		if p.doc.Fixtures[name] != nil {
			names = append(names, name)
		}
	}
	return append(names, p.test.Given...)
}

// end closes what is open, and checks streams and deliveries.
func (p *player) end() {
	for _, a := range p.order {
		if a.stream == nil {
			continue
		}
		a.stream.close()
		a.checkStream()
	}
	p.kept.over()
	for _, h := range p.hooks {
		h.mu.Lock()
		got := h.got
		h.got = nil // the receiver lives longer
		h.mu.Unlock()
		for _, d := range got {
			a := newAnswer(p.iface, "webhook")
			a.exchange.Request = d.shown()
			a.checkDelivery(d, p.tasks)
		}
	}
}

func (p *player) hook(name string) *hook {
	h := p.hooks[name]
	if h == nil {
		h = p.rec.add(&p.kept)
		p.hooks[name] = h
	}
	return h
}

func (p *player) steps(ctx context.Context, list []*Step, fixture string) error {
	for _, s := range list {
		if len(s.Only) > 0 && !slices.Contains(s.Only, p.iface.binding) {
			continue
		}
		name := s.ID
		if fixture != "" {
			name = fixture
		}
		if err := p.step(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

// step takes one step, and repeats it if it says so. Its captures are stored under name.
func (p *player) step(ctx context.Context, s *Step, name string) error {
	if err := wake.Pause(ctx, s.Delay); err != nil {
		return err
	}
	attempts := 1
	if s.Repeat != nil {
		attempts = max(1, s.Repeat.Attempts)
	}
	for n := range attempts {
		err := p.once(ctx, s, name)
		if err != nil || s.Repeat == nil {
			return err
		}
		u, err := parseUntil(s.Repeat.Until)
		if err != nil {
			return err
		}
		if u.holds(p.captured[name]["response"]) {
			return nil
		}
		d := s.Repeat.Delay
		switch s.Repeat.Backoff {
		case "linear":
			d *= time.Duration(n + 1)
		case "exponential":
			d <<= min(n, 10)
		}
		if n+1 < attempts {
			if err := wake.Pause(ctx, d); err != nil {
				return err
			}
		}
	}
	f := p.fail(s.ID, &Mismatch{})
	f.Message = fmt.Sprintf("after %d attempts it was still not so that %s", attempts, s.Repeat.Until)
	return f
}

func (p *player) once(ctx context.Context, s *Step, name string) error {
	a, err := p.take(ctx, s)
	if err != nil || a == nil {
		return err
	}
	if errors.Is(a.broken, errInexpressible) {
		return &errSkip{"does not apply: " + a.broken.Error()}
	}
	if a.broken != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	response, vars := a.content(), p.captured[name]
	if vars == nil {
		vars = obj{}
		p.captured[name] = vars
	}
	vars["response"] = response
	if err := p.judge(s, a); err != nil {
		if _, ok := errors.AsType[*Failure](err); ok && s.Auth == "" && !p.o.Credentials.given() && a.err != nil && a.err.is("AuthenticationError") {
			return &errSkip{AsksForCredentials}
		}
		return err
	}
	for _, c := range s.Capture {
		v, ok := lookup(response, c.Path)
		if !ok {
			return p.fail(s.ID, &Mismatch{c.Path, "a value to go on with", a.said()})
		}
		vars[c.Name] = v
	}
	p.learn(response)
	for _, x := range s.Assertions {
		if err := p.assert(x, s.ID, response); err != nil {
			return err
		}
	}
	return nil
}

// learn remembers the ids of tasks.
func (p *player) learn(v any) {
	for _, at := range []string{"task.id", "id", "events[0].task.id", "events[0].statusUpdate.taskId"} {
		if id, ok := lookup(v, at); ok {
			p.tasks[plainText(id)] = true
		}
	}
}
