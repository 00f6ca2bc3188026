package httpagent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/parley-a2a/parley/internal/wire"
)

// stream emits the events of an answer as they come, until one ends it. If it breaks
// off before that, the request is repeated: from the last event on if events have ids,
// otherwise from the start, and artifacts are then written anew.
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
		clock.Stop() // emitting may be delayed, as by a full disk, and the service is not to blame
		switch {
		case errors.Is(err, wire.ErrEventTooLarge):
			return record{}, bad("event %d is larger than the limit of %d bytes", n, p.a.opts.maxAnswer())
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
		default: // no request can carry this id, and resuming from an earlier one would repeat this event
			p.last, p.circles = "", true
		}
	}
}

// cut returns the error for a stream that ended too early. began is the id of the event
// after which it began.
func (p *poster) cut(ctx context.Context, err error, began string) error {
	err = p.lost(ctx, err, "the service's stream ended before its last event")
	if once, ok := errors.AsType[*again](err); ok {
		once.moved = p.last != began && !p.circles
	}
	return err
}

// counted is a body that counts its bytes and resets the idle timer when some arrive.
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
