package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Failure is what was wrong in a test.
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

	captured map[string]any // by step: what it captured, and its response
	answers  map[string]*Answer
	order    []*Answer
	hooks    map[string]*hook
	tasks    map[string]bool // ids that this test met
}

// errSkip says that a test does not apply.
type errSkip struct{ reason string }

func (e *errSkip) Error() string { return e.reason }

// play runs the steps. The error is a *errSkip, a *failed or one of the runner's own.
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

// given returns the fixtures to begin with: those that show whether the agent has the
// behavior that a test asks for, and those that the test names.
func (p *player) given() (names []string) {
	for _, name := range p.test.Behaviors {
		if p.doc.Fixtures[name] != nil {
			names = append(names, name)
		}
	}
	return append(names, p.test.Given...)
}

// failed is a test that did not pass.
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

// end closes what is open, and has streams and deliveries looked at.
func (p *player) end() {
	for _, a := range p.order {
		if a.stream == nil {
			continue
		}
		a.stream.close()
		p.o.watch.streamed(p.i, a, a.id)
	}
	for _, h := range p.hooks {
		h.mu.Lock()
		got := slices.Clone(h.got)
		h.mu.Unlock()
		for _, d := range got {
			a := &Answer{exchange: &Exchange{Binding: p.i.binding, Version: p.i.version, Operation: "webhook", Request: d.shown(p.o)}}
			p.o.watch.delivered(p.i, a, d, p.tasks)
		}
	}
}

func (p *player) hook(name string) *hook {
	h := p.hooks[name]
	if h == nil {
		h = p.rec.add()
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

// step takes one step, again if it says so. It captures under a name.
func (p *player) step(ctx context.Context, s *Step, name string) error {
	if err := pause(ctx, s.Delay); err != nil {
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
			if err := pause(ctx, d); err != nil {
				return err
			}
		}
	}
	return p.fail(s.ID, nil, "after %d attempts it was still not so that %s", attempts, s.Repeat.Until)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

// take does what a step says. A nil Answer says that there is nothing to judge.
func (p *player) take(ctx context.Context, s *Step) (*Answer, error) {
	switch {
	case s.Client:
		return nil, &errSkip{"it tests a client, and this runner judges agents"}
	case s.Read != "":
		return p.read(ctx, s)
	case s.Close != "":
		if a := p.answers[s.Close]; a != nil && a.stream != nil {
			a.stream.close()
		}
		return nil, nil
	case s.Wait != nil:
		return p.await(ctx, s)
	case s.Operation == "" && s.Raw == nil:
		for _, x := range s.Assertions {
			if err := p.assert(x, s.ID, nil); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return p.ask(ctx, s)
}

// ask makes a request and waits for its answer, of a stream for what the step wants of it.
func (p *player) ask(ctx context.Context, s *Step) (*Answer, error) {
	h, err := p.headers(s)
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, p.o.timeout())
	defer cancel()
	var a *Answer
	switch {
	case s.Operation == "get_agent_card":
		h.Del("Content-Type")
		a = fetchCard(call, p.o, p.target.cardURL, h)
	default:
		r := &request{op: s.Operation, header: h}
		if s.Raw != nil {
			if r.raw, err = p.raw(s.Raw, h); err != nil {
				return nil, err
			}
		} else if r.params, err = p.params(s); err != nil {
			return nil, err
		}
		if p.i.binding == GRPC && r.raw != nil {
			return nil, &errSkip{"does not apply: a request by hand is for HTTP"}
		}
		// A stream lives longer than the call that opens it.
		long, stop := context.WithCancel(ctx)
		release := context.AfterFunc(call, stop)
		a = p.i.caller.call(long, r)
		release()
		if a.stream == nil {
			stop()
		}
	}
	if call.Err() != nil && ctx.Err() == nil && a.broken != nil {
		a.broken = fmt.Errorf("there was no answer within %s", p.o.timeout())
	}
	p.answers[s.ID] = a
	if a.exchange != nil {
		p.order = append(p.order, a)
	}
	if a.stream != nil {
		return a, p.events(ctx, s, a, s.Open)
	}
	return a, nil
}

// events waits for so many events of a stream; 0: for its end.
func (p *player) events(ctx context.Context, s *Step, a *Answer, n int) error {
	limit := p.o.timeout()
	if ms, ok := s.Stream["timeout_ms"].(float64); ok {
		limit = time.Duration(ms) * time.Millisecond
	}
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ok := a.stream.wait(call, func(events []*StreamEvent, ended bool) bool {
		return n > 0 && len(events) >= n || n == 0 && ended
	})
	switch {
	case ok:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case n == 0:
		return p.fail(s.ID, &Mismatch{"", "the end of the stream", fmt.Sprintf("a stream that is open after %s, with %d events", limit, len(a.stream.seen()))}, "")
	}
	if ended, _ := a.stream.over(); ended {
		return p.fail(s.ID, &Mismatch{"events", fmt.Sprintf("%d events or more", n), fmt.Sprintf("the end of the stream after %d", len(a.stream.seen()))}, "")
	}
	return p.fail(s.ID, &Mismatch{"events", fmt.Sprintf("%d events or more", n), fmt.Sprintf("%d within %s", len(a.stream.seen()), limit)}, "")
}

// read goes on with a stream that a step before has left open.
func (p *player) read(ctx context.Context, s *Step) (*Answer, error) {
	a := p.answers[s.Read]
	if a == nil || a.stream == nil {
		said := "there is none"
		if a != nil {
			said = a.said()
		}
		return nil, p.fail(s.ID, &Mismatch{"", "the stream of step " + s.Read, said}, "")
	}
	return a, p.events(ctx, s, a, s.Open)
}

// await waits for webhooks.
func (p *player) await(ctx context.Context, s *Step) (*Answer, error) {
	call, cancel := context.WithTimeout(ctx, p.o.timeout())
	defer cancel()
	got, ok := p.hook(s.Wait.Hook).wait(call, func(got []*delivery) bool {
		return len(got) >= s.Wait.Min && (!s.Wait.End || slices.ContainsFunc(got, func(d *delivery) bool { return terminal[d.state()] }))
	})
	list := []any{}
	var lines []string
	for _, d := range got {
		list = append(list, d.value())
		lines = append(lines, d.shown(p.o)...)
	}
	a := &Answer{op: "webhook", status: http.StatusOK, value: obj{"deliveries": list}, exchange: &Exchange{Binding: p.i.binding, Version: p.i.version, Operation: "webhook", Request: lines}}
	p.order = append(p.order, a)
	if !ok {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		want := fmt.Sprintf("%d deliveries to the webhook", s.Wait.Min)
		if s.Wait.End {
			want = "a delivery to the webhook that says how the task ended"
		}
		return nil, p.fail(s.ID, &Mismatch{"", want, fmt.Sprintf("%d deliveries within %s", len(got), p.o.timeout())}, "")
	}
	return a, nil
}

// headers are the service parameters and credentials of a step.
func (p *player) headers(s *Step) (http.Header, error) {
	h := http.Header{}
	if p.i.version == "1.0" {
		h.Set("A2A-Version", p.i.version)
	}
	if uris := p.target.extensions(true); len(uris) > 0 {
		name := "A2A-Extensions"
		if p.i.version != "1.0" {
			name = "X-A2A-Extensions"
		}
		h.Set(name, strings.Join(uris, ", "))
	}
	switch s.Auth {
	case "":
		p.o.Credentials.apply(h, p.target.card)
	case "other":
		if !p.o.Other.given() {
			return nil, &errSkip{"needs credentials of a second caller"}
		}
		p.o.Other.apply(h, p.target.card)
	case "wrong":
		wrong := p.o.Credentials.wrong()
		wrong.apply(h, p.target.card)
	}
	set := s.Headers
	if s.Raw != nil {
		for name := range h {
			if name != "Authorization" && !strings.HasSuffix(name, "-Extensions") && name != "Cookie" && len(p.o.Credentials.Header[name]) == 0 && name != "X-Api-Key" {
				h.Del(name) // a request by hand says what it has
			}
		}
		set = s.Raw.Headers
	}
	for name, v := range set {
		r, err := p.resolve(v)
		if err != nil {
			return nil, p.cannot(err)
		}
		switch r := r.(type) {
		case nil:
			h.Del(name)
		case []any:
			h.Del(name)
			for _, x := range r {
				h.Add(name, plainText(x))
			}
		default:
			h.Set(name, plainText(r))
		}
	}
	return h, nil
}

// cannot makes a skip of a reference that leads nowhere: somebody has to give a value.
func (p *player) cannot(err error) error {
	var u *unresolved
	if errors.As(err, &u) && !strings.Contains(u.name, ".") {
		return &errSkip{fmt.Sprintf("needs a value for %s: --var %s=VALUE", u.name, u.name)}
	}
	return err
}

// params are what an operation is asked with; a message without an id gets one (ACTS §12.4).
func (p *player) params(s *Step) (obj, error) {
	v, err := p.resolve(any(s.Params))
	if err != nil {
		return nil, p.cannot(err)
	}
	params, _ := v.(obj)
	if params == nil {
		params = obj{}
	}
	if m, ok := params["message"].(obj); ok {
		if _, ok := m["messageId"]; !ok {
			m["messageId"] = newID()
		} else if m["messageId"] == nil {
			delete(m, "messageId")
		}
	}
	return params, nil
}

// raw is a request by hand. Its path stands behind the interface's address; / is that
// address itself.
func (p *player) raw(r *RawRequest, h http.Header) (*rawCall, error) {
	v, err := p.resolve(r.Path)
	if err != nil {
		return nil, p.cannot(err)
	}
	at := plainText(v)
	if !strings.Contains(at, "://") {
		base := strings.TrimSuffix(p.i.url, "/")
		switch {
		case strings.HasPrefix(at, "/.well-known/"):
			u, err := url.Parse(p.target.cardURL)
			if err != nil {
				return nil, err
			}
			at = u.Scheme + "://" + u.Host + at
		case at == "/" && p.i.binding == JSONRPC:
			at = p.i.url
		case strings.HasPrefix(at, "/?") && p.i.binding == JSONRPC:
			at = p.i.url + at[1:]
		default:
			at = base + at
		}
	}
	call := &rawCall{method: r.Method, url: at}
	switch {
	case r.BodyRaw != nil:
		text, err := p.resolveText(*r.BodyRaw)
		if err != nil {
			return nil, p.cannot(err)
		}
		call.body = []byte(plainText(text))
	case r.Body != nil:
		v, err := p.resolve(r.Body)
		if err != nil {
			return nil, p.cannot(err)
		}
		if call.body, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return call, nil
}
