package console

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Times and limits of the streams of fragments.
const (
	writeTime = 30 * time.Second // for one event
	keepAlive = 15 * time.Second
	recheck   = 3 * time.Second // of the viewer's session

	// A stream waits between two writes for half to all of writeGap, times the number of open
	// streams. So all streams together make at most 500 writes a second, and a single viewer
	// sees each commit at once.
	writeGap = 4 * time.Millisecond
	listGap  = 250 * time.Millisecond // the minimum between two writes of a list's rows

	maxWaiting = 256 << 10 // bytes of one stream that may wait to be written

	maxStreams       = 2000
	maxStreamsOfEach = 64 // viewers with the same key count as one
)

// streams counts the open streams.
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

// gap returns how long a stream waits between two writes. It is randomized, so that the viewers
// of a task are not all written to at the same moment.
func (s *streams) gap() time.Duration {
	s.mu.Lock()
	n := s.all
	s.mu.Unlock()
	half := time.Duration(n) * writeGap / 2
	return half + rand.N(half+1)
}

func (s *streams) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[who]--; s.of[who] == 0 {
		delete(s.of, who)
	}
}

// stream begins a stream for a viewer and maintains it: it writes waiting events in time, sends
// comments during silence, and sends the page away once the viewer's session has ended. least
// is the shortest time between two writes. The request's context ends with the stream. If there
// are too many streams, it answers the request and returns nil. The caller calls end, which
// waits.
func (c *Console) stream(w http.ResponseWriter, r *request, least time.Duration) (out *eventStream, end func()) {
	if !c.streams.enter(r.viewer.Subject) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many pages are open: close some and try again", http.StatusServiceUnavailable)
		return nil, nil
	}
	out = newEventStream(w)
	out.gap = func() time.Duration { return max(c.streams.gap(), least) }
	ctx, cancel := context.WithCancel(r.ctx)
	r.ctx = ctx
	var work sync.WaitGroup
	work.Go(func() {
		quiet, check, next := time.NewTicker(keepAlive), time.NewTicker(recheck), time.NewTimer(0)
		defer quiet.Stop()
		defer check.Stop()
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-out.waits:
				next.Reset(out.pause())
			case <-next.C:
				if out.write("") != nil {
					cancel()
				}
			case <-quiet.C:
				if out.comment() != nil {
					cancel()
				}
			case <-check.C:
				if s, _, err := c.session(r.Request); (s == nil || err != nil && !unchecked(err)) && ctx.Err() == nil {
					_ = out.send("gone") // otherwise the browser reconnects, and is told then
					cancel()
				}
			}
		}
	})
	return out, func() {
		cancel()
		work.Wait()
		_ = out.write("") // the waiting events; the client may have left
		c.streams.leave(r.viewer.Subject)
	}
}

// eventStream writes events to a browser. Events that come faster than gap allows wait, and are
// written together.
type eventStream struct {
	gap   func() time.Duration // nil: no event waits
	waits chan struct{}        // capacity 1: there are waiting events

	mu      sync.Mutex // protects the fields below, and is held for a write
	w       http.ResponseWriter
	rc      *http.ResponseController
	waiting []event
	size    int       // of waiting, in bytes
	next    time.Time // when the next write is allowed
}

// event is an encoded event. While it waits, a later event with the same key, unless that is
// "", replaces it.
type event struct{ key, text string }

func newEventStream(w http.ResponseWriter) *eventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &eventStream{w: w, rc: http.NewResponseController(w), waits: make(chan struct{}, 1)}
}

// send writes an event without a position or data at once, after the waiting ones.
func (s *eventStream) send(name string) error { return s.write(eventText(name, "", "")) }

// sendID writes an event as soon as the stream allows.
func (s *eventStream) sendID(key, id, data string) error {
	text := eventText("", id, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != "" {
		if i := slices.IndexFunc(s.waiting, func(e event) bool { return e.key == key }); i >= 0 {
			s.size -= len(s.waiting[i].text)
			s.waiting = slices.Delete(s.waiting, i, i+1)
		}
	}
	s.waiting = append(s.waiting, event{key, text})
	if s.size += len(text); s.size > maxWaiting || !time.Now().Before(s.next) {
		return s.writeLocked("")
	}
	wake.Nudge(s.waits)
	return nil
}

// eventText encodes an event. Each line of its text is a line of data; the browser joins them
// again.
func eventText(name, id, data string) string {
	var b strings.Builder
	b.Grow(len(name) + len(id) + len(data) + 32)
	for _, field := range [...]struct{ name, value string }{{"event: ", name}, {"id: ", id}} {
		if field.value != "" {
			b.WriteString(field.name + field.value + "\n")
		}
	}
	data = strings.ReplaceAll(data, "\r", "&#13;") // it would end a line, and the rest could be a field
	for line := range strings.SplitSeq(data, "\n") {
		b.WriteString("data: ")
		b.WriteString(line)
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

func (s *eventStream) comment() error { return s.write(": \n\n") }

// pause returns how long waiting events must still wait.
func (s *eventStream) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.next)
}

// rest waits until the stream may write again. A reader that calls it reads all changes since
// then at once, and is not woken for each commit.
func (s *eventStream) rest(ctx context.Context) error {
	return wake.Pause(ctx, s.pause())
}

// write writes the waiting events, and then text.
func (s *eventStream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked(text)
}

func (s *eventStream) writeLocked(text string) error {
	if len(s.waiting) > 0 {
		var b strings.Builder
		b.Grow(s.size + len(text))
		for _, e := range s.waiting {
			b.WriteString(e.text)
		}
		b.WriteString(text)
		text = b.String()
		clear(s.waiting)
		s.waiting, s.size = s.waiting[:0], 0
	}
	if text == "" {
		return nil
	}
	if s.gap != nil {
		s.next = time.Now().Add(s.gap())
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

// maxLive is how many tasks one page follows.
const maxLive = 2 * maxTurns

// liveName names a task and a position of its log for live.
func liveName(agent, task string, after int64) string {
	return agent + "/" + url.PathEscape(task) + "@" + strconv.FormatInt(after, 10)
}

// followed is a task that a page follows.
type followed struct {
	key, id string
	after   int64
}

// follows reads which tasks a page follows, and how far: each task with the position that the
// page began with, and the positions of all of them, joined by dots, in the id of the last
// event.
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
		id, err := url.PathUnescape(id)
		if !ok || err != nil {
			return nil, fmt.Errorf("task: %.80q is not a task with a position: expected agent/id@5", name)
		}
		after := name[at+1:]
		if come != nil {
			after = come[i]
		}
		n, err := position(after)
		if err != nil {
			return nil, err
		}
		list = append(list, followed{key, id, n})
	}
	return list, nil
}

// live streams the further events of a page's conversations. A page has only one stream,
// because a browser has six connections to a server without TLS, for all its tabs.
func (c *Console) live(w http.ResponseWriter, r *request) {
	list, err := c.follows(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, end := c.stream(w, r, 0)
	if out == nil {
		return
	}
	defer end()
	if out.write("retry: 500\n\n") != nil {
		return
	}
	var (
		mu   sync.Mutex // protects come, and keeps it and the events in the same order
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
				cancel() // the browser reconnects, and everything resumes
			}
		})
	}
	work.Wait()
	if ctx.Err() == nil {
		_ = out.send("end") // the stream has ended even if this fails
	}
}

// follow sends the further events of one task, and reports whether the task has ended. It reads
// the earlier entries too, without sending them, because only they tell where the last text
// ends.
func (c *Console) follow(r *request, t *followed, out *eventStream, send func(seq int64, html string) error) (over bool) {
	agent, err := c.find(r, t.key)
	for err != nil { // its server is unreachable: the task goes on when it is back
		if wake.Pause(r.ctx, remotePause) != nil {
			return false
		}
		agent, err = c.find(r, t.key)
	}
	if agent == nil {
		return true // it was removed after the page was made
	}
	if agent.ref != "" {
		return c.followRemote(r, agent, t.id, send)
	}
	var to fragments
	f := newFlow(&to, taskAddress(r.Request, agent.Key(), t.id), t.id, c.answersTo(r, agent, t.id))
	for batch, err := range c.opts.Log(r.ctx, agent.Name, t.id, 0, true) {
		if err != nil {
			// The browser reconnects and resumes, except for a task that it may not see.
			return errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound})
		}
		for len(batch) > 0 && batch[0].Seq <= t.after {
			f.one(batch[0])
			batch = batch[1:]
		}
		to.take()
		if len(batch) == 0 {
			if out.comment() != nil {
				return false
			}
			continue
		}
		f.add(batch)
		if send(f.seq, to.take()) != nil || out.rest(r.ctx) != nil {
			return false
		}
	}
	return f.state.Terminal()
}

// position parses a position of a log; zero is before the first entry.
func position(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("after: %.40q is not a position: expected a number of 0 or more", s)
	}
	return n, nil
}
