package a2aserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/queue"
)

// large is the size, in bytes, from which a body counts, in or out.
const large = budget.Small

// bodyCost is how many times a large body counts until its task has it: once as
// received and once as decoded.
const bodyCost = 2

// Memory is the budget that the large bodies of requests, answers, events and webhooks
// share: see Limits.Bodies. Servers and Webhooks that are given the same Memory share
// it.
type Memory = budget.Budget

// NewMemory returns the Memory that limits ask for if a body may have maxBody bytes
// (zero means 8 MiB), or nil, which has no limit.
func NewMemory(l *Limits, maxBody int64) *Memory {
	return budget.New(l.bodies((&Options{MaxBody: maxBody}).maxBody()))
}

// newTurns returns the queue of large bodies that wait to be decoded: decoding takes a
// processor, and several times the size of the body.
func newTurns() *queue.Fair[callerKey] {
	return queue.NewFair[callerKey](max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2))
}

var (
	errFull = &a2a.Error{Code: a2a.CodeUnavailable, Message: "the server is reading as many large requests as it has memory for: try again in a moment", RetryAfter: 5 * time.Second}
	errBusy = &a2a.Error{Code: a2a.CodeUnavailable, Message: "the server is sending as much data as it has memory for: try again in a moment, or ask for less (pageSize, historyLength, includeArtifacts)", RetryAfter: 5 * time.Second}
)

// inWords replaces the error of a full Memory with one for clients.
func inWords(err error, e *a2a.Error) error {
	if errors.Is(err, budget.ErrFull) {
		return e
	}
	return err
}

// holding is the memory and the turn to decode that a request holds. It holds memory
// from when enough of its body has arrived until that is decoded (a message's until the
// task has it), and again for its answer. It belongs to one goroutine.
type holding struct {
	hold *budget.Hold
	own  budget.Hold            // hold points here, unless the call brings one: gRPC inside of net/http
	turn *queue.Fair[callerKey] // the queue that it has a turn in, or nil
}

// decodes waits for a turn to decode a body that holds memory.
func (h *holding) decodes(ctx context.Context, s *Server, k func() callerKey) error {
	if h.hold.Held() == 0 {
		return nil
	}
	if err := s.turns.Enter(ctx, k()); err != nil {
		return err
	}
	h.turn = s.turns
	return nil
}

// decoded gives back the turn and, unless the request is a message, the memory. A
// message keeps it until the engine has it.
func (h *holding) decoded(op dialect.Op) {
	h.leave()
	if !isSend(op) {
		h.hold.Close()
	}
}

// isSend reports whether the request of an operation is a message.
func isSend(op dialect.Op) bool {
	return op == dialect.SendMessage || op == dialect.SendStreamingMessage
}

// leave gives back the turn.
func (h *holding) leave() {
	if h.turn != nil {
		h.turn.Leave()
		h.turn = nil
	}
}

// letGo gives back what is held. It may be called twice.
func (h *holding) letGo() {
	h.leave()
	h.hold.Close()
}

// ensureBody waits until there is memory for a large body of size bytes. The time limit
// of the body starts again afterwards, because the client cannot send while nothing
// reads.
func ensureBody(ctx context.Context, rc *http.ResponseController, h *budget.Hold, size int64) error {
	_ = rc.SetReadDeadline(time.Time{}) // over HTTP/2 a deadline that passes ends the body, even if nothing reads
	err := h.Ensure(ctx, bodyCost*size)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	return inWords(err, errFull)
}

// holdBody makes the body of a request hold memory, charged to the address it comes
// from, because its caller is not known: a call over gRPC inside of net/http, or a
// callback. The body may have at most most bytes. It holds until it has been read or,
// with keep, until done is called. The caller must call done at the end.
func (s *Server) holdBody(w http.ResponseWriter, r *http.Request, most int64, keep bool) (_ *http.Request, done func()) {
	if s.memory == nil || !hasBody(r) {
		return r, func() {}
	}
	b := &heldBody{ReadCloser: r.Body, w: w, r: r, most: most, keep: keep}
	s.memory.Init(&b.hold, callerKey{from: port.Network(s.opts.clientAddr(r.RemoteAddr, r.Header))})
	with := *r
	with.Body = b
	return &with, b.letGo
}

// heldBody waits for memory if its body turns out to be large, and holds it until the
// body has been read.
type heldBody struct {
	io.ReadCloser
	w    http.ResponseWriter
	r    *http.Request
	most int64
	keep bool  // hold the memory after the body has been read
	read int64 // by one goroutine

	mu   sync.Mutex // protects the fields below, except hold while a read asks for memory
	hold budget.Hold
	over bool
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.read > large && !b.ensure() {
		return 0, errFull // which grpc-go wraps
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil && !b.keep {
		b.letGo()
	}
	return n, err
}

// ensure returns false if there is no memory for the body.
func (b *heldBody) ensure() bool {
	b.mu.Lock()
	over := b.over
	b.mu.Unlock()
	if over || b.hold.Held() > 0 {
		return true
	}
	if ensureBody(b.r.Context(), http.NewResponseController(b.w), &b.hold, b.most) != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over { // meanwhile
		b.hold.Close()
	}
	return !b.over
}

func (b *heldBody) letGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.hold.Close()
}
