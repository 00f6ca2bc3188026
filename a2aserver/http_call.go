package a2aserver

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
)

// httpCall is an exchange over HTTP, by JSON-RPC or HTTP+JSON.
type httpCall struct {
	exchange
	w     http.ResponseWriter
	rc    http.ResponseController
	r     *http.Request
	media []string      // the Content-Type of an answer that is not a stream
	id    []byte        // of JSON-RPC; nil until it is known
	codec dialect.Codec // nil until it is known

	eventful bool // even an error before the first event is sent as an event
	plain    bool // events are their data and nothing else
	bodyRead bool // in full
	begun    bool // the status line is out: errors can no longer change it

	length [1]string // of the answer, as its header
}

// newHTTPCall returns a call whose errors are told in d until its own dialect is known.
func (s *Server) newHTTPCall(w http.ResponseWriter, r *http.Request, binding string, media []string, d dialect.Dialect) *httpCall {
	x := &httpCall{w: w, rc: *http.NewResponseController(w), r: r, media: media}
	x.dialect = d
	x.init(s, r.Context(), ofHTTP(r, binding))
	return x
}

// plainCall is newHTTPCall for a request that is no operation.
func (s *Server) plainCall(w http.ResponseWriter, r *http.Request) *httpCall {
	return s.newHTTPCall(w, r, a2a.BindingHTTPJSON, jsonMedia, dialect.V10)
}

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	x := s.plainCall(w, r)
	defer x.end()
	x.fail(err)
}

func (x *httpCall) header(name, value string) { x.w.Header().Set(name, value) }

// activates says in the answer which of the requested extensions are active.
func (x *httpCall) activates(asked []string) {
	if active := x.s.activeExtensions(asked); len(active) > 0 {
		x.header(dialect.ExtensionsHeader(x.dialect), strings.Join(active, ", "))
	}
}

func (x *httpCall) resumes() { x.activates(a2a.CallerFrom(x.ctx).Extensions) }

func (x *httpCall) base() (string, error) { return x.s.baseURL(x.r, x.r.URL.EscapedPath()) }

func (x *httpCall) document(op dialect.Op, req any, c *a2a.AgentCard) []byte {
	return x.codec.AppendResult(nil, op, req, c)
}

// buffers are reused by answers; large ones are not kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

func (x *httpCall) answer(op dialect.Op, req, res any) error {
	p := buffers.Get().(*[]byte)
	if n := dialect.EncodedSize(res); n > maxPooled { // at once, not by doubling
		*p = make([]byte, 0, n)
	}
	*p = x.appendResult((*p)[:0], op, req, res)
	x.hold.Set(int64(cap(*p))) // res is not needed any more
	x.result(res)
	x.audit.Succeed(x.ctx)
	x.write(http.StatusOK, *p)
	if cap(*p) <= maxPooled {
		buffers.Put(p)
	}
	return nil
}

// fail answers with an error.
func (x *httpCall) fail(err error) {
	e := x.failed(err)
	x.s.challenge(x.w.Header(), e)
	if n := dialect.RetryAfter(e); n > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt(n, 10))
	}
	if !x.known {
		from := x.s.strangerAt(&x.request)
		if !x.s.strangers.Enter(from) {
			closeUnread(x.w.Header(), x.r)
			x.w.WriteHeader(x.status(e))
			return
		}
		defer x.s.strangers.Leave(from)
	}
	if x.eventful && x.status(e) == http.StatusOK {
		// The clients of versions before 1.0 stop at any other status, and would never
		// see the error (DIALECTS 4.5, 8.4).
		s := &sse{httpCall: x}
		s.appendFailure(e)
		s.flush(true)
		return
	}
	x.write(x.status(e), x.appendError(nil, e))
}

// Header values that nobody writes to, so that answers need no lists of their own.
var (
	jsonMedia = []string{mediaJSON}
	a2aMedia  = []string{mediaA2A}
	noStore   = []string{"no-store"} // tasks change, and are private
	noSniff   = []string{"nosniff"}
)

// write sends a whole answer.
func (x *httpCall) write(status int, body []byte) {
	h := x.w.Header()
	x.length[0] = strconv.Itoa(len(body))
	h["Content-Type"] = x.media
	h["Content-Length"] = x.length[:]
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	if !x.bodyRead {
		closeUnread(h, x.r)
	}
	x.begun = true
	x.w.WriteHeader(status)
	if x.send(body) != nil {
		return // the client has disconnected; there is nobody to tell
	}
	// All is sent: the deadline must not hit other handlers on this connection.
	_ = x.rc.SetWriteDeadline(time.Time{})
}

// send writes and flushes.
func (x *httpCall) send(b []byte) error {
	var w port.Writer
	w.Init(x.w, &x.rc, x.s.opts.writeTimeout(), x.hold)
	if _, err := w.Write(b); err != nil {
		return err
	}
	// Not later, when the handler returns: that flush has no time limit.
	return flushed(x.rc.Flush())
}

// protect is deferred. It turns a panic into an internal error or, if the answer has
// begun, cuts the connection, so that no client takes the answer for complete.
func (x *httpCall) protect() {
	defer x.end()
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err := panicError(v)
	if x.begun {
		x.failed(err)
		panic(http.ErrAbortHandler)
	}
	x.fail(err)
}
