package audit

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"
)

// maxValue limits how much of an id chosen by a client is recorded, in bytes.
const maxValue = 128

// Refusals that cost a client nothing are recorded at up to floodRate per second, with bursts
// of floodBurst, so that a flood of them cannot fill the disk. The record after a gap says
// how many are missing.
const (
	floodRate  = 20
	floodBurst = 1000
)

// Log receives the records of a server's calls. A nil Log discards them. It is safe for
// concurrent use.
type Log struct {
	audit    sink
	requests sink    // see line
	meters   *meters // nil: calls are not measured
	provider metric.MeterProvider
}

// sink is a destination for lines.
type sink struct {
	to      *slog.Logger // nil: nowhere
	flood   *rate.Limiter
	skipped atomic.Int64 // lines skipped since the last one written
}

// skips reports whether to skip a line, because there were too many lines. Only lines that
// cost their client nothing (cheap) are skipped.
func (s *sink) skips(cheap bool) bool {
	skip := cheap && !s.flood.Allow()
	if skip {
		s.skipped.Add(1)
	}
	return skip
}

// write writes a line about a call, even if its client has disconnected.
func (s *sink) write(ctx context.Context, c *Record, level slog.Level, event string, list fields) {
	list = append(list, slog.Float64("ms", c.ms()))
	if n := s.skipped.Swap(0); n > 0 {
		list = append(list, slog.Int64("skipped", n))
	}
	s.to.LogAttrs(context.WithoutCancel(ctx), level, event, list...)
}

// fields are the attributes of a line.
type fields []slog.Attr

// add adds a value that a client may have chosen, unless it is empty. The fields stay on the
// stack, because there is no pointer to them.
func (f fields) add(name, value string) fields {
	if value == "" {
		return f
	}
	return append(f, slog.String(name, printable(value)))
}

// New returns a Log that writes audit records to one logger and request lines to
// another, and measures calls with a provider; each may be nil. It returns nil if
// all are.
func New(to, requests *slog.Logger, p metric.MeterProvider) *Log {
	if to == nil && requests == nil && p == nil {
		return nil
	}
	return &Log{
		audit:    sink{to: to, flood: rate.NewLimiter(floodRate, floodBurst)},
		requests: sink{to: requests, flood: rate.NewLimiter(floodRate, floodBurst)},
		meters:   newMeters(p),
		provider: p,
	}
}

// WritesTo reports whether New returns a Log like this one for these arguments.
func (l *Log) WritesTo(to, requests *slog.Logger, p metric.MeterProvider) bool {
	if l == nil {
		return to == nil && requests == nil && p == nil
	}
	return l.audit.to == to && l.requests.to == requests && l.provider == p
}

// Writes reports whether calls are written anywhere, which requires their remote addresses.
func (l *Log) Writes() bool { return l.audit.to != nil || l.requests.to != nil }

// Record writes the log's records about one call. It belongs to the goroutine of the call's
// handler. A call is recorded, and the log written, before its answer is sent, so every
// answer that a client has is on record. The zero Record, before Begin, writes nothing.
type Record struct {
	Agent   string // one of several agents; "" if there is only one
	Outcome string // of a stream's end; "" while it is unknown
	Traced  bool   // the contexts passed to it have the call's span, and measurements refer to it

	Arrived time.Time // when the call arrived; Begin sets it if it is zero

	to      *Log // nil until Begin, or if nothing is recorded
	binding string
	remote  string

	op      dialect.Op // 0 while it is unknown
	dialect dialect.Dialect
	stream  bool

	tenant, task, config string // as requested; for a new task or config, its id
	state                a2a.TaskState

	written bool // the call is recorded
	resumes bool // the stream is to continue after an event that the client has
	open    bool // a stream has begun, and its end is not recorded yet
}

// Begin notes that a call has arrived at an agent from a remote address. From now on the call
// is recorded, whatever its outcome.
func (c *Record) Begin(to *Log, binding, remote, agent string) {
	if to == nil {
		return
	}
	c.to, c.binding, c.remote, c.Agent = to, binding, remote, agent
	if c.Arrived.IsZero() {
		c.Arrived = time.Now()
	}
}

// Resumes notes that a stream is to continue after an event that the client has.
func (c *Record) Resumes() { c.resumes = true }

// Skip prevents the call from being recorded.
func (c *Record) Skip() { c.written = true }

// Operation notes the operation of the call.
func (c *Record) Operation(d dialect.Dialect, op dialect.Op) {
	c.dialect, c.op, c.stream = d, op, dialect.Get(op).Streams
}

// Request notes the subject of a request.
func (c *Record) Request(req any) {
	if c.to == nil || !c.to.Writes() {
		return
	}
	about := dialect.SubjectOf(req)
	if about.Tenant != nil {
		c.tenant = *about.Tenant
	}
	c.task, c.config = about.Task, about.Config
}

// Result notes the ids of objects that the call has created, and the state of its task.
func (c *Record) Result(res any) {
	if c.to == nil {
		return
	}
	if m := c.to.meters; m != nil && c.stream {
		m.events.Add(context.Background(), 1, c.binding)
	}
	if !c.to.Writes() {
		return
	}
	first := !c.written
	switch r := res.(type) {
	case *a2a.Task:
		c.state = r.Status.State
	case *a2a.SendMessageResponse:
		if r.Task != nil {
			c.state = r.Task.Status.State
			if first {
				c.task = cmp.Or(c.task, r.Task.ID)
			}
		}
	case *a2a.StreamResponse:
		if r.StatusUpdate != nil || r.Task != nil {
			c.state = r.State()
		}
		if first {
			c.task = cmp.Or(c.task, r.TaskID())
		}
	case *a2a.TaskPushNotificationConfig:
		if first {
			c.config = r.ID
		}
	}
}

// Succeed records a call that is answered, or a stream that begins.
func (c *Record) Succeed(ctx context.Context) {
	if c.to == nil || c.written {
		return
	}
	c.written, c.open = true, c.stream
	c.write(ctx, Call, OK, nil)
	if c.open {
		c.to.meters.begins(ctx, c)
		return
	}
	c.to.meters.ends(ctx, c, OK, nil)
	c.line(ctx, OK, nil)
}

// Fail records a call that is refused. If its stream has begun, it notes the outcome of the
// stream.
func (c *Record) Fail(ctx context.Context, e *a2a.Error) {
	if c.to == nil {
		return
	}
	outcome := e.Code.String()
	if e.Code == a2a.CodeUnavailable && ctx.Err() != nil {
		outcome = Left
	}
	if c.written {
		c.Outcome = outcome
		return
	}
	c.written = true
	c.to.meters.ends(ctx, c, outcome, e)
	c.write(ctx, Call, outcome, e)
	c.line(ctx, outcome, e)
}

// End records the end of the call if it is not recorded yet, such as the end of a stream. ctx
// is the request's own context, without the server's additions.
func (c *Record) End(ctx context.Context) {
	switch {
	case c.to == nil:
	case !c.written:
		// A stream that was abandoned before its first element.
		c.Fail(ctx, &a2a.Error{Code: a2a.CodeUnavailable})
	case c.open:
		outcome := cmp.Or(c.Outcome, Left)
		if c.Outcome == "" && ctx.Err() == nil {
			outcome = a2a.CodeUnavailable.String() // the server ended it
		}
		c.to.meters.ends(ctx, c, outcome, nil)
		c.open = false
		c.write(ctx, StreamEnded, outcome, nil)
		c.line(ctx, outcome, nil)
	}
}

// cheap reports whether a refusal cost the client nothing.
func (c *Record) cheap(e *a2a.Error) bool {
	return e != nil && (e.Code == a2a.CodeRateLimited || e.Code == a2a.CodeUnauthenticated || c.op == 0)
}

func (c *Record) write(ctx context.Context, event, outcome string, e *a2a.Error) {
	to := &c.to.audit
	if to.to == nil || to.skips(c.cheap(e)) {
		return
	}
	caller := a2a.CallerFrom(ctx)
	list := make(fields, 0, 16)
	list = list.add("outcome", outcome)
	level := slog.LevelInfo
	if e != nil && (e.Code == a2a.CodeUnauthenticated || e.Code == a2a.CodePermissionDenied) {
		level = slog.LevelWarn
		list = append(list, slog.Bool("denied", true))
	}
	if c.op != 0 {
		list = list.add("op", c.op.String())
		list = list.add("version", c.dialect.Version())
	}
	list = list.add("binding", c.binding)
	list = list.add("agent", c.Agent)
	list = list.add("subject", caller.Subject)
	list = list.add("tenant", caller.Tenant)
	if c.tenant != caller.Tenant {
		list = list.add("asked_tenant", c.tenant)
	}
	list = list.add("via", caller.Via)
	list = list.add("remote", c.remote)
	list = list.add("task", c.task)
	list = list.add("config", c.config)
	if e != nil {
		list = list.add("scope", e.Meta["scope"])
		if e.Code == a2a.CodeUnauthenticated && e.Cause != nil {
			list = list.add("reason", e.Cause.Error()) // for operators, and without secrets: see auth.Method
		}
	}
	to.write(ctx, c, level, event, list)
}

// ms returns how long the call has taken, in milliseconds.
func (c *Record) ms() float64 { return float64(time.Since(c.Arrived).Microseconds()) / 1000 }

func (c *Record) seconds() float64 { return time.Since(c.Arrived).Seconds() }

// printable makes a text by a client safe for a line: it cuts it to a maximum length, and
// quotes it if it has non-printing characters or looks as if it was quoted. Not every handler
// and no terminal can be trusted to do that.
func printable(s string) string {
	long := len(s) > maxValue
	if long {
		s = s[:maxValue]
		for len(s) > maxValue-utf8.UTFMax && !utf8.ValidString(s) {
			s = s[:len(s)-1] // part of a rune that was cut; other invalid UTF-8 is quoted
		}
	}
	if !prints(s) || strings.HasPrefix(s, `"`) {
		s = strconv.QuoteToASCII(s)
	}
	if long {
		s += "…"
	}
	return s
}

// prints reports whether a text is valid UTF-8 and has only printing characters.
func prints(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
