package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Times of streams of fragments, and how many there may be.
const (
	writeTime = 30 * time.Second // for one event
	keepAlive = 15 * time.Second
	recheck   = 3 * time.Second // of whom the stream is for

	maxStreams       = 2000
	maxStreamsOfEach = 64 // viewers who log in with the same key are one
)

// streams counts those that are open.
type streams struct {
	mu  sync.Mutex // protects the fields below
	all int
	of  map[string]int
}

func (s *streams) enter(who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.of[who] >= maxStreamsOfEach {
		return false
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[who]++
	return true
}

func (s *streams) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[who]--; s.of[who] == 0 {
		delete(s.of, who)
	}
}

// stream begins a stream for a viewer, and tends it: what is silent gets comments, and
// once the viewer's session has ended the page is sent away. The request's context ends
// with it. nil: there are too many, which is answered. The caller calls end, which
// waits.
func (c *Console) stream(w http.ResponseWriter, r *request) (out *eventStream, end func()) {
	if !c.streams.enter(r.viewer.Subject) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "there are too many open pages", http.StatusServiceUnavailable)
		return nil, nil
	}
	out = newEventStream(w)
	ctx, cancel := context.WithCancel(r.ctx)
	r.ctx = ctx
	var work sync.WaitGroup
	work.Go(func() {
		quiet, check := time.NewTicker(keepAlive), time.NewTicker(recheck)
		defer quiet.Stop()
		defer check.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-quiet.C:
				if out.comment() != nil {
					cancel()
				}
			case <-check.C:
				if s, _, err := c.session(r.Request); (s == nil || err != nil) && ctx.Err() == nil {
					_ = out.send("gone", 0, "") // or the browser comes again, and is told then
					cancel()
				}
			}
		}
	})
	return out, func() {
		cancel()
		work.Wait()
		c.streams.leave(r.viewer.Subject)
	}
}

// eventStream writes events to a browser.
type eventStream struct {
	mu sync.Mutex // held for a write
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newEventStream(w http.ResponseWriter) *eventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &eventStream{w: w, rc: http.NewResponseController(w)}
}

// send writes one event. A line of data ends where a line of its text does; the
// browser puts them together again.
func (s *eventStream) send(event string, id int64, data string) error {
	name := ""
	if id > 0 {
		name = strconv.FormatInt(id, 10)
	}
	return s.sendID(event, name, data)
}

func (s *eventStream) sendID(event, id, data string) error {
	var b strings.Builder
	if event != "" {
		b.WriteString("event: " + event + "\n")
	}
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	for line := range strings.SplitSeq(data, "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return s.write(b.String())
}

func (s *eventStream) comment() error { return s.write(": \n\n") }

func (s *eventStream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTime)) // writers of tests have none
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

// paced writes a long answer, each write with a deadline.
type paced struct{ to *eventStream }

func (p *paced) Write(b []byte) (int, error) {
	if err := p.to.write(string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// live streams what follows in a task's conversation behind a position. What came
// before is read first, without being sent: where its last text ends is known only
// from it.
func (c *Console) live(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	id := r.PathValue("task")
	if a == nil {
		http.Error(w, "there is no such agent", http.StatusNotFound)
		return
	}
	after, err := position(r.Header.Get("Last-Event-ID"), r.FormValue("after"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, end := c.stream(w, r)
	if out == nil {
		return
	}
	defer end()
	var to fragments
	f := newFlow(&to, taskAddress(r.Request, a.key(), id), id, r.csrf)
	begun := false
	for batch, err := range c.opts.Log(r.ctx, a.Name, id, 0, true) {
		if err != nil {
			if !begun {
				c.failed(w, r, err)
			}
			return // the browser comes again, and goes on
		}
		if !begun {
			begun = true
			if out.write("retry: 500\n\n") != nil {
				return
			}
		}
		for len(batch) > 0 && batch[0].Seq <= after {
			n := 0
			for n < len(batch) && batch[n].Seq <= after {
				n++
			}
			f.add(batch[:n])
			to.take()
			batch = batch[n:]
		}
		if len(batch) == 0 {
			if out.comment() != nil {
				return
			}
			continue
		}
		f.add(batch)
		if out.send("", f.seq, to.take()) != nil {
			return
		}
	}
	if r.ctx.Err() == nil && f.state.Terminal() {
		_ = out.send("end", 0, "") // it is over either way
	}
}

// position is where a browser left off: what it sends by itself counts.
func position(last, after string) (int64, error) {
	if last == "" {
		last = after
	}
	if last == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("after: %q is no position: expected a number of 0 or more", last)
	}
	return n, nil
}
