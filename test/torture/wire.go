package torture

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// events is a stream.
type events = iter.Seq2[*a2a.StreamResponse, error]

// raw reads streams of JSON-RPC without the library: it resumes nothing by
// itself, repairs nothing and hides nothing.
type raw struct {
	*a2aclient.Client
	url  string
	http *http.Client
}

func newRaw(c *a2aclient.Client, url string, rt http.RoundTripper) *raw {
	if rt == nil {
		rt = &http.Transport{MaxIdleConnsPerHost: 4}
	}
	return &raw{c, url, &http.Client{Transport: rt}}
}

func (r *raw) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) events {
	h := cursor(req.After)
	if req.IdempotencyKey != "" {
		h.Set("Idempotency-Key", req.IdempotencyKey)
	}
	return r.stream(ctx, "SendStreamingMessage", req.AppendJSON(nil), h)
}

func (r *raw) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) events {
	return r.stream(ctx, "SubscribeToTask", req.AppendJSON(nil), cursor(req.After))
}

func cursor(after int64) http.Header {
	h := http.Header{}
	if after > 0 {
		h.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	return h
}

func (r *raw) stream(ctx context.Context, method string, params []byte, h http.Header) events {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		err := r.read(ctx, method, params, h, yield)
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

var errLeft = errors.New("the reader has left")

func (r *raw) read(ctx context.Context, method string, params []byte, h http.Header, yield func(*a2a.StreamResponse, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = h
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("A2A-Version", "1.0")
	res, err := r.http.Do(req)
	if err != nil {
		return &a2aclient.TransportError{Host: r.url, Err: err}
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		doc, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode == http.StatusServiceUnavailable && len(doc) == 0 {
			return &a2aclient.TransportError{Host: r.url, Err: cmp.Or(err, errNobody)}
		}
		_, err = response(doc)
		if err == nil {
			err = fmt.Errorf("%s answered with no stream: %.200s", method, doc)
		}
		return err
	}
	lines := bufio.NewReader(res.Body)
	id, data := "", []byte(nil)
	over := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if over && err == io.EOF {
				return errLeft
			}
			// Without its empty line an event has not come.
			return &a2aclient.TransportError{Host: r.url, Err: fmt.Errorf("the stream ended: %w", err)}
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case strings.TrimRight(line, "\r\n") == "" && data != nil:
			el, err := response(data)
			if err != nil {
				return err
			}
			if el.Seq, err = strconv.ParseInt(id, 10, 64); err != nil && el.Message == nil {
				return fmt.Errorf("an event has the id %q", id)
			}
			id, data = "", nil
			over = el.Message != nil || el.State().Terminal() || el.State() == a2a.TaskStateInputRequired && el.Task == nil
			if !yield(el, nil) {
				return errLeft
			}
		case name == "id":
			id = value
		case name == "data":
			data = append(data, value...)
		}
	}
}

// response reads a JSON-RPC response that is, or should be, an element.
func response(doc []byte) (*a2a.StreamResponse, error) {
	var env struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(doc, &env); err != nil {
		return nil, fmt.Errorf("no JSON-RPC: %.200s", doc)
	}
	if e := env.Error; e != nil {
		code := a2a.CodeInternal
		switch e.Code {
		case -32000:
			code = a2a.CodeUnavailable
		case -32001:
			code = a2a.CodeTaskNotFound
		case -32004:
			code = a2a.CodeUnsupportedOperation
		case -32602:
			code = a2a.CodeInvalidParams
			if bytes.Contains(doc, []byte("MESSAGE_CONFLICT")) {
				code = a2a.CodeConflict
			}
		}
		return nil, &a2a.Error{Code: code, Message: e.Message, Peer: true}
	}
	el := new(a2a.StreamResponse)
	if err := el.UnmarshalJSON(env.Result); err != nil {
		return nil, fmt.Errorf("no element of a stream: %w: %.200s", err, doc)
	}
	return el, nil
}

// temporary reports whether an error is what kills and cuts bring about.
func temporary(err error) bool {
	var e *a2a.Error
	if errors.As(err, &e) {
		return e.Code == a2a.CodeUnavailable
	}
	var t *a2aclient.TransportError
	return errors.As(err, &t) || errors.Is(err, errStalled) || errors.Is(err, context.DeadlineExceeded)
}

// unreachable reports whether nothing was sent.
func unreachable(err error) bool {
	var t *a2aclient.TransportError
	return errors.As(err, &t) && t.Unreachable
}

var errStalled = errors.New("nothing came for long")

// patient bounds the silence of a stream: alive is called for each element.
func (c *client) patient(ctx context.Context) (_ context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(c.patience, func() { cancel(errStalled) })
	return ctx, func() { t.Reset(c.patience) }, func() {
		t.Stop()
		cancel(nil)
	}
}

// cut counts a stream or call that broke, and returns why.
func (c *client) cut(ctx context.Context, r *record, what string, err error) error {
	if context.Cause(ctx) == errStalled {
		c.w.count.stalls.Add(1)
		c.w.note("nothing came for long: %s, %s, %v", what, r, r.now())
		return errStalled
	}
	if temporary(err) {
		c.w.count.cuts.Add(1)
	}
	return err
}

// requests counts the library's subscriptions that came about, and what it
// sends again by itself.
type requests struct{ count *counts }

func (requests) Enabled(context.Context, slog.Level) bool { return true }

func (q requests) Handle(_ context.Context, rec slog.Record) error {
	if rec.Message == "a message got no answer and is sent again" {
		q.count.repeats.Add(1)
	}
	var op string
	ok := false
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "op":
			op = a.Value.String()
		case "status":
			ok = true
		}
		return true
	})
	if ok && op == "SubscribeToTask" {
		q.count.subscribed.Add(1)
	}
	return nil
}

func (q requests) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q requests) WithGroup(string) slog.Handler      { return q }
