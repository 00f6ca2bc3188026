package abuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2 is a connection of HTTP/2, written by hand. Settings and pings are answered,
// so that it is not for those that the server gives up; no window is ever given.
type h2 struct {
	gone  chan struct{} // closed when the server has closed it
	ended atomic.Int64  // streams, by the server

	mu     sync.Mutex // protects the fields below, but for reading frames
	framer *http2.Framer
	next   uint32 // stream
}

func (t *Target) h2(ctx context.Context) (*h2, func(), error) {
	c, stop, err := t.dial(ctx, "h2")
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	h := &h2{framer: http2.NewFramer(c, c), next: 1, gone: make(chan struct{})}
	if err := h.framer.WriteSettings(); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	go h.read() // ends with the connection
	return h, stop, nil
}

func (h *h2) read() {
	defer close(h.gone)
	for {
		f, err := h.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				h.ended.Add(1)
			}
		case *http2.RSTStreamFrame:
			h.ended.Add(1)
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = h.write(h.framer.WriteSettingsAck)
			}
		case *http2.PingFrame:
			if data := f.Data; !f.IsAck() {
				err = h.write(func() error { return h.framer.WritePing(true, data) })
			}
		}
		if err != nil {
			return
		}
	}
}

func (h *h2) write(frame func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return frame()
}

func (h *h2) reset(id uint32) error {
	return h.write(func() error { return h.framer.WriteRSTStream(id, http2.ErrCodeCancel) })
}

// begin opens a stream and returns its number.
func (h *h2) begin(fields ...string) (uint32, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}); err != nil {
			return 0, err
		}
	}
	id := h.next
	h.next += 2
	block := b.Bytes()
	first := block[:min(len(block), 16<<10)]
	err := h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(first) == len(block)})
	for rest := block[len(first):]; len(rest) > 0 && err == nil; {
		n := min(len(rest), 16<<10)
		err = h.framer.WriteContinuation(id, n == len(rest), rest[:n])
		rest = rest[n:]
	}
	return id, err
}

func call(t *Target, method string, more ...string) []string {
	return append([]string{
		":method", "POST", ":scheme", "https", ":authority", t.Addr, ":path", "/lf.a2a.v1.A2AService/" + method,
		"content-type", "application/grpc", "te", "trailers", "x-api-key", t.Key,
	}, more...)
}

// rapidReset opens a hundred streams and resets them at once, ten times.
func rapidReset(ctx context.Context, t *Target) error {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for range 10 {
		for range 100 {
			id, err := h.begin(call(t, "ListTasks")...)
			if err != nil || h.reset(id) != nil {
				return nil // cut, as it should be
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// openStreams opens two thousand streams and ends none.
func openStreams(ctx context.Context, t *Target) error {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for range 2000 {
		if _, err := h.begin(call(t, "ListTasks")...); err != nil {
			return nil
		}
	}
	return h.outlasts(ctx)
}

// outlasts waits until the server gives up.
func (h *h2) outlasts(ctx context.Context) error {
	limit := time.NewTimer(longest)
	defer limit.Stop()
	select {
	case <-h.gone:
	case <-ctx.Done():
	case <-limit.C:
		return errors.New("the connection is still open after 75 s")
	}
	return nil
}

func hugeMetadata(ctx context.Context, t *Target) error {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := h.begin(call(t, "ListTasks", "x-huge", strings.Repeat("x", 1<<20))...); err != nil {
		return nil
	}
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	select {
	case <-h.gone:
	case <-ctx.Done():
	case <-limit.C: // answered, and the connection is kept
	}
	return nil
}
