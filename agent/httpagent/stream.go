package httpagent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/parley-a2a/parley/internal/wire"
)

// stream says the events of an answer as they come, until one ends it. Where it
// breaks off before, the request is made again: from the last event on if events
// have ids, else from the top, and what was said of artifacts is said anew.
func (p *poster) stream(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) (record, error) {
	began := p.last
	if began == "" {
		p.artifacts.anew()
	}
	idle := p.a.opts.idle()
	clock := time.AfterFunc(idle, func() { cancel(errIdle) })
	defer clock.Stop()
	events := wire.NewReader(&counted{body, clock, idle, &p.room}, int(p.a.opts.maxAnswer()))
	for n := 1; ; n++ {
		clock.Reset(idle)
		in, err := events.Next()
		clock.Stop() // while the task takes it, which a full disk delays, the service is not heard
		switch {
		case errors.Is(err, wire.ErrEventTooLarge):
			return record{}, bad("event %d has more than the %d bytes it may have", n, p.a.opts.maxAnswer())
		case errors.Is(err, errTooMuch):
			return record{}, err
		case err != nil:
			return record{}, p.cut(ctx, err, began)
		}
		ev, err := parseEvent(in.Data, in.Name)
		if err != nil {
			return record{}, bad("event %d: %s", n, err)
		}
		if ev.asks() {
			return record{Asks: ev, Artifacts: p.artifacts.names}, nil
		}
		over, err := p.say(ctx, ev)
		if b, ok := errors.AsType[badAnswer](err); ok {
			return record{}, bad("event %d: %s", n, b)
		}
		if over || err != nil {
			return record{}, cmp.Or(err, errOver)
		}
		switch {
		case in.ID == "":
		case len(in.ID) <= maxID && isHeader("Last-Event-ID", in.ID):
			p.last = in.ID
		default: // no request can have it: from an earlier one on, this event would come twice
			p.last, p.circles = "", true
		}
	}
}

// cut says what follows on a stream that ended too early. began is the event
// behind which it began.
func (p *poster) cut(ctx context.Context, err error, began string) error {
	err = p.lost(ctx, err, "the service's stream ended before its last event")
	if once, ok := errors.AsType[*again](err); ok {
		once.moved = p.last != began && !p.circles
	}
	return err
}

// counted is a body whose bytes are counted and break the silence.
type counted struct {
	r     io.Reader
	clock *time.Timer
	idle  time.Duration
	room  *room
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if n > 0 {
		c.clock.Reset(c.idle)
		if err := c.room.take(n); err != nil {
			return 0, err
		}
	}
	return n, err
}
