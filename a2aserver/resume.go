package a2aserver

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// ResumeExtension returns the entry of a card's Capabilities.Extensions for a server
// that offers the resume extension (docs/extensions/resume-v1.md). The service has to
// give its elements a Seq and to obey SubscribeToTaskRequest.After.
func ResumeExtension() *a2a.AgentExtension { return dialect.ResumeExtension() }

// canResume reports whether a card offers the extension.
func canResume(card *a2a.AgentCard) bool {
	return slices.ContainsFunc(card.Capabilities.Extensions, func(e *a2a.AgentExtension) bool {
		return e != nil && e.URI == dialect.ResumeURI
	})
}

// cursorHeader carries the cursor over HTTP, and over gRPC as metadata.
const (
	cursorHeader = "Last-Event-ID"
	cursorKey    = "Last-Event-Id" // as net/http has it in its map
)

// resumption says where the stream of a call continues another one.
type resumption struct {
	field  string // where the cursor came in, for errors
	marked bool   // the extension is active: elements have their positions in their metadata
}

// resume finds the cursor of a streaming request and puts it into the request. The
// header comes first, because EventSource keeps it up to date while it repeats an
// address; then the place that the extension has.
func (x *exchange) resume(to answerer, req any) error {
	caller := a2a.CallerFrom(x.ctx)
	cursor, byBody := dialect.Resume{}, false // byBody: no header asked for the extension
	if x.s.resumes && dialect.HasExtensions(x.dialect) {
		var err error
		if cursor, err = dialect.ReadResume(x.query, req, x.params); err != nil {
			return err
		}
		named := slices.Contains(caller.Extensions, dialect.ResumeURI)
		x.marked, byBody = named || cursor.Asked, !named && cursor.Asked
	}
	after, err := lastEventID(x.headers)
	if err != nil {
		return err
	}
	x.field = cursorHeader
	if after == 0 && cursor.After > 0 {
		after, x.field = cursor.After, cursor.Field
	}
	switch q := req.(type) {
	case *a2a.SubscribeToTaskRequest:
		q.After = after
	case *a2a.SendMessageRequest:
		q.After = after // of an earlier stream of the same message
		if x.s.resumes {
			dialect.WithoutResume(q)
		}
	}
	if after > 0 {
		x.span.resumes(after)
		x.audit.Resumes()
	}
	x.query, x.params = nil, nil // a stream lasts, and must not hold its request's body
	if byBody {
		caller.Extensions = append(slices.Clip(caller.Extensions), dialect.ResumeURI)
		x.ctx = a2a.WithCaller(x.ctx, caller)
		to.resumes()
	}
	return nil
}

// element returns an element in the form that the client wants.
func (r *resumption) element(el *a2a.StreamResponse) *a2a.StreamResponse {
	if r.marked {
		return dialect.WithEventID(el)
	}
	return el
}

// named makes an error of the service about the cursor name the field that the cursor
// came in.
func (r *resumption) named(err error) error {
	if err == nil {
		return nil
	}
	var e *a2a.Error
	if r.field == cursorHeader || !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != cursorHeader {
		return err
	}
	c := *e
	c.Fields = []a2a.FieldViolation{{Field: r.field, Description: e.Fields[0].Description}}
	c.Message = r.field + strings.TrimPrefix(e.Message, cursorHeader)
	return &c
}

// lastEventID returns the cursor of a stream that is to be resumed, or 0.
func lastEventID(h http.Header) (int64, error) {
	v := strings.TrimSpace(first(h, cursorKey))
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || v[0] == '+' {
		return 0, a2a.Invalid(cursorHeader, "must be the id of an event of this task's stream")
	}
	return n, nil
}
