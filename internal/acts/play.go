package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// Failure says why a test failed.
type Failure struct {
	Step      string      `json:"step,omitempty"`
	Message   string      `json:"message"`
	Exchanges []*Exchange `json:"exchanges,omitempty"` // the last ones
	Mismatch  `json:"mismatch,omitzero"`
}

// player runs one test on one interface.
type player struct {
	o      *Options
	target *target
	rec    *receiver
	i      *iface
	doc    *Document
	test   *Test

	captured map[string]any // by step: its captures, and its response
	answers  map[string]*Answer
	order    []*Answer
	hooks    map[string]*hook
	kept     kept
	tasks    map[string]bool // ids of tasks in this test
	depth    int             // of variables that refer to others
}

// AsksForCredentials is the reason to skip a test if the agent refused its request for lack of
// credentials.
const AsksForCredentials = "the agent asks for credentials: give them with --bearer, --api-key or --basic"

// errSkip says that a test does not apply.
type errSkip struct{ reason string }

func (e *errSkip) Error() string { return e.reason }

// play runs the steps. The error is a *errSkip, a *failed or an error of the runner itself.
func (p *player) play(ctx context.Context) error {
	defer p.end()
	for _, name := range p.given() {
		if err := p.steps(ctx, p.doc.Fixtures[name], name); err != nil {
			var f *failed
			if errors.As(err, &f) {
				return &errSkip{fmt.Sprintf("not tested: it needs %s, and %s", name, f.failure.Message)}
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

// failed is the error of a test that failed.
type failed struct{ failure *Failure }

func (f *failed) Error() string { return f.failure.Message }

func (p *player) fail(step string, m *Mismatch, format string, args ...any) error {
	f := &Failure{Step: step, Message: fmt.Sprintf(format, args...)}
	if m != nil {
		f.Mismatch = *m
		if f.Message == "" {
			f.Message = m.String()
		}
	}
	for _, a := range p.order[max(0, len(p.order)-2):] {
		f.Exchanges = append(f.Exchanges, a.shown())
	}
	return &failed{f}
}

// end closes what is open, and checks streams and deliveries.
func (p *player) end() {
	for _, a := range p.order {
		if a.stream == nil {
			continue
		}
		a.stream.close()
		p.o.watch.streamed(p.i, a, a.id)
	}
	p.kept.over()
	for _, h := range p.hooks {
		h.mu.Lock()
		got := h.got
		h.got = nil // the receiver lives longer
		h.mu.Unlock()
		for _, d := range got {
			a := &Answer{exchange: &Exchange{Binding: p.i.binding, Version: p.i.version, Operation: "webhook", Request: d.shown()}}
			p.o.watch.delivered(p.i, a, d, p.tasks)
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
		if len(s.Only) > 0 && !slices.Contains(s.Only, p.i.binding) {
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
		if response, _ := lookup(p.captured[name], "response"); u.holds(response) {
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
	return p.fail(s.ID, nil, "after %d attempts it was still not so that %s", attempts, s.Repeat.Until)
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
	response := a.root()
	if s.Raw != nil {
		response = a.unread()
	}
	vars := obj{"response": response}
	before, _ := p.captured[name].(obj)
	for k, v := range before {
		if k != "response" {
			vars[k] = v
		}
	}
	p.captured[name] = vars
	if err := p.judge(s, a); err != nil {
		var f *failed
		if errors.As(err, &f) && s.Auth == "" && !p.o.Credentials.given() && a.err != nil && a.err.is("AuthenticationError") {
			return &errSkip{AsksForCredentials}
		}
		return err
	}
	for _, c := range s.Capture {
		v, ok := lookup(response, c.Path)
		if !ok {
			return p.fail(s.ID, &Mismatch{c.Path, "a value to go on with", a.said()}, "")
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
