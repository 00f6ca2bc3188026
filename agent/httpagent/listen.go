package httpagent

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/agent"
)

// accepted handles a 202: the answer comes by callbacks.
func (p *poster) accepted(res *http.Response) (record, error) {
	if p.a.opts.Callbacks == nil {
		return record{}, bad("the service answered with status 202, but it has no address to call back")
	}
	rec := record{Accepted: true, Key: p.x.key}
	if at, err := res.Location(); err == nil {
		if at.Scheme != p.a.url.Scheme || at.Host != p.a.url.Host || len(at.String()) > 2<<10 {
			p.log.Warn("the service's Location is ignored: it leads to another host, or is too long")
		} else {
			at.User = nil // credentials do not belong in the record
			rec.Location = at.String()
		}
	}
	return rec, p.t.Status("")
}

// heard is a callback in the record. A callback that ends an exchange is recorded in
// full, so that it need not be sent again; of the others only their arrival is
// recorded.
type heard struct {
	ID    string `json:"id,omitempty"`
	End   *event `json:"end,omitempty"`
	Chunk *chunk `json:"chunk,omitempty"`
}

// chunk describes a chunk of an artifact, to tell whether it was written before the
// process was lost.
type chunk struct {
	Name   string `json:"name"`
	Before int    `json:"before"`          // parts of the artifact before it
	Parts  int    `json:"parts,omitempty"` // if the artifact begins with the chunk: the number of its parts
	Digest string `json:"digest,omitempty"`
}

// maxHeard is how many callbacks of an exchange are recorded.
const maxHeard = 100_000

// listener handles the callbacks of one exchange.
type listener struct {
	*run
	inbox *inbox
	seen  map[string]bool // ids
	doubt *heard          // recorded by an earlier run, which may have been lost before emitting it
	live  *call           // recorded by this run, and not answered yet
	count int
}

// listen handles callbacks until one of them ends the exchange. Its results are those
// of ask.
func (r *run) listen(ctx context.Context, in *inbox) (*event, error) {
	l := &listener{run: r, inbox: in, seen: map[string]bool{}}
	defer l.told(later) // if a call is left
	return l.hear(ctx)
}

func (l *listener) hear(ctx context.Context) (*event, error) {
	for {
		l.live = nil
		h, err := agent.Step(ctx, l.t, "callback", l.next)
		if err != nil {
			return nil, err
		}
		if l.count++; l.count > maxHeard {
			return nil, agent.Public("the service called back too often", nil)
		}
		if h.ID != "" {
			l.seen[h.ID] = true
		}
		ev := h.End
		if l.live != nil {
			ev = l.live.ev
		} else if err := l.recall(&h); err != nil {
			return nil, err
		}
		if ev == nil {
			continue
		}
		if ev.asks() {
			if err := l.t.Sync(ctx); err != nil {
				return nil, err
			}
			l.told(taken)
			return ev, nil
		}
		over, err := l.speak(ctx, ev)
		if over || err != nil {
			return nil, err
		}
	}
}

// recall restores the state in which an earlier run was when it had recorded h.
func (l *listener) recall(h *heard) error {
	l.doubt = h
	if h.Chunk == nil {
		return nil
	}
	a, err := l.artifacts.get(h.Chunk.Name)
	if err != nil {
		return err
	}
	a.w.Resume()
	a.begun = true // next corrects it if that is in doubt
	return nil
}

// next waits for a callback that must be recorded. It emits at once those without an id
// that neither begin an artifact nor end the exchange.
func (l *listener) next(ctx context.Context) (heard, error) {
	if d := l.doubt; d != nil {
		// If it was not emitted, the service got no reply and sends it again. A status
		// may be emitted twice.
		l.doubt = nil
		if d.Chunk == nil || !l.artifacts.wrote(d.Chunk) {
			delete(l.seen, d.ID)
		}
	}
	if l.inbox == nil { // callbacks were configured when the service answered with 202, but no longer are
		return heard{}, agent.Public("the service cannot call back any more", nil)
	}
	clock := time.NewTimer(l.a.opts.callbackWait())
	defer clock.Stop()
	for {
		select {
		case l.live = <-l.inbox.calls:
		case <-clock.C:
			return heard{}, agent.Public("the service did not call back in time", nil)
		case <-ctx.Done():
			return heard{}, context.Cause(ctx)
		}
		clock.Reset(l.a.opts.callbackWait())
		if err := l.room.take(l.live.size); err != nil {
			return heard{}, err
		}
		ev := l.live.ev
		h := heard{ID: ev.ID}
		switch {
		case ev.ID != "" && l.seen[ev.ID]:
			l.told(taken)
			continue
		case ev.ends():
			h.End = ev
			return h, nil
		case ev.Type == "artifact" && (ev.ID != "" || l.artifacts.begins(ev)):
			c, err := l.artifacts.chunk(ev)
			if err != nil { // one artifact too many
				l.told(reply{http.StatusBadRequest, err.Error()})
				continue
			}
			h.Chunk = c
			return h, nil
		case ev.ID != "":
			return h, nil
		}
		if _, err := l.speak(ctx, ev); err != nil {
			return heard{}, err
		}
	}
}

// speak emits an event, of the live call or from the record, and answers the call.
func (l *listener) speak(ctx context.Context, ev *event) (over bool, err error) {
	over, err = l.say(ctx, ev)
	if b, ok := errors.AsType[badAnswer](err); ok {
		delete(l.seen, ev.ID)
		l.told(reply{http.StatusBadRequest, b.Error()}) // the service's author can fix it
		return false, nil
	}
	if err == nil {
		err = l.t.Sync(ctx) // so that even the task's end is durable before the call is answered
	}
	if err != nil {
		return over, err
	}
	l.told(taken)
	return over, nil
}

func (l *listener) told(r reply) {
	if l.live != nil {
		l.live.answer <- r
		l.live = nil
	}
}

// stopTime limits the time of the request that tells a service to stop.
const stopTime = 5 * time.Second

// stop tells the service that its answer is no longer needed.
func (r *run) stop(ctx context.Context, location string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, location, nil)
	if err != nil {
		return
	}
	req.URL.User = r.a.url.User
	for name, value := range r.a.opts.Headers {
		req.Header.Set(name, value.Reveal())
	}
	res, err := r.a.client.Do(req)
	if err != nil {
		r.log.Warn("the service could not be told to stop", "error", bare(err))
		return
	}
	res.Body.Close()
	if res.StatusCode/100 != 2 && res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusGone {
		r.log.Warn("the service refused the request to stop", "status", res.StatusCode)
	}
}
