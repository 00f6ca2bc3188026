package httpagent

import (
	"context"
	"errors"
	"io"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// A service with a format of its own does not send the events of event.go.
// Options.Answer says where its answer is.

// found returns the answer in the body of a response.
func (p *poster) found(body []byte) ([]*event, error) {
	part, err := p.a.answer.find(body)
	if part == nil || err != nil {
		p.log.Warn("the service's response has nothing at the configured path of the answer", "answer", p.a.opts.Answer, "got", p.a.shown(body))
		if err == nil {
			err = bad("it has nothing at the configured path of the answer")
		}
		return nil, err
	}
	ev := &event{Type: "reply", Parts: []*a2a.Part{part}}
	return []*event{ev}, ev.check()
}

// foreignStream emits the answers in the events of a stream as chunks of one artifact,
// until [DONE] or its end. A stream that breaks off is requested again from its start,
// because such services cannot resume one.
func (p *poster) foreignStream(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) (record, error) {
	p.artifacts.anew()
	events := p.events(cancel, body)
	for n, chunks := 1, 0; ; n++ {
		in, err := events.next()
		switch {
		case errors.Is(err, io.EOF), err == nil && string(in.Data) == "[DONE]":
			if chunks == 0 {
				p.log.Warn("the service's stream had nothing at the configured path of the answer", "answer", p.a.opts.Answer, "events", n-1)
				return record{}, bad("none of its events has anything at the configured path of the answer")
			}
			return p.all(ctx, []*event{{Type: "complete"}})
		case err != nil:
			return record{}, p.broken(ctx, err, n)
		}
		part, err := p.a.answer.find(in.Data)
		switch {
		case err != nil:
			p.log.Warn("an event of the service cannot be read", "event", n, "got", p.a.shown(in.Data))
			return record{}, bad("event %d: %s", n, err)
		case in.Name == "error", part == nil && follow(in.Data, []step{{name: "error"}}) != nil:
			return record{}, agent.Public("the service ended its answer with an error", errors.New(p.a.shown(in.Data)))
		case part == nil || part.Kind == a2a.PartText && part.Text == "":
			continue
		}
		ev := &event{Type: "artifact", Name: "output", Parts: []*a2a.Part{part}}
		if err := ev.check(); err != nil {
			return record{}, bad("event %d: %s", n, err)
		}
		chunks++
		if _, err := p.say(ctx, ev); err != nil {
			return record{}, err
		}
	}
}
