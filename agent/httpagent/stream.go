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
	events := p.events(cancel, body)
	for n := 1; ; n++ {
		in, err := events.next()
		if err != nil {
			err = p.broken(ctx, err, n)
			if once, ok := errors.AsType[*again](err); ok {
				once.moved = p.last != began && !p.circles
			}
			return record{}, err
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

// broken returns the error that follows from an error of a stream before its n-th event.
func (p *poster) broken(ctx context.Context, err error, n int) error {
	switch {
	case errors.Is(err, wire.ErrEventTooLarge):
		return bad("event %d is larger than the limit of %d bytes", n, p.a.opts.maxAnswer())
	case errors.Is(err, errTooMuch):
		return err
	}
	return p.lost(ctx, err, "the service's stream ended before its last event")
}

// events are the events of a stream. Its bytes are counted, and start the clock over.
type events struct {
	in    *wire.Reader
	body  io.Reader
	clock *time.Timer // ends the request when the service is silent for too long
	idle  time.Duration
	room  *room
}

func (p *poster) events(cancel context.CancelCauseFunc, body io.Reader) *events {
	es := &events{body: body, idle: p.a.opts.idle(), room: &p.room}
	es.clock = time.AfterFunc(es.idle, func() { cancel(errIdle) })
	es.in = wire.NewReader(es, int(p.a.opts.maxAnswer()))
	return es
}

func (es *events) next() (wire.Event, error) {
	es.clock.Reset(es.idle)
	defer es.clock.Stop() // emitting may be delayed, as by a full disk, and the service is not to blame
	return es.in.Next()
}

// Read reads the body.
func (es *events) Read(b []byte) (int, error) {
	n, err := es.body.Read(b)
	if n > 0 {
		es.clock.Reset(es.idle)
		if err := es.room.take(n); err != nil {
			return 0, err
		}
	}
	return n, err
}
