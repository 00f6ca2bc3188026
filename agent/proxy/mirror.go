package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// take passes on an element that came from the agent.
func (r *run) take(ctx context.Context, el *a2a.StreamResponse) error {
	r.failing = time.Time{}
	known(el)
	if el.Message != nil {
		if len(el.Message.Parts) == 0 {
			return agent.Public("the agent behind this one answered with an empty message", nil)
		}
		if r.task != "" { // a message does not replace the task
			r.spoke = true
			return r.say(el.Message)
		}
		r.reply = el.Message
		return r.spend(el.Message.Parts, nil)
	}
	if err := r.named(ctx, el); err != nil {
		return err
	}
	switch {
	case r.status.State.Terminal() && el.Task == nil: // nothing should follow
		r.unsure = true
	case el.Task != nil:
		return r.takeTask(el.Task)
	case el.StatusUpdate != nil:
		return r.takeStatus(&el.StatusUpdate.Status)
	case el.ArtifactUpdate != nil:
		return r.takeChunk(el.ArtifactUpdate)
	}
	return nil
}

// named records which of the agent's tasks this is, and checks that it stays the same.
func (r *run) named(ctx context.Context, el *a2a.StreamResponse) error {
	id := el.TaskID()
	switch {
	case r.task == id && id != "", r.task != "" && id == "":
		return nil
	case r.task != "":
		return errForeign
	case id == "" || !idOK(id):
		return agent.Public("the agent behind this one answered without a task that has an id", nil)
	}
	theirs := contextOf(el)
	if !idOK(theirs) {
		theirs = ""
	}
	r.task, r.context = id, theirs
	if err := r.note(ctx, record{Task: id, Context: theirs}); err != nil {
		return err
	}
	if theirs != "" {
		r.a.contexts.put(r.ours, theirs)
	}
	if r.known != nil {
		close(r.known)
		r.known = nil
	}
	return nil
}

func contextOf(el *a2a.StreamResponse) string {
	switch {
	case el.Task != nil:
		return el.Task.ContextID
	case el.StatusUpdate != nil:
		return el.StatusUpdate.ContextID
	case el.ArtifactUpdate != nil:
		return el.ArtifactUpdate.ContextID
	}
	return ""
}

// takeTask passes on the changes of a task.
func (r *run) takeTask(t *a2a.Task) error {
	now := t.Status.Message
	for _, m := range t.History {
		if m == nil || m.Role != a2a.RoleAgent || m.MessageID == "" || r.passedOn(m.MessageID) || now != nil && m.MessageID == now.MessageID {
			continue
		}
		if err := r.say(m); err != nil {
			return err
		}
	}
	if err := r.takeArtifacts(t); err != nil {
		return err
	}
	if now != nil && now.MessageID == "" && t.Status.State == r.status.State &&
		t.Status.Timestamp.Equal(r.status.Timestamp) && sameWords(now, r.status.Message) {
		return nil // it was there at the last look, too
	}
	return r.takeStatus(&t.Status)
}

// sameWords compares messages that have no ids.
func sameWords(a, b *a2a.Message) bool {
	return a != nil && b != nil && slices.EqualFunc(a.Parts, b.Parts, samePart)
}

// takeStatus remembers the status, and passes on that the task is working; run handles
// the other states.
func (r *run) takeStatus(s *a2a.TaskStatus) error {
	if !s.State.Valid() {
		return nil
	}
	r.status = *s
	switch {
	case s.State.Terminal() || s.State.Interrupted():
		if s.Message != nil {
			return r.spend(s.Message.Parts, s.Message.Metadata)
		}
	case s.State != a2a.TaskStateWorking:
	case s.Message != nil && len(s.Message.Parts) > 0 && (s.Message.MessageID == "" || !r.passedOn(s.Message.MessageID)):
		return r.say(s.Message)
	case r.t.Task().Status.State != a2a.TaskStateWorking:
		return r.t.Status("")
	}
	return nil
}

// say passes on a message of the agent.
func (r *run) say(m *a2a.Message) error {
	if len(m.Parts) == 0 {
		return nil
	}
	if err := r.spend(m.Parts, m.Metadata); err != nil {
		return err
	}
	r.saw(m)
	return unusable(r.t.StatusMessage(r.words(m)))
}

// takeChunk passes on a chunk of an artifact.
func (r *run) takeChunk(ev *a2a.TaskArtifactUpdateEvent) error {
	if ev.Artifact == nil || len(ev.Artifact.Parts) == 0 {
		return nil
	}
	chunk, err := r.artifact(ev.Artifact, !ev.Append)
	if err != nil {
		return err
	}
	if err := r.spend(chunk.Parts, chunk.Metadata); err != nil {
		return err
	}
	err = r.t.Chunk(chunk, ev.Append, ev.LastChunk)
	if err == nil || !ev.Append || ended(err) {
		return unusable(err)
	}
	// It is appended to an artifact that was not begun, as far as is known, or was
	// closed.
	r.unsure = true
	whole, err := r.artifact(ev.Artifact, true)
	if err != nil {
		return err
	}
	for _, have := range r.t.Task().Artifacts {
		if have.ArtifactID == chunk.ArtifactID {
			own := *have
			own.Parts = append(own.Parts[:len(own.Parts):len(own.Parts)], chunk.Parts...)
			whole = &own
		}
	}
	if err := r.spend(whole.Parts, whole.Metadata); err != nil {
		return err
	}
	return unusable(r.t.Chunk(whole, false, ev.LastChunk))
}

// artifact converts an artifact of the agent, or a chunk of one. The first chunk
// carries its origin. The number of artifacts is limited, because the cost grows with
// its square.
func (r *run) artifact(a *a2a.Artifact, begins bool) (*a2a.Artifact, error) {
	own := *a
	own.ArtifactID = artifactID(a.ArtifactID)
	if r.artifacts[own.ArtifactID] = true; len(r.artifacts) > r.a.opts.maxArtifacts() {
		return nil, tooMuch("artifacts", r.a.opts.maxArtifacts())
	}
	if begins || len(a.Metadata) > 0 {
		own.Metadata = mark(a.Metadata, Origin{TaskID: r.task, ContextID: r.context})
	}
	return &own, nil
}

// takeArtifacts passes on the parts of a task's artifacts that are missing here.
func (r *run) takeArtifacts(t *a2a.Task) error {
	if len(t.Artifacts) == 0 {
		return nil
	}
	have := map[string]*a2a.Artifact{}
	for _, a := range r.t.Task().Artifacts {
		have[a.ArtifactID] = a
	}
	for _, a := range t.Artifacts {
		if a == nil || len(a.Parts) == 0 {
			continue
		}
		want, err := r.artifact(a, true)
		if err != nil {
			return err
		}
		chunk, add := difference(have[want.ArtifactID], want)
		if chunk == nil {
			continue
		}
		if err := r.spend(chunk.Parts, chunk.Metadata); err != nil {
			return err
		}
		err = r.t.Chunk(chunk, add, false)
		if err != nil && add && !ended(err) { // it was closed, so begin it anew
			err = r.t.Chunk(want, false, false)
		}
		if err := unusable(err); err != nil {
			return err
		}
	}
	return nil
}

// spend counts the bytes that the agent sent.
func (r *run) spend(parts []*a2a.Part, metadata a2a.JSON) error {
	n := len(metadata)
	for _, p := range parts {
		if p != nil {
			n += 64 + len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data) + len(p.Metadata)
		}
	}
	if r.bytes += int64(n); r.bytes > r.a.opts.maxBytes() {
		return tooMuch("bytes", r.a.opts.maxBytes())
	}
	return nil
}

func ended(err error) bool {
	return errors.Is(err, agent.ErrEnded) || errors.Is(err, agent.ErrTooLarge)
}

// unusable turns an error of emitting what the agent sent into a reason for callers.
func unusable(err error) error {
	if err == nil || ended(err) {
		return err
	}
	return agent.Public("the agent behind this one sent something that cannot be passed on", fmt.Errorf("proxy: %w", err))
}
