package httpagent

import (
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// words are an earlier message of the context.
type words struct {
	Role  string      `json:"role"` // user or agent
	Parts []*a2a.Part `json:"parts"`
}

// maxHistory caps the size of the earlier messages that are sent along, in bytes.
const maxHistory = 256 << 10

// history returns the messages in the context before this turn, oldest first, at most
// most of them. Files are replaced by their names.
func (r *run) history(ctx context.Context, most int) ([]words, error) {
	left := maxHistory
	var newest []words
	add := func(w words) bool {
		parts := make([]*a2a.Part, 0, len(w.Parts))
		for _, p := range w.Parts {
			if p.Kind == a2a.PartRaw {
				named := *p
				named.Kind, named.Raw, named.Text = a2a.PartText, nil, "(a file)"
				p = &named
			}
			left -= 64 + len(p.Text) + len(p.URL) + len(p.Data) + len(p.Metadata) + len(p.Filename)
			parts = append(parts, p)
		}
		if left < 0 || len(newest) == most {
			return false
		}
		if w.Parts = parts; len(parts) > 0 {
			newest = append(newest, w)
		}
		return true
	}
	if said(r.task, r.t.Message(), add) {
		for task, err := range r.t.Siblings(ctx) {
			if err != nil {
				return nil, err
			}
			if !said(task, nil, add) {
				break
			}
		}
	}
	slices.Reverse(newest)
	return newest, nil
}

// said passes the messages of a task to add, newest first, until add returns false.
// now, if not nil, is the message that began the turn: that message and later ones are
// not history.
func said(task *a2a.Task, now *a2a.Message, add func(words) bool) bool {
	past := task.History
	if now != nil {
		for i, m := range slices.Backward(past) {
			if m.MessageID == now.MessageID {
				past = past[:i]
				break
			}
		}
	} else {
		if m := task.Status.Message; m != nil && !add(words{"agent", m.Parts}) {
			return false
		}
		for _, a := range slices.Backward(task.Artifacts) {
			// The trace is the server's record of the task for the client, not the
			// agent's answer.
			if a.ArtifactID != a2a.TraceabilityKey && !add(words{"agent", joined(a.Parts)}) {
				return false
			}
		}
	}
	for _, m := range slices.Backward(past) {
		role := "user"
		if m.Role == a2a.RoleAgent {
			role = "agent"
		}
		if !add(words{role, m.Parts}) {
			return false
		}
	}
	return true
}

// joined joins the chunks of a text into one part.
func joined(parts []*a2a.Part) []*a2a.Part {
	var out []*a2a.Part
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, a2a.TextPart(text.String()))
			text.Reset()
		}
	}
	for _, p := range parts {
		if p.Kind == a2a.PartText && p.Filename == "" && len(p.Metadata) == 0 {
			text.WriteString(p.Text)
			continue
		}
		flush()
		out = append(out, p)
	}
	flush()
	return out
}
