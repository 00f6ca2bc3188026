package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

const (
	// silence is how long a stream may be without a byte. Servers send a comment every
	// 15 to 30 s; up to two may get lost.
	silence = 45 * time.Second
	// linger is how long a server has to close a stream after its last event,
	// so that the connection can be used again.
	linger = time.Second
)

var errSilent = fmt.Errorf("no data arrived for %v", silence)

// conn is one connection of a stream. It belongs to one goroutine.
type conn struct {
	call   *call
	ctx    context.Context // of the connection; its cause says why it was left
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	host   string
	watch  *time.Timer // ends the connection
	last   bool        // the watch runs until the end of the stream

	events   *wire.Reader
	messages *wire.MessageReader   // gRPC
	res      *http.Response        // gRPC; its trailer has the status
	ready    []*a2a.StreamResponse // read but not yet returned, of the last event
	readyID  string                // its id
}

// connect begins a stream. A limit above 0 bounds the time until the header. Errors of
// the agent are *a2a.Error, those of the network *TransportError.
func (c *Client) connect(ctx context.Context, op dialect.Op, req any, lastEventID string, limit time.Duration) (*conn, error) {
	return tryFaces(ctx, c, op, req, func(k *call) (*conn, error) {
		k.lastEventID = lastEventID
		return c.connectBy(ctx, k, limit)
	})
}

func (c *Client) connectBy(parent context.Context, k *call, limit time.Duration) (*conn, error) {
	ctx, cancel := context.WithCancelCause(parent)
	watch := time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	watch.Stop()
	if limit > 0 {
		watch.Reset(limit)
	}
	cn := &conn{call: k, ctx: ctx, cancel: cancel, watch: watch}
	res, err := c.send(ctx, k)
	if err != nil {
		cn.close()
		return nil, orCause(parent, err)
	}
	watch.Stop()
	cn.body, cn.host = res.Body, res.Request.URL.Host
	if k.grpc != nil && res.Header.Get("Grpc-Status") == "" && checkGRPC(k, res) == nil {
		// gRPC's keep-alives are not visible here, so the watch stays off, and TCP must
		// find a broken connection.
		cn.res, cn.messages = res, wire.NewMessageReader(res.Body, maxBody)
		return cn, nil
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode >= 200 && res.StatusCode < 300 && media == "text/event-stream" && !compressed(res.Header) {
		cn.events = wire.NewReader((*watched)(cn), maxBody)
		if cn.old() {
			cn.events.JoinJSON()
		}
		return cn, nil
	}
	// An error before the first event is an ordinary answer; so is the whole answer of
	// an agent that needs no stream for it.
	defer cn.close()
	res.Body = io.NopCloser((*watched)(cn)) // a large answer may take long
	body, err := c.readBody(ctx, k, res)
	if err != nil {
		return nil, orCause(parent, err)
	}
	answer, err := k.face.binding.answer(k, res, body)
	if err != nil {
		return nil, withRetryAfter(err, res)
	}
	cn.ready = answer.([]*a2a.StreamResponse)
	return cn, nil
}

// next returns the next element with its event id. The error is io.EOF if the server
// has closed the stream, a *TransportError if the stream broke, and an *a2a.Error if
// the agent reports an error or sends something invalid.
func (cn *conn) next() (el *a2a.StreamResponse, id string, err error) {
	for len(cn.ready) == 0 {
		switch {
		case cn.messages != nil:
			err = cn.nextMessage()
		case cn.events != nil:
			err = cn.nextEvent()
		default:
			err = io.EOF
		}
		if err != nil {
			return nil, "", err
		}
	}
	el, cn.ready = cn.ready[0], cn.ready[1:]
	if len(cn.ready) == 0 {
		id = cn.readyID // the id is that of the event's last element
	}
	return el, id, nil
}

// within reports whether more elements of the same event follow the last one.
func (cn *conn) within() bool { return len(cn.ready) > 0 }

// old reports whether the stream's version is before 1.0.
func (cn *conn) old() bool { return cn.call.face.dialect < dialect.V10 }

func (cn *conn) nextEvent() error {
	ev, err := cn.events.Next()
	switch {
	case err == io.EOF:
		return io.EOF
	case errors.Is(err, wire.ErrEventTooLarge):
		return &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "an event of the stream cannot be processed", Cause: err}
	case err != nil:
		return &TransportError{Host: cn.host, Err: orCause(cn.ctx, err)}
	}
	cn.ready, err = cn.call.face.binding.element(cn.call, ev.Name, ev.Data)
	cn.readyID = ev.ID
	return err
}

// nextMessage is nextEvent over gRPC.
func (cn *conn) nextMessage() error {
	msg, err := cn.messages.Next()
	switch {
	case err == io.EOF:
		if err := statusOf(cn.res); err != nil {
			return err
		}
		return io.EOF
	case errors.Is(err, wire.ErrMessageTooLarge):
		return &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "an element of the stream cannot be processed", Cause: err}
	case err != nil:
		return &TransportError{Host: cn.host, Err: orCause(cn.ctx, err)}
	}
	cn.ready, err = cn.call.face.binding.element(cn.call, "", msg)
	cn.readyID = ""
	if n := len(cn.ready); n > 0 && cn.ready[n-1].Seq > 0 {
		cn.readyID = strconv.FormatInt(cn.ready[n-1].Seq, 10)
	}
	return err
}

// finish gives the server a moment to close the stream.
func (cn *conn) finish() {
	if !cn.last {
		cn.last = true
		cn.watch.Reset(linger)
	}
}

func (cn *conn) close() {
	cn.watch.Stop()
	cn.cancel(context.Canceled)
	if cn.body != nil {
		cn.body.Close()
	}
}

// watched reads the body of a stream. Its timer runs only while a read waits: the time
// that the caller spends on an element does not count against the server.
type watched conn

func (w *watched) Read(p []byte) (int, error) {
	if w.last {
		return w.body.Read(p)
	}
	w.watch.Reset(silence)
	n, err := w.body.Read(p)
	w.watch.Stop()
	return n, err
}
