package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wire"
)

// Options adjusts a handler. Identify is required.
type Options struct {
	// Identify returns the caller of a request, or the error to answer with. again means that
	// the request was admitted before and is still being answered.
	Identify func(r *http.Request, again bool) (a2a.Caller, *Error)
	// Challenges returns the values of WWW-Authenticate for an answer with a status.
	Challenges func(status int) []string
	// Draining ends streams when it is closed.
	Draining <-chan struct{}
	// Logger gets internal errors. Nil discards.
	Logger *slog.Logger
}

// Limits for clients.
const (
	maxBody    = 1 << 20
	maxCalls   = 32               // at a time, not counting streams
	maxStreams = 256              // at a time
	callTime   = time.Minute      // limit of a call
	longTime   = time.Hour        // limit of a call that reads all tasks; its client may leave at any time
	writeTime  = 10 * time.Second // limit of a write to a stream
	keepAlive  = 15 * time.Second
)

// New returns the handler of an API, for Path and everything below it.
func New(api API, o Options) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &handler{api: api, o: o, calls: semaphore.NewWeighted(maxCalls), streams: semaphore.NewWeighted(maxStreams)}
}

type handler struct {
	api            API
	o              Options
	calls, streams *semaphore.Weighted
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err := h.serve(w, r); err != nil {
		h.fail(w, r, err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	if foreign(r) {
		return Errorf(http.StatusForbidden, "web pages of other origins may not call the admin API")
	}
	path := r.URL.EscapedPath()
	if path == Path+"/openapi.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return writeJSON(w, r, json.RawMessage(openAPI()))
	}
	route, named, allow := find(r.Method, path)
	switch {
	case len(allow) == 0:
		return Errorf(http.StatusNotFound, "there is nothing at this path; %s/openapi.json says what there is", Path)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", strings.Join(allow, ", "))
		w.WriteHeader(http.StatusNoContent)
		return nil
	case route == nil:
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return Errorf(http.StatusMethodNotAllowed, "%.20s is not allowed here: use %s", r.Method, strings.Join(allow, ", "))
	}
	caller, refused := h.o.Identify(r, false)
	if refused != nil {
		return refused
	}
	c := &call{ctx: a2a.WithCaller(r.Context(), caller), api: h.api, path: map[string]string{}}
	if err := May(c.ctx, route.scope); err != nil {
		return err // before the answer tells anything about the request
	}
	for name, value := range named {
		var err error
		if c.path[name], err = url.PathUnescape(value); err != nil || len(value) > maxParam {
			return Invalid(name, "must be the name or the id of one, percent-encoded")
		}
	}
	if err := c.readQuery(route, r.URL.RawQuery); err != nil {
		return err
	}
	if route.stream != nil && (route.call == nil || c.on("follow")) {
		return h.stream(w, r, c, route)
	}
	if !h.calls.TryAcquire(1) {
		return tooMany(w)
	}
	defer h.calls.Release(1)
	if err := c.readBody(w, r, route); err != nil {
		return err
	}
	most := callTime
	if route.long {
		most = longTime
	}
	ctx, cancel := context.WithTimeout(c.ctx, most)
	defer cancel()
	c.ctx = ctx
	answer, err := route.call(c)
	if err != nil {
		return err
	}
	if route.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return writeJSON(w, r, answer)
}

func tooMany(w http.ResponseWriter) error {
	w.Header().Set("Retry-After", "1")
	return Errorf(http.StatusTooManyRequests, "too many calls of the admin API are under way; try again shortly")
}

// May is the check in front of every method: it refuses a caller without a scope. It always
// refuses credentials that name a tenant, because they must not learn anything about other
// tenants.
func May(ctx context.Context, scope string) error {
	switch c := a2a.CallerFrom(ctx); {
	case !c.May(a2a.ScopeAdminRead, a2a.ScopeAdminWrite):
		return Errorf(http.StatusForbidden, "the admin API needs the scope %s: parley key create --role admin makes a key that has it", scope)
	case c.Tenant != "":
		return Errorf(http.StatusForbidden, "the admin API is of the whole server, and these credentials are for one tenant")
	case !c.May(scope):
		return Errorf(http.StatusForbidden, "these credentials lack the scope %s", scope)
	}
	return nil
}

// foreign reports whether a page of another origin made the visitor's browser send a request.
func foreign(r *http.Request) bool {
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return false
	case "":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// readQuery reads the parameters, all of which must be parameters of the route.
func (c *call) readQuery(r *route, raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Invalid("query", "cannot be read: its parameters must be percent-encoded and joined by &")
	}
	c.query = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch list := values[name]; {
		case !slices.Contains(r.params, name):
			known := "there are none here"
			if len(r.params) > 0 {
				known = "there are " + strings.Join(r.params, ", ")
			}
			return Invalid(strconv.Quote(name[:min(len(name), 40)]), "is not a parameter of this resource; %s", known)
		case len(list) > 1:
			return Invalid(name, "is given %d times; once is allowed", len(list))
		default:
			if name == "after" && slices.Contains(r.params, "follow") {
				if n, err := strconv.ParseInt(list[0], 10, 64); err != nil || n < 0 {
					return Invalid(name, "%.40q must be a position of the log, 0 or more", list[0])
				}
			}
			if err := checkParam(name, list[0]); err != nil {
				return err
			}
			c.query[name] = list[0]
		}
	}
	c.cursor = c.query["after"]
	return nil
}

// readBody reads the body of a request.
func (c *call) readBody(w http.ResponseWriter, r *http.Request, route *route) error {
	if route.body == nil {
		return nil
	}
	want := "application/json"
	if _, ok := route.body.(yaml); ok {
		want = "application/yaml"
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != want {
		return &Error{Status: http.StatusUnsupportedMediaType, Field: "Content-Type", Message: "must be " + want}
	}
	c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch _, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		return &Error{Status: http.StatusRequestEntityTooLarge, Field: "body", Message: "must have 1 MiB at most"}
	case err != nil:
		return Invalid("body", "could not be read to its end")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		write(w, r, http.StatusOK, "application/json", b)
	}
	return err
}

func write(w http.ResponseWriter, r *http.Request, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	// Allow as much time as a reader at a modem's speed needs.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(body)/(64<<10))*time.Second))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n')) // an error has no recipient
	}
}

// problem is an error in the format of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"`
}

func (e *Error) problem() []byte {
	b, _ := json.Marshal(problem{"about:blank", http.StatusText(e.Status), e.Status, e.Message, e.Field})
	return b
}

// fail answers with an error. An error that is not an *Error is internal, and its text is not
// sent.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := h.public(r, err)
	if (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) && h.o.Challenges != nil {
		for _, c := range h.o.Challenges(e.Status) {
			w.Header().Add("WWW-Authenticate", c)
		}
	}
	if r.ProtoMajor < 2 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	write(w, r, e.Status, "application/problem+json", e.problem())
}

func (h *handler) public(r *http.Request, err error) *Error {
	switch e, ok := errors.AsType[*Error](err); {
	case ok:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(http.StatusServiceUnavailable, "it took too long; try again later")
	case r.Context().Err() != nil:
		return Errorf(http.StatusServiceUnavailable, "the connection ended")
	}
	h.o.Logger.Error("a call of the admin API failed", "path", r.URL.Path, "error", err)
	return Errorf(http.StatusInternalServerError, "something went wrong; the server's log says what")
}

// stream writes server-sent events until they end, the client leaves or stops reading, or the
// server drains.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, c *call, route *route) error {
	if !h.streams.TryAcquire(1) {
		return tooMany(w)
	}
	defer h.streams.Release(1)
	if id := strings.TrimSpace(r.Header.Get("Last-Event-ID")); id != "" {
		if len(id) > 200 {
			return Invalid("Last-Event-ID", "must be the id of an event of this stream")
		}
		c.cursor = id
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.ctx = ctx
	events := make(chan result)
	pass := func(m message, err error) bool {
		select {
		case events <- result{m, err}:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(events)
		defer func() {
			if v := recover(); v != nil { // as net/http does in its goroutines
				pass(message{}, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		route.stream(c)(pass)
	}()
	defer func() {
		cancel()
		for range events { // until it has ended
		}
	}()
	out := &streamWriter{w: w, rc: http.NewResponseController(w)}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case e, more := <-events:
			switch {
			case !more:
				out.write(nil) // a stream without events is a stream too
				return nil
			case e.err != nil && ctx.Err() != nil:
				return nil
			case e.err != nil && !out.begun:
				return e.err
			case e.err != nil:
				out.write(wire.AppendEvent(nil, "", "error", h.public(r, e.err).problem()))
				return nil
			}
			b, err := e.encode()
			if err != nil || !out.write(b) {
				return err
			}
		case <-tick.C:
			if !h.stillIn(r, route) || out.begun && !out.write(wire.KeepAlive) {
				return nil
			}
		case <-h.o.Draining:
			return nil
		}
	}
}

// result is what the iterator of a stream yields.
type result struct {
	message
	err error
}

// encode returns the bytes of a message. One without data lets the client know that there are
// no events yet.
func (m message) encode() ([]byte, error) {
	if m.data == nil {
		return wire.KeepAlive, nil
	}
	b, err := json.Marshal(m.data)
	name := ""
	if ev, ok := m.data.(Event); ok {
		name = ev.Type
	}
	return wire.AppendEvent(nil, m.id, name, b), err
}

// stillIn reports whether the caller of a stream may still receive it. If that cannot be
// determined, the stream continues.
func (h *handler) stillIn(r *http.Request, route *route) bool {
	caller, refused := h.o.Identify(r, true)
	if refused != nil {
		return refused.Status != http.StatusUnauthorized && refused.Status != http.StatusForbidden
	}
	return May(a2a.WithCaller(r.Context(), caller), route.scope) == nil
}

// streamWriter writes a stream, with a time limit for each write.
type streamWriter struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

// write reports whether the client still reads.
func (s *streamWriter) write(b []byte) bool {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := s.w.Write(b)
	return err == nil && s.rc.Flush() == nil
}
