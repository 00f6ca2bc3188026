package a2aclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/webhook"
)

// maxBody bounds an answer, and an event of a stream, in bytes.
const maxBody = 64 << 20

// call is an operation on its way, in the form of one binding.
type call struct {
	face   *face // its destination
	op     dialect.Op
	req    any
	method string
	url    string
	body   []byte // nil if there is none
	media  string // of the body; empty means plain JSON
	accept string
	id     []byte        // of the JSON-RPC request; nil on other bindings
	codec  dialect.Codec // of the answer, on HTTP+JSON

	grpc *http.Client // performs it if it is gRPC; else nil

	message *sending // the message to be sent; else nil

	// card checks and parses the document of an extended card, if Options.CheckCard is
	// set; else nil
	card func(doc []byte) (*a2a.AgentCard, error)

	lastEventID string // the cursor of a stream that is resumed
	marked      bool   // the elements of the stream are to carry their positions
}

// send performs a call up to the header of its answer. The error is a
// *TransportError, or the cause of ctx.
func (c *Client) send(ctx context.Context, k *call) (*http.Response, error) {
	watch := new(dialing)
	leaving, _ := c.opts.leave(ctx, c.from)
	req, err := http.NewRequestWithContext(watch.watch(leaving), k.method, k.url, bytes.NewReader(k.body))
	if err != nil {
		return nil, &a2a.Error{Code: a2a.CodeInternal, Message: "the interface's URL cannot be used", Cause: err}
	}
	h := req.Header
	switch {
	case k.grpc != nil:
		h.Set("TE", "trailers")
		h.Set("Grpc-Accept-Encoding", "identity")
		if k.lastEventID == "" && dialect.Get(k.op).Streams {
			h.Set("Last-Event-ID", "0") // asks for positions: dialect.SeqKey
		}
	case k.body != nil:
		// All servers accept plain JSON; not all accept application/a2a+json, which
		// 1.0.1 prefers (DIALECTS 1.6).
		h.Set("Content-Type", "application/json")
	}
	if k.media != "" {
		h.Set("Content-Type", k.media)
	}
	if k.accept != "" {
		h.Set("Accept", k.accept)
	}
	c.opts.setHeader(h, k.face.version)
	if k.marked = c.marks(k); k.marked {
		k.askForMarks(h)
	}
	if dialect.Get(k.op).Streams {
		h.Set("Accept-Encoding", "identity") // compression holds events back
	}
	if k.lastEventID != "" {
		h.Set("Last-Event-ID", k.lastEventID)
	}
	k.setHops(ctx, h)
	if len(h[dialect.TraceHeader]) == 0 { // a caller that sets the header itself knows the trace better
		telemetry.Inject(ctx, h)
	}
	creds, client := c.creds, c.http
	if k.grpc != nil {
		creds, client = creds.asMetadata(), k.grpc
	}
	if creds, err = c.withToken(ctx, creds, req.URL); err != nil {
		return nil, err
	}
	if k.message != nil && !creds.any() { // there is no token
		k.message.window = min(k.message.window, c.knows(false))
	}
	k.setKey(h)
	req = creds.addTo(req)
	start := time.Now()
	res, err := client.Do(req)
	logRequest(ctx, c.log, k.op.String(), req, res, start, err)
	if err != nil {
		res, err = nil, watch.transportError(req.URL.Host, orCause(ctx, err))
	}
	if k.message != nil {
		k.message.heard(k, res, err)
	}
	return res, err
}

// setHops sends with a message how many agents it came through: within an agent's run,
// the hops of the message that the agent works on, plus one. This detects agents that
// call each other in a circle; see docs/extensions/hops-v1.md.
func (k *call) setHops(ctx context.Context, h http.Header) {
	if _, ok := k.req.(*a2a.SendMessageRequest); ok && a2a.HasCaller(ctx) {
		h.Set(dialect.HopsHeader, dialect.FormatHops(a2a.CallerFrom(ctx).Hops+1))
	}
}

// setKey sends the key of a message. http.Transport takes the header, even one without
// a value, which is not sent, as permission to send the request again by itself. If
// that is not allowed, the header is spelt in a way that http.Transport does not look
// for.
func (k *call) setKey(h http.Header) {
	const canonical, other = dialect.KeyHeader, "idempotency-key"
	key := ""
	if m, ok := k.req.(*a2a.SendMessageRequest); ok {
		key = m.IdempotencyKey
	}
	creates := dialect.Get(k.op).Creates
	again := !creates || k.message != nil && k.message.window > 0
	switch {
	case key != "" && again:
		h[canonical] = []string{dialect.FormatKey(key)}
	case key != "":
		delete(h, canonical)
		h[other] = []string{dialect.FormatKey(key)}
	case !creates || again && len(h[canonical]) == 0:
		h[canonical] = []string{}
	}
}

// roundTrip performs a call that has one answer. If d is above 0, it is a time limit.
func (c *Client) roundTrip(ctx context.Context, k *call, d time.Duration) (any, error) {
	inner := ctx
	if d > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeoutCause(ctx, d, timeout(d))
		defer cancel()
	}
	res, err := c.send(inner, k)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	defer res.Body.Close()
	body, err := c.readBody(inner, k, res)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	answer, err := k.face.binding.answer(k, res, body)
	readSource(res.Header, answer)
	return answer, withRetryAfter(err, res)
}

// readSource sets the Source of webhooks in an answer from its header, which works in
// every version and binding.
func readSource(h http.Header, answer any) {
	source := h.Get(webhook.SourceHeader)
	if !webhook.ValidSource(source) {
		return
	}
	switch r := answer.(type) {
	case *a2a.TaskPushNotificationConfig:
		r.Source = source
	case *a2a.ListTaskPushNotificationConfigsResponse:
		for _, c := range r.Configs {
			if c != nil {
				c.Source = source
			}
		}
	}
}

func (c *Client) readBody(ctx context.Context, k *call, res *http.Response) ([]byte, error) {
	body, err := readAll(res.Body, maxBody)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s is larger than %d bytes", k.op, maxBody)
	case err != nil:
		return nil, &TransportError{Host: res.Request.URL.Host, Err: orCause(ctx, err)}
	}
	return body, nil
}

// orCause returns the cause of a context that has ended, as a2a.Service requires, and
// otherwise err.
func orCause(ctx context.Context, err error) error { return cmp.Or(context.Cause(ctx), err) }

var errTooLarge = errors.New("too large")

// readAll is io.ReadAll with a limit, in bytes. It drops a byte order mark: JSON has
// none, but programs on Windows write one.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	_, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && int64(buf.Len()) > limit {
		err = errTooLarge
	}
	return bytes.TrimPrefix(buf.Bytes(), []byte("\ufeff")), err
}

// timeout is the cause of a context that a time limit of this package has ended.
type timeout time.Duration

func (d timeout) Error() string { return "no answer within " + time.Duration(d).String() }
func (d timeout) Timeout() bool { return true }

// kindOfBody describes a body that is not JSON.
func kindOfBody(h http.Header, body []byte) string {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	start := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 64)])))
	switch {
	case compressed(h):
		return "a compressed body"
	case len(body) == 0:
		return "an empty body"
	case media == "text/html" || strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html"):
		return "an HTML page"
	case strings.HasSuffix(media, "json"):
		return "text that does not parse"
	case media == "":
		return "something else"
	}
	return fmt.Sprintf("%q", media)
}

// compressed reports whether a body is compressed in a way that was not asked for: net/http
// has undone what was.
func compressed(h http.Header) bool {
	return slices.Contains([]string{"gzip", "x-gzip", "deflate", "br", "zstd"}, strings.ToLower(h.Get("Content-Encoding")))
}

// notJSON is the error for an answer that is not JSON.
func notJSON(k *call, res *http.Response, body []byte) error {
	return a2a.Errorf(a2a.CodeInvalidAgentResponse, "%s answered %s with %s (HTTP %d) where JSON should be: is this the agent's address?",
		res.Request.URL.Host, k.op, kindOfBody(res.Header, body), res.StatusCode)
}

// logRequest logs a request, without the query and without the text of net/http's
// errors, which contains it.
func logRequest(ctx context.Context, log *slog.Logger, op string, req *http.Request, res *http.Response, start time.Time, err error) {
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", op), slog.String("method", req.Method),
		slog.String("host", req.URL.Host), slog.String("path", req.URL.Path),
		slog.Duration("took", time.Since(start)),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", new(dialing).transportError(req.URL.Host, err).Err))
	} else {
		attrs = append(attrs, slog.Int("status", res.StatusCode))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "request", attrs...)
}
