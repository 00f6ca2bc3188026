package httpagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/program"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// request is the body of a POST. It is the same on every run, because strict services
// require that of requests with the same key; anything that changes is in headers.
type request struct {
	Type     string         `json:"type"` // message; or answer, to a question of the service
	Text     string         `json:"text"`
	Version  int            `json:"parley"`
	Task     string         `json:"task"`
	Context  string         `json:"context"`
	Caller   program.Caller `json:"caller"`
	Message  *a2a.Message   `json:"message"`
	Metadata a2a.JSON       `json:"metadata,omitempty"`
	Skill    *program.Skill `json:"skill,omitempty"`
	Accepted []string       `json:"accepted,omitempty"`
	State    a2a.JSON       `json:"state,omitempty"`
	Callback string         `json:"callback,omitempty"`
	History  []words        `json:"history,omitempty"`
}

// turnIDs returns an id that is unique to the turn, even if the clients of different
// callers chose the same ids for tasks and messages: no caller may get the answer to
// another caller's Idempotency-Key, or receive another caller's callbacks. It is the
// same on every run because it is made from the id of the turn's first artifact, which
// is used for nothing else. before is the id that earlier releases made, without the
// subject.
func turnIDs(t *agent.Turn, task *a2a.Task) (id, before string) {
	h := sha256.New()
	for _, s := range []string{t.Caller().Tenant, task.ID, t.Artifact("").ID()} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	before = hex.EncodeToString(h.Sum(nil)[:16])
	if s := t.Caller().Subject; s != "" {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), before
}

func (r *run) exchange(n int) *exchange { return &exchange{n: n, key: keyOf(r.id, n)} }

func keyOf(turn string, n int) string { return turn + "-" + strconv.Itoa(n) }

// body returns the body of an exchange's request.
func (r *run) body(ctx context.Context, x *exchange, m *a2a.Message) ([]byte, error) {
	c := r.t.Caller()
	if b := r.a.body; b != nil {
		var call a2a.SkillCall
		if named := r.t.Skill(); named != nil {
			call = *named
		}
		return b.body(map[string]string{
			"skill": call.ID, "arguments": string(call.Arguments),
			"text": textOf(m), "task": r.task.ID, "context": r.task.ContextID, "message": m.MessageID, "subject": c.Subject, "tenant": c.Tenant,
		}), nil
	}
	q := &request{
		Type:     "message",
		Text:     textOf(m),
		Version:  1,
		Task:     r.task.ID,
		Context:  r.task.ContextID,
		Caller:   program.Caller{Subject: c.Subject, Tenant: c.Tenant},
		Message:  m,
		Metadata: r.t.Metadata(),
		Accepted: r.t.AcceptedOutputModes(),
		State:    x.state,
		Callback: r.a.opts.Callbacks.address(x.key),
		Skill:    (*program.Skill)(r.t.Skill()),
	}
	if x.n > 0 {
		q.Type = "answer"
	} else if most := r.a.opts.history(); most > 0 {
		var err error
		if q.History, err = r.history(ctx, most); err != nil {
			return nil, err
		}
	}
	return json.Marshal(q)
}

// header returns the headers of an exchange's request. last is the id of the last event
// of a stream that is resumed.
func (r *run) header(ctx context.Context, x *exchange, last string) http.Header {
	h := http.Header{}
	for name, value := range r.a.opts.Headers {
		h.Set(name, value.Reveal())
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "Parley")
	}
	h.Set("Content-Type", "application/json")
	if b := r.a.body; b != nil {
		h.Set("Content-Type", b.media())
	}
	h.Set("Accept", "application/json, text/event-stream, text/plain;q=0.9, */*;q=0.5")
	key := x.key
	if x.secret {
		key += "-" + strconv.Itoa(r.t.Attempt()) // the credentials may differ from those of an earlier attempt
	}
	h.Set("Idempotency-Key", key)
	h.Set("Parley-Attempt", strconv.Itoa(r.t.Attempt()))
	telemetry.Inject(ctx, h)
	if last != "" {
		h.Set("Last-Event-ID", last)
	}
	return h
}

// textOf returns the text of a message, in the form that a command gets.
func textOf(m *a2a.Message) string {
	text, _ := program.Text(m, false)
	return strings.ToValidUTF8(text, "\ufffd")
}
