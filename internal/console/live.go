package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
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

// maxLive is how many tasks one page follows.
const maxLive = 2 * maxTurns

// liveName names a task and a position of its log for live.
func liveName(agent, task string, after int64) string {
	return agent + "/" + url.PathEscape(task) + "@" + strconv.FormatInt(after, 10)
}

// followed is a task that a page follows.
type followed struct {
	agent *Agent
	id    string
	after int64
}

// follows reads which tasks a page follows and how far it has come: each task with the
// position that the page began with, and the positions of all of them, joined by dots,
// as the id of the last event has them.
func (c *Console) follows(r *request) ([]followed, error) {
	names := r.URL.Query()["task"]
	if len(names) == 0 || len(names) > maxLive {
		return nil, fmt.Errorf("task: %d are given: expected 1 to %d", len(names), maxLive)
	}
	last := r.Header.Get("Last-Event-ID")
	var come []string
	if last != "" {
		if come = strings.Split(last, "."); len(come) != len(names) {
			return nil, fmt.Errorf("Last-Event-ID: %.40q has %d positions: expected %d", last, len(come), len(names))
		}
	}
	var list []followed
	for i, name := range names {
		at := strings.LastIndexByte(name, '@')
		key, id, ok := strings.Cut(name[:max(at, 0)], "/")
		if id, err := url.PathUnescape(id); err == nil && ok {
			after := name[at+1:]
			if come != nil {
				after = come[i]
			}
			n, err := position(after)
			if err != nil {
				return nil, err
			}
			list = append(list, followed{c.find(r, key), id, n})
			continue
		}
		return nil, fmt.Errorf("task: %.80q is no task with a position: expected agent/id@5", name)
	}
	return list, nil
}

// live streams what follows in the conversations of a page. A browser has six
// connections to a server without TLS, for all its tabs, so a page has one stream.
func (c *Console) live(w http.ResponseWriter, r *request) {
	list, err := c.follows(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, end := c.stream(w, r)
	if out == nil {
		return
	}
	defer end()
	if out.write("retry: 500\n\n") != nil {
		return
	}
	var (
		mu   sync.Mutex // protects come, and keeps it and the events in one order
		come = make([]string, len(list))
		work sync.WaitGroup
	)
	for i, t := range list {
		come[i] = strconv.FormatInt(t.after, 10)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	of := &request{r.Request, ctx, r.viewer, r.csrf}
	for i, t := range list {
		work.Go(func() {
			over := c.follow(of, &t, out, func(seq int64, html string) error {
				mu.Lock()
				defer mu.Unlock()
				come[i] = strconv.FormatInt(seq, 10)
				return out.sendID("", strings.Join(come, "."), html)
			})
			if !over {
				cancel() // the browser comes again, and all of it goes on
			}
		})
	}
	work.Wait()
	if ctx.Err() == nil {
		_ = out.send("end", 0, "") // it is over either way
	}
}

// follow sends what follows in one task, and reports whether the task has ended. What
// came before is read first, without being sent: where its last text ends is known only
// from it.
func (c *Console) follow(r *request, t *followed, out *eventStream, send func(seq int64, html string) error) (over bool) {
	if t.agent == nil {
		return true // it was taken away since the page was made
	}
	if t.agent.ref != "" {
		return c.followFar(r, t, send)
	}
	var to fragments
	f := newFlow(&to, taskAddress(r.Request, t.agent.key(), t.id), t.id, r.csrf)
	for batch, err := range c.opts.Log(r.ctx, t.agent.Name, t.id, 0, true) {
		if err != nil {
			// The browser comes again, and goes on; not for what it cannot see.
			return errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound})
		}
		for len(batch) > 0 && batch[0].Seq <= t.after {
			n := 0
			for n < len(batch) && batch[n].Seq <= t.after {
				n++
			}
			f.add(batch[:n])
			to.take()
			batch = batch[n:]
		}
		if len(batch) == 0 {
			if out.comment() != nil {
				return false
			}
			continue
		}
		f.add(batch)
		if send(f.seq, to.take()) != nil {
			return false
		}
	}
	return f.state.Terminal()
}

// position reads a position of a log; zero is before its first entry.
func position(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("after: %.40q is no position: expected a number of 0 or more", s)
	}
	return n, nil
}
