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

// maxValue is how much of an id that a client chose is recorded, in bytes.
const maxValue = 128

// Refusals that cost a client nothing are recorded up to floodRate a second,
// floodBurst at once, so that a flood of them cannot fill the disk. The record
// after a gap says how many are missing.
const (
	floodRate  = 20
	floodBurst = 1000
)

// Log is where the records of a server's calls go. Nil discards them. It may be
// used by many goroutines at once.
type Log struct {
	audit    sink
	requests sink    // see line
	meters   *meters // nil: calls are not measured
	provider metric.MeterProvider
}

// sink is where lines go.
type sink struct {
	to      *slog.Logger // nil: nowhere
	flood   *rate.Limiter
	skipped atomic.Int64 // lines since the last one
}

// skips reports whether there were too many lines like one that costs its client
// nothing.
func (s *sink) skips(cheap bool) bool {
	skip := cheap && !s.flood.Allow()
	if skip {
		s.skipped.Add(1)
	}
	return skip
}

// write writes a line about a call, even if its client has gone.
func (s *sink) write(ctx context.Context, c *Record, level slog.Level, event string, list fields) {
	list = append(list, slog.Float64("ms", c.ms()))
	if n := s.skipped.Swap(0); n > 0 {
		list = append(list, slog.Int64("skipped", n))
	}
	s.to.LogAttrs(context.WithoutCancel(ctx), level, event, list...)
}

// fields are what a line says.
type fields []slog.Attr

// add adds what a client may have chosen, unless it is empty. The fields stay on the
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

// Writes reports whether anything is written of calls, which is where their remote
// addresses are needed.
func (l *Log) Writes() bool { return l.audit.to != nil || l.requests.to != nil }

// Record is what the log says of one call. It belongs to the goroutine of the
// call's handler. A call is recorded before its answer goes out, and waits for the
// log, so every answer that a client has is on record. The zero Record, before
// Begin, writes nothing.
type Record struct {
	Agent   string // of several; "" elsewhere
	Outcome string // of a stream's end; "" as long as it is unknown
	Traced  bool   // the contexts that come have the call's span, and measurements name it

	Arrived time.Time // when the call did; Begin sets it if nobody has

	to      *Log // nil until Begin, or if nothing is recorded
	binding string
	remote  string

	op      dialect.Op // 0 until it is known
	dialect dialect.Dialect
	stream  bool

	tenant, task, config string // as requested; for a new task or configuration, its id
	state                a2a.TaskState

	written bool // the call has its record
	resumes bool // its stream is to go on behind an event that the client has
	open    bool // a stream has begun, and its end is not recorded
}

// Begin is for a call that has arrived at an agent from a remote address. From now
// on it is recorded, whatever comes of it.
func (c *Record) Begin(to *Log, binding, remote, agent string) {
	if to == nil {
		return
	}
	c.to, c.binding, c.remote, c.Agent = to, binding, remote, agent
	if c.Arrived.IsZero() {
		c.Arrived = time.Now()
	}
}

// Resumes notes that a stream is to go on behind an event that the client has.
func (c *Record) Resumes() { c.resumes = true }

// Skip says that the call is not to be recorded.
func (c *Record) Skip() { c.written = true }

// Operation notes what the call is for.
func (c *Record) Operation(d dialect.Dialect, op dialect.Op) {
	c.dialect, c.op, c.stream = d, op, dialect.Get(op).Streams
}

// Request notes what a request is about.
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

// Result notes the ids of what a call has made, and the state of its task.
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

// Fail records a call that is refused; of a stream that has begun it notes how
// it ends.
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

// End records what has no record yet: the end of a stream. ctx is the
// request's, without what the server itself adds to it.
func (c *Record) End(ctx context.Context) {
	switch {
	case c.to == nil:
	case !c.written:
		// A stream that was given up before its first element.
		c.Fail(ctx, &a2a.Error{Code: a2a.CodeUnavailable})
	case c.open:
		outcome := cmp.Or(c.Outcome, Left)
		if c.Outcome == "" && ctx.Err() == nil {
			outcome = a2a.CodeUnavailable.String() // we left
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

// ms is how long the call has taken.
func (c *Record) ms() float64 { return float64(time.Since(c.Arrived).Microseconds()) / 1000 }

func (c *Record) seconds() float64 { return time.Since(c.Arrived).Seconds() }

// printable makes what a client wrote fit for a line: a part of it, quoted where
// it has anything that does not print, or looks as if it was quoted. Not every
// handler and no terminal can be trusted to see to that.
func printable(s string) string {
	long := len(s) > maxValue
	if long {
		s = s[:maxValue]
		for len(s) > maxValue-utf8.UTFMax && !utf8.ValidString(s) {
			s = s[:len(s)-1] // a rune that was cut; what is not UTF-8 is quoted
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

// prints reports whether a text is valid, and all of it shows as what it is.
func prints(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
