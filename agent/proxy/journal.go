package proxy

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// record is a recorded step of a turn, for runs after a crash. The first one names the
// agent's task; each later one says that an answer was about to be sent.
type record struct {
	Task    string `json:"task,omitempty"`
	Context string `json:"context,omitempty"`

	Message  string `json:"message,omitempty"`  // the answer's id at the agent
	Question string `json:"question,omitempty"` // the digest of the question
	Asked    string `json:"asked,omitempty"`    // the id of the question's message
	Secret   bool   `json:"secret,omitempty"`   // it answered AUTH_REQUIRED, and was not stored

	Unsent int `json:"unsent,omitempty"` // the attempt that the server stopped before anything was sent

	answer *a2a.Message // in a later run, if it is known
}

// stepName is the name of all steps; the record says which one it is.
const stepName = "upstream"

var errNone = errors.New("proxy: no step is recorded")

// note records rec.
func (r *run) note(ctx context.Context, rec record) error {
	_, err := agent.Step(ctx, r.t, stepName, func(context.Context) (record, error) { return rec, nil })
	return err
}

// recorded returns the next step of an earlier run, or nil if there is none.
func (r *run) recorded(ctx context.Context) (*record, error) {
	rec, err := agent.Step(ctx, r.t, stepName, func(context.Context) (record, error) { return record{}, errNone })
	if errors.Is(err, errNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &rec, nil
}

// replay goes through the records of earlier runs of the turn, and returns the last
// one, or nil if there is none. Questions that were answered get the same answers.
func (r *run) replay(ctx context.Context) (last *record, err error) {
	if r.t.Attempt() < 2 {
		return nil, nil
	}
	unsent := 0 // the attempt that is known to have sent nothing
	for {
		rec, err := r.recorded(ctx)
		if err != nil {
			return nil, err
		}
		if rec == nil {
			break
		}
		switch {
		case rec.Task != "":
			r.task, r.context = rec.Task, rec.Context
			last = rec
		case rec.Message != "":
			r.asked = rec.Question
			if rec.Asked != "" {
				r.seen[rec.Asked] = true
			}
			if !rec.Secret {
				if rec.answer, err = r.t.AskParts(ctx, a2a.TextPart("The agent asks for input.")); err != nil {
					return nil, err
				}
			}
			last = rec
		default:
			unsent = rec.Unsent
		}
	}
	r.doubt = unsent != r.t.Attempt()-1
	task := r.t.Task()
	for _, m := range append(task.History, task.Status.Message) {
		if m != nil && m.Role == a2a.RoleAgent {
			if o, ok := origin(m.Metadata); ok && o.MessageID != "" {
				r.seen[o.MessageID] = true
			}
		}
	}
	return last, nil
}
