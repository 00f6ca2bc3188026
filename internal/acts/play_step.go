package acts

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// take executes a step. A nil Answer means that there is nothing to check.
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

// ask makes a request and waits for its answer, or for the events of a stream that the step
// needs.
func (p *player) ask(ctx context.Context, s *Step) (*Answer, error) {
	r, err := p.request(s)
	if err != nil {
		return nil, err
	}
	if s.Raw != nil && p.iface.binding == GRPC {
		return nil, &errSkip{"does not apply: a request by hand is for HTTP"}
	}
	call, cancel := context.WithTimeout(ctx, p.o.timeout())
	defer cancel()
	var a *Answer
	if s.Operation == "get_agent_card" {
		a = fetchCard(call, p.o.Client, p.target.cardURL, r.header, r.kept)
	} else {
		// A stream lives longer than the call that opens it.
		long, stop := context.WithCancel(ctx)
		release := context.AfterFunc(call, stop)
		a = p.iface.caller.call(long, r)
		release()
		if a.stream == nil {
			stop()
		}
	}
	if call.Err() != nil && ctx.Err() == nil && a.broken != nil {
		a.broken = fmt.Errorf("there was no answer within %s", p.o.timeout())
	}
	p.answers[s.ID] = a
	p.order = append(p.order, a)
	if a.stream != nil {
		return a, p.events(ctx, s, a, s.Open)
	}
	return a, nil
}

// events waits for n events of a stream; if n is 0, for its end.
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
		return p.fail(s.ID, &Mismatch{"", "the end of the stream", fmt.Sprintf("a stream that is open after %s, with %d events", limit, len(a.stream.seen()))})
	}
	if a.stream.end() != nil {
		return p.fail(s.ID, &Mismatch{"events", fmt.Sprintf("%d events or more", n), fmt.Sprintf("the end of the stream after %d", len(a.stream.seen()))})
	}
	return p.fail(s.ID, &Mismatch{"events", fmt.Sprintf("%d events or more", n), fmt.Sprintf("%d within %s", len(a.stream.seen()), limit)})
}

// read continues with a stream that an earlier step left open.
func (p *player) read(ctx context.Context, s *Step) (*Answer, error) {
	a := p.answers[s.Read]
	if a == nil || a.stream == nil {
		said := "there is none"
		if a != nil {
			said = a.said()
		}
		return nil, p.fail(s.ID, &Mismatch{"", "the stream of step " + s.Read, said})
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
		lines = append(lines, d.shown()...)
	}
	a := newAnswer(p.iface, "webhook")
	a.status, a.value, a.exchange.Request = http.StatusOK, obj{"deliveries": list}, lines
	p.order = append(p.order, a)
	if !ok {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		want := fmt.Sprintf("%d deliveries to the webhook", s.Wait.Min)
		if s.Wait.End {
			want = "a delivery to the webhook that says how the task ended"
		}
		return nil, p.fail(s.ID, &Mismatch{"", want, fmt.Sprintf("%d deliveries within %s", len(got), p.o.timeout())})
	}
	return a, nil
}
