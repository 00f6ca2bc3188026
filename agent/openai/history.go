package openai

import (
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// exchange is a message and its answer.
type exchange struct {
	asked    any
	answered string
}

// history returns the earlier messages of this context, oldest first: the newest ones
// within the bounds. It has only exchanges with both sides, because some models require
// alternating turns. art is the artifact that this turn writes.
func (r *run) history(ctx context.Context, art string) ([]message, error) {
	opts := &r.a.opts
	pairs, bytes := opts.history()/2, opts.historyBytes()
	var newest []exchange
	// take reports whether there is room for more.
	take := func(task *a2a.Task, before string) bool {
		all := r.a.exchanges(task, before, art)
		for _, x := range slices.Backward(all) {
			bytes -= sizeOf(x.asked) + len(x.answered)
			if bytes < 0 || len(newest) == pairs {
				return false
			}
			newest = append(newest, x)
		}
		return true
	}
	if pairs == 0 {
		return nil, nil
	}
	looked := 0
	if take(r.t.Task(), r.t.Message().MessageID) {
		for task, err := range r.t.Siblings(ctx) {
			if err != nil {
				return nil, err
			}
			if task.Status.State == a2a.TaskStateCompleted && !take(task, "") {
				break
			}
			if looked++; looked == maxLooked {
				break
			}
		}
	}
	var out []message
	for _, x := range slices.Backward(newest) {
		out = append(out, message{Role: "user", Content: x.asked}, message{Role: "assistant", Content: x.answered})
	}
	return out, nil
}

// exchanges returns the exchanges of a task, oldest first; with before, those before
// that message. Most tasks have one; but in version 0.1 of the protocol a finished task
// can go on with another message and another artifact.
func (a *Agent) exchanges(task *a2a.Task, before, art string) []exchange {
	var asked []*a2a.Message
	for _, m := range task.History {
		if m.Role == a2a.RoleUser {
			asked = append(asked, m)
		}
	}
	if before != "" {
		at := len(asked)
		for i, m := range slices.Backward(asked) { // ids may repeat: the newest is meant
			if m.MessageID == before {
				at = i
				break
			}
		}
		asked = asked[:at]
	}
	var answers []string
	for _, x := range task.Artifacts {
		// The trace is the server's record of the task for the client, not the model's
		// answer.
		if text := saidIn(x); text != "" && x.ArtifactID != art && x.ArtifactID != a2a.TraceabilityKey {
			answers = append(answers, text)
		}
	}
	// From the end, so that if a turn has no answer, only the oldest pairs are shifted.
	n := min(len(asked), len(answers))
	asked, answers = asked[len(asked)-n:], answers[len(answers)-n:]
	out := make([]exchange, n)
	for i := range out {
		content, _ := a.contentOf(asked[i].Parts) // unfit parts are left out of the past
		out[i] = exchange{content, answers[i]}
	}
	return out
}

// saidIn returns an answer's text: each part is one of its chunks.
func saidIn(x *a2a.Artifact) string {
	var b strings.Builder
	for _, p := range x.Parts {
		switch p.Kind {
		case a2a.PartText:
			b.WriteString(p.Text)
		case a2a.PartData:
			b.Write(p.Data)
		}
	}
	return b.String()
}
