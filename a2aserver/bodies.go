package a2aserver

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/queue"
	"golang.org/x/sync/semaphore"
)

// large is the size, in bytes, from which a body counts: see bodies.
const large = 256 << 10

// bodies bound what large bodies take, of all agents of a site together: memory
// while they come in, of which a caller has a quarter at most, and, as to decode
// one takes a processor and several times its size, how many are decoded at a
// time, by callers in turn. Others wait, and small bodies never do.
type bodies struct {
	share int64                  // bytes of a caller
	room  *semaphore.Weighted    // bytes of all
	turns *queue.Fair[callerKey] // of who decodes

	mu sync.Mutex // protects the field below
	of map[callerKey]*portion
}

// portion is the room of one caller.
type portion struct {
	room  *semaphore.Weighted
	users int // of it, those included who wait; protected by bodies.mu
}

// newBodies takes the most bytes that there may be.
func newBodies(most int64) *bodies {
	return &bodies{
		share: max(most/4, 1), room: semaphore.NewWeighted(most),
		turns: queue.NewFair[callerKey](max(1, runtime.GOMAXPROCS(0)/2)),
		of:    map[callerKey]*portion{},
	}
}

// bodyWait is how long a large body may wait for room.
const bodyWait = 30 * time.Second

var errFull = &a2a.Error{Code: a2a.CodeUnavailable, Message: "as many large bodies are being read as there may be: try again in a moment", RetryAfter: 5 * time.Second}

// await waits for room for n bytes of a caller, or as much as a caller may have,
// and returns what gives it back. The error is Unavailable, or ctx's cause.
func (b *bodies) await(ctx context.Context, k callerKey, n int64) (release func(), err error) {
	if release, err := b.now(k, n); err == nil {
		return release, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, bodyWait, errFull)
	defer cancel()
	return b.take(k, n, func(room *semaphore.Weighted, n int64) error {
		if err := room.Acquire(limited, n); err != nil {
			return context.Cause(limited)
		}
		return nil
	})
}

// now is like await where nobody can wait.
func (b *bodies) now(k callerKey, n int64) (release func(), err error) {
	return b.take(k, n, func(room *semaphore.Weighted, n int64) error {
		if !room.TryAcquire(n) {
			return errFull
		}
		return nil
	})
}

func (b *bodies) take(k callerKey, n int64, acquire func(*semaphore.Weighted, int64) error) (release func(), err error) {
	n = min(n, b.share)
	b.mu.Lock()
	p := b.of[k]
	if p == nil {
		p = &portion{room: semaphore.NewWeighted(b.share)}
		b.of[k] = p
	}
	p.users++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(b.of, k)
		}
	}
	if err := acquire(p.room, n); err != nil {
		leave()
		return nil, err
	}
	if err := acquire(b.room, n); err != nil {
		p.room.Release(n)
		leave()
		return nil, err
	}
	return func() {
		b.room.Release(n)
		p.room.Release(n)
		leave()
	}, nil
}

// holding is what a request holds of bodies. It belongs to one goroutine.
type holding struct {
	from    *bodies
	of      callerKey
	release func() // nil without room
	turn    bool
}

// room waits for room for a body.
func (h *holding) room(ctx context.Context, from *bodies, k callerKey, n int64) error {
	release, err := from.await(ctx, k, n)
	if err == nil {
		h.from, h.of, h.release = from, k, release
	}
	return err
}

// decodes waits for a turn to decode what there is room for.
func (h *holding) decodes(ctx context.Context) error {
	if h.release == nil {
		return nil
	}
	if err := h.from.turns.Enter(ctx, h.of); err != nil {
		return err
	}
	h.turn = true
	return nil
}

// letGo gives back what is held. It may be called twice.
func (h *holding) letGo() {
	if h.turn {
		h.turn = false
		h.from.turns.Leave()
	}
	if h.release != nil {
		h.release()
		h.release = nil
	}
}

// makesRoom gives the body of a call over gRPC inside of net/http, whose caller is
// not known yet, its room: by the address that it comes from. done has to be called
// at its end.
func (s *Server) makesRoom(r *http.Request) (_ *http.Request, done func()) {
	if s.bodies == nil || !hasBody(r) {
		return r, func() {}
	}
	b := &roomyBody{ReadCloser: r.Body, r: r, from: s.bodies, most: s.opts.maxBody()}
	b.key = callerKey{from: network(s.opts.clientAddr(r.RemoteAddr, r.Header.Values))}
	with := *r
	with.Body = b
	return &with, b.letGo
}

// roomyBody waits for room where its body turns out to be large, and holds it
// until the body is there.
type roomyBody struct {
	io.ReadCloser
	r    *http.Request
	from *bodies
	key  callerKey
	most int64
	read int64 // by one goroutine

	mu   sync.Mutex // protects the fields below
	hold holding
	over bool
}

func (b *roomyBody) Read(p []byte) (int, error) {
	if b.read > large && !b.makeRoom() {
		return 0, errFull // which grpc-go wraps
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		b.letGo()
	}
	return n, err
}

// makeRoom returns false if there is none.
func (b *roomyBody) makeRoom() bool {
	b.mu.Lock()
	enough := b.over || b.hold.release != nil
	b.mu.Unlock()
	if enough {
		return true
	}
	release, err := b.from.await(b.r.Context(), b.key, b.most)
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over { // meanwhile
		release()
		return false
	}
	b.hold = holding{from: b.from, release: release}
	return true
}

func (b *roomyBody) letGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.hold.letGo()
}
