package httpagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// maxArtifacts is how many artifacts a service may begin in one turn.
const maxArtifacts = 1000

// room is the rest of Options.MaxOutput.
type room int64

func (r *room) take(n int) error {
	if *r -= room(n); *r < 0 {
		return errTooMuch
	}
	return nil
}

var errTooMuch = errors.New("the service said more than it may")

// artifact is an artifact that a service writes in a turn.
type artifact struct {
	w     *agent.Artifact
	begun bool // in the present answer: further parts are appended
}

// artifacts are the artifacts of a turn. Their order is the same on every run, because
// their ids follow from it.
type artifacts struct {
	t     *agent.Turn
	names []string // in the order in which they began
	named map[string]*artifact
}

func (as *artifacts) get(name string) (*artifact, error) {
	if a := as.named[name]; a != nil {
		return a, nil
	}
	if len(as.names) == maxArtifacts {
		return nil, bad("there are more than %d artifacts", maxArtifacts)
	}
	a := &artifact{w: as.t.Artifact(name)}
	as.names, as.named[name] = append(as.names, name), a
	return a, nil
}

// anew is called when an answer begins, or begins again: its first chunk of an artifact
// then replaces the artifact's earlier content.
func (as *artifacts) anew() {
	for _, a := range as.named {
		a.begun = false
	}
}

// begins reports whether an event begins its artifact, or replaces it.
func (as *artifacts) begins(ev *event) bool {
	a := as.named[ev.Name]
	return a == nil || !a.begun || ev.Append != nil && !*ev.Append
}

// chunk describes the chunk that an event is about to write.
func (as *artifacts) chunk(ev *event) (*chunk, error) {
	c := &chunk{Name: ev.Name}
	if as.begins(ev) {
		c.Parts, c.Digest = len(ev.Parts), digest(ev.Parts)
	}
	_, err := as.get(ev.Name)
	c.Before = len(as.parts(ev.Name))
	return c, err
}

// wrote reports whether a lost run wrote the chunk that it described. If not, its
// artifact is unchanged.
func (as *artifacts) wrote(c *chunk) bool {
	has := as.parts(c.Name)
	if c.Digest == "" {
		return len(has) > c.Before
	}
	as.named[c.Name].begun = len(has) >= c.Parts && digest(has[:c.Parts]) == c.Digest
	return as.named[c.Name].begun
}

// parts returns the present parts of an artifact.
func (as *artifacts) parts(name string) []*a2a.Part {
	a := as.named[name]
	for _, has := range as.t.Task().Artifacts {
		if a != nil && has.ArtifactID == a.w.ID() {
			return has.Parts
		}
	}
	return nil
}

func digest(parts []*a2a.Part) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p.AppendJSON(nil))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// add emits the chunk of an event.
func (as *artifacts) add(ev *event) error {
	a, err := as.get(ev.Name)
	if err != nil {
		return err
	}
	if as.begins(ev) {
		a.w.Again()
		a.w.Description, a.w.Metadata = ev.Description, ev.Metadata
	}
	if ev.Last {
		err = a.w.Last(ev.Parts...)
	} else {
		err = a.w.Add(ev.Parts...)
	}
	if err == nil {
		a.begun = true
	}
	return err
}

// say emits an event. over is true if it ended the turn.
func (r *run) say(ctx context.Context, ev *event) (over bool, err error) {
	switch ev.Type {
	case "status":
		err = r.t.StatusMessage(ev.message())
	case "artifact":
		err = r.artifacts.add(ev)
	case "log":
		r.log.Log(ctx, level(ev.Level), "the service says", "text", logged(ev.message().Text()))
	case "reply":
		over, err = true, r.t.ReplyParts(ev.Parts...)
	case "complete":
		over, err = true, r.t.End(a2a.TaskStateCompleted, ev.message())
	case "reject":
		over, err = true, r.t.End(a2a.TaskStateRejected, ev.message())
	case "fail":
		over, err = true, r.t.End(a2a.TaskStateFailed, ev.message())
	}
	switch {
	case err == nil, errors.Is(err, agent.ErrEnded), errors.Is(err, agent.ErrTooLarge), ctx.Err() != nil:
		return over, err
	}
	if b, ok := errors.AsType[badAnswer](err); ok {
		return false, b
	}
	r.log.Warn("an event cannot be part of the task", "error", err)
	return false, bad("it cannot be part of a task")
}

func level(s string) (l slog.Level) {
	_ = l.UnmarshalText([]byte(s)) // an unknown level is info
	return l
}

// logged truncates the text of a log record.
func logged(s string) string { return s[:min(len(s), 4<<10)] }
