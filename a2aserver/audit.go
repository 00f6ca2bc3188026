package a2aserver

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxAudited is how much of an id that a client chose is recorded, in bytes.
const maxAudited = 128

// Refusals that cost a client nothing are recorded up to floodRate a second,
// floodBurst at once: whoever floods a server must not fill its disk. The record
// after a gap says how many are missing.
const (
	floodRate  = 20
	floodBurst = 1000
)

// auditor writes the records of a server's calls. Nil writes nothing.
type auditor struct {
	log     *slog.Logger
	flood   *rate.Limiter
	skipped atomic.Int64 // refusals since the last record
}

func newAuditor(log *slog.Logger) *auditor {
	if log == nil {
		return nil
	}
	return &auditor{log: log, flood: rate.NewLimiter(floodRate, floodBurst)}
}

// call is what the audit log says of one call. It belongs to the goroutine of
// the call's handler. Calls are recorded before their answer goes out, and wait
// for the log: what was answered is on record.
type call struct {
	to      *auditor // nil where nobody wants to know, and until the call has begun
	began   time.Time
	binding string
	remote  string

	op      dialect.Op // 0 until it is known
	dialect dialect.Dialect
	stream  bool

	agent                string // of a Host
	tenant, task, config string // as asked for; where a task is made, the new one's id

	said    bool   // there is a record
	open    bool   // a stream that has begun and has no record of its end
	outcome string // of a stream's end; "" as long as nobody knows
}

// begin is for when a call has come to the door; whatever becomes of it is
// recorded.
func (c *call) begin(s *Server, binding string, r *http.Request) {
	if s.audit == nil {
		return
	}
	c.to, c.began, c.binding, c.remote, c.agent = s.audit, time.Now(), binding, r.RemoteAddr, s.name
	if a := s.opts.clientAddr(r.RemoteAddr, r.Header.Values); a.IsValid() {
		c.remote = a.String()
	}
}

// is notes what the call is for.
func (c *call) is(d dialect.Dialect, op dialect.Op) {
	c.dialect, c.op, c.stream = d, op, dialect.Get(op).Streams
}

// asks notes what a request is about.
func (c *call) asks(req any) {
	if c.to == nil {
		return
	}
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		c.tenant = q.Tenant
		if q.Message != nil {
			c.task = q.Message.TaskID
		}
	case *a2a.GetTaskRequest:
		c.tenant, c.task = q.Tenant, q.ID
	case *a2a.ListTasksRequest:
		c.tenant = q.Tenant
	case *a2a.CancelTaskRequest:
		c.tenant, c.task = q.Tenant, q.ID
	case *a2a.SubscribeToTaskRequest:
		c.tenant, c.task = q.Tenant, q.ID
	case *a2a.TaskPushNotificationConfig:
		c.tenant, c.task, c.config = q.Tenant, q.TaskID, q.ID
	case *a2a.GetTaskPushNotificationConfigRequest:
		c.tenant, c.task, c.config = q.Tenant, q.TaskID, q.ID
	case *a2a.ListTaskPushNotificationConfigsRequest:
		c.tenant, c.task = q.Tenant, q.TaskID
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		c.tenant, c.task, c.config = q.Tenant, q.TaskID, q.ID
	case *a2a.GetExtendedAgentCardRequest:
		c.tenant = q.Tenant
	}
}

// gives notes the ids of what a call has made.
func (c *call) gives(res any) {
	if c.to == nil || c.said {
		return
	}
	switch r := res.(type) {
	case *a2a.SendMessageResponse:
		if c.task == "" && r.Task != nil {
			c.task = r.Task.ID
		}
	case *a2a.StreamResponse:
		if c.task == "" {
			c.task = r.TaskID()
		}
	case *a2a.TaskPushNotificationConfig:
		c.config = r.ID
	}
}

// succeeds records a call that is answered, or a stream that begins.
func (c *call) succeeds(ctx context.Context) {
	if c.to == nil || c.said {
		return
	}
	c.said, c.open = true, c.stream
	c.record(ctx, AuditCall, auditOK, nil)
}

// fails records a call that is refused; of a stream that has begun it notes how
// it ends.
func (c *call) fails(ctx context.Context, e *a2a.Error) {
	if c.to == nil {
		return
	}
	outcome := e.Code.String()
	if e.Code == a2a.CodeUnavailable && ctx.Err() != nil {
		outcome = auditLeft
	}
	if c.said {
		c.outcome = outcome
		return
	}
	c.said = true
	c.record(ctx, AuditCall, outcome, e)
}

// ends records what has no record yet: the end of a stream. ctx is the
// request's, without what the server itself adds to it.
func (c *call) ends(ctx context.Context) {
	switch {
	case c.to == nil:
	case !c.said:
		// A stream that was given up before its first element.
		c.fails(ctx, errClosing)
	case c.open:
		c.open = false
		outcome := c.outcome
		if outcome == "" && ctx.Err() == nil {
			outcome = a2a.CodeUnavailable.String() // we left
		} else if outcome == "" {
			outcome = auditLeft
		}
		c.record(ctx, AuditStreamEnded, outcome, nil)
	}
}

func (c *call) record(ctx context.Context, event, outcome string, e *a2a.Error) {
	cheap := e != nil && (e.Code == a2a.CodeRateLimited || e.Code == a2a.CodeUnauthenticated || c.op == 0)
	if cheap && !c.to.flood.Allow() {
		c.to.skipped.Add(1)
		return
	}
	caller := a2a.CallerFrom(ctx)
	list := make([]slog.Attr, 0, 16)
	add := func(name, value string) {
		if value != "" {
			list = append(list, slog.String(name, audited(value)))
		}
	}
	add("outcome", outcome)
	level := slog.LevelInfo
	if e != nil && (e.Code == a2a.CodeUnauthenticated || e.Code == a2a.CodePermissionDenied) {
		level = slog.LevelWarn
		list = append(list, slog.Bool("denied", true))
	}
	if c.op != 0 {
		add("op", c.op.String())
		add("version", c.dialect.Version())
	}
	add("binding", c.binding)
	add("agent", c.agent)
	add("subject", caller.Subject)
	add("tenant", caller.Tenant)
	if c.tenant != caller.Tenant {
		add("asked_tenant", c.tenant)
	}
	add("via", caller.Via)
	add("remote", c.remote)
	add("task", c.task)
	add("config", c.config)
	if e != nil {
		add("scope", e.Meta["scope"])
		if e.Code == a2a.CodeUnauthenticated && e.Cause != nil {
			add("reason", e.Cause.Error()) // for operators, and without secrets: see auth.Method
		}
	}
	list = append(list, slog.Float64("ms", float64(time.Since(c.began).Microseconds())/1000))
	if n := c.to.skipped.Swap(0); n > 0 {
		list = append(list, slog.Int64("skipped", n))
	}
	// The record is written even if the client has gone.
	c.to.log.LogAttrs(context.WithoutCancel(ctx), level, event, list...)
}

// audited makes what a client wrote fit for a line: a part of it, quoted where
// it has anything that does not print. Not every handler and no terminal can be
// trusted to see to that.
func audited(s string) string {
	long := len(s) > maxAudited
	if long {
		s = s[:maxAudited]
		for len(s) > maxAudited-utf8.UTFMax && !utf8.ValidString(s) {
			s = s[:len(s)-1] // a rune that was cut; what is not UTF-8 is quoted
		}
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		s = strconv.QuoteToASCII(s)
	}
	if long {
		s += "…"
	}
	return s
}

// ofStatus returns an error of grpc-go as what it means.
func ofStatus(st *status.Status) *a2a.Error {
	switch st.Code() {
	case codes.ResourceExhausted:
		return &a2a.Error{Code: a2a.CodeTooLarge}
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return &a2a.Error{Code: a2a.CodeUnavailable}
	}
	return &a2a.Error{Code: a2a.CodeInternal}
}
