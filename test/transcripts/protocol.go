package transcripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// Request returns the operation of a call and its request. Placeholders must
// have been filled. Of a message, two members of our own are read: key, which
// goes into Idempotency-Key, and after.
func (c *Call) Request(doc string) (dialect.Op, any, error) {
	for i := range dialect.Operations {
		op := dialect.Operations[i].Op
		if op.String() != c.Op {
			continue
		}
		req := dialect.NewRequest(op)
		if err := json.Unmarshal([]byte(doc), req); err != nil {
			return 0, nil, err
		}
		if r, ok := req.(*a2a.SendMessageRequest); ok {
			var own struct {
				Key   string
				After int64
			}
			if err := json.Unmarshal([]byte(doc), &own); err != nil {
				return 0, nil, err
			}
			r.IdempotencyKey, r.After = own.Key, own.After
		}
		return op, req, nil
	}
	return 0, nil, fmt.Errorf("there is no operation %s", c.Op)
}

type appender interface{ AppendJSON(dst []byte) []byte }

// RequestDoc returns a request as 1.0 JSON. Values without a member of 1.0
// follow in members of our own: legacy, for what an older version allows, key,
// for that of a message, and after, for the event behind which a stream goes on.
func RequestDoc(req any) string {
	doc := req.(appender).AppendJSON(nil)
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		doc = withLegacy(doc, r.Legacy)
		if r.IdempotencyKey != "" {
			key, _ := json.Marshal(r.IdempotencyKey) // a string cannot fail
			doc = with(doc, "key", string(key))
		}
		doc = withAfter(doc, r.After)
	case *a2a.SubscribeToTaskRequest:
		doc = withAfter(withLegacy(doc, r.Legacy), r.After)
	case *a2a.TaskPushNotificationConfig:
		doc = withLegacy(doc, r.Legacy)
	case *a2a.GetTaskPushNotificationConfigRequest:
		doc = withLegacy(doc, r.Legacy)
	}
	return string(doc)
}

func withAfter(doc []byte, after int64) []byte {
	if after == 0 {
		return doc
	}
	return with(doc, "after", strconv.FormatInt(after, 10))
}

func withLegacy(doc []byte, l *a2a.Legacy) []byte {
	if l == nil {
		return doc
	}
	b, _ := json.Marshal(struct { // strings and booleans cannot fail
		Version     a2a.Version `json:"version"`
		CreateByID  bool        `json:"createById,omitempty"`
		Reopen      bool        `json:"reopen,omitempty"`
		TaskOnly    bool        `json:"taskOnly,omitempty"`
		CanceledToo bool        `json:"canceledToo,omitempty"`
		FinishedToo bool        `json:"finishedToo,omitempty"`
	}(*l))
	return with(doc, "legacy", string(b))
}

// with adds a member to an object.
func with(doc []byte, name, value string) []byte {
	doc = doc[:len(doc)-1]
	if len(doc) > 1 {
		doc = append(doc, ',')
	}
	return append(doc, `"`+name+`":`+value+`}`...)
}

// errorDoc is how transcripts write an error.
type errorDoc struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Fields  []fieldDoc        `json:"fields,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
}

type fieldDoc struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Answer reads what a service answers: a result of the operation or an element
// of its stream, nil, or an error. Two members of our own are read: seq of an
// element, and born of a task, the version it was created in.
func Answer(op dialect.Op, doc string) (any, error) {
	var own struct {
		Error *errorDoc
		Seq   int64
		Born  a2a.Version
		Task  struct{ Born a2a.Version }
	}
	if err := json.Unmarshal([]byte(doc), &own); err != nil {
		return nil, err
	}
	if own.Error != nil {
		return own.Error.read()
	}
	res := dialect.NewResult(op)
	if res == nil {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(doc), res); err != nil {
		return nil, err
	}
	switch r := res.(type) {
	case *a2a.Task:
		r.Version = own.Born
	case *a2a.SendMessageResponse:
		if r.Task != nil {
			r.Task.Version = own.Task.Born
		}
	case *a2a.StreamResponse:
		r.Seq = own.Seq
		if r.Task != nil {
			r.Task.Version = own.Task.Born
		}
	}
	return res, nil
}

func (d *errorDoc) read() (any, error) {
	for i := range dialect.Errors {
		if code := dialect.Errors[i].Code; code.String() == d.Code {
			e := &a2a.Error{Code: code, Message: d.Message, Meta: d.Meta}
			for _, f := range d.Fields {
				e.Fields = append(e.Fields, a2a.FieldViolation(f))
			}
			return e, nil
		}
	}
	return nil, fmt.Errorf("there is no error %q", d.Code)
}

// MatchResult compares what a caller got with a document: of seq and of the
// details of errors only what the document speaks of.
func (v Vars) MatchResult(want string, got any) error {
	var spoken struct {
		Seq   *int64
		Error map[string]json.RawMessage
	}
	want = born.ReplaceAllString(want, "")
	if err := json.Unmarshal([]byte(want), &spoken); err != nil && want != "null" {
		return err
	}
	var doc []byte
	switch r := got.(type) {
	case nil:
		doc = []byte("null")
	case error:
		doc = writeError(r, spoken.Error)
	case *a2a.StreamResponse:
		doc = r.AppendJSON(nil)
		if spoken.Seq != nil {
			doc = with(doc, "seq", strconv.FormatInt(r.Seq, 10))
		}
	case appender:
		doc = r.AppendJSON(nil)
	}
	return v.Match(want, string(doc))
}

// born is for the server alone.
var born = regexp.MustCompile(`"born":"[0-9.]+",?`)

func writeError(err error, spoken map[string]json.RawMessage) []byte {
	d := errorDoc{Code: fmt.Sprintf("%T", err), Message: err.Error()}
	var e *a2a.Error
	if errors.As(err, &e) {
		d = errorDoc{Code: e.Code.String(), Message: e.Message, Meta: e.Meta}
		for _, f := range e.Fields {
			d.Fields = append(d.Fields, fieldDoc(f))
		}
	}
	b, _ := json.Marshal(d)
	var members map[string]json.RawMessage
	_ = json.Unmarshal(b, &members)
	for name := range members {
		if _, ok := spoken[name]; !ok && name != "code" {
			delete(members, name)
		}
	}
	b, _ = json.Marshal(map[string]any{"error": members})
	return b
}

// Show returns what a caller got as text, for people.
func Show(results []any) string {
	var b strings.Builder
	for _, r := range results {
		if a, ok := r.(appender); ok {
			r = string(a.AppendJSON(nil))
		}
		fmt.Fprintf(&b, "\n%v", r)
	}
	return b.String()
}
