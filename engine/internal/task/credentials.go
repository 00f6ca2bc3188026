package task

import (
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// A message that answers a task that needs authorization is credentials: the agent gets it, in
// memory, and the log gets a message in its place that says so. All readers read the log, so
// nobody but the agent sees the credentials.

// withheld replaces the text of credentials.
const withheld = "(credentials; not kept)"

// authorization says which messages of a task are credentials, and holds those that its agent
// has not taken yet.
//
// Messages are credentials from when the task becomes auth-required until the agent emits
// something after it has got an answer. The client may send a second answer that crosses the
// first, or one that comes before a run after a restart has asked the question again.
type authorization struct {
	guard  bool   // messages that come now are credentials
	heard  bool   // the agent's question has returned, in this run
	given  bool   // the agent has got an authorization, in this run
	prompt string // text of the newest question, see promptOf
	came   []credentials
}

// credentials are an answer that the agent has not taken yet.
type credentials struct {
	post    *Post
	message *a2a.Message
	prompt  string // the question it was meant for
}

// promptOf returns what a question says, to tell questions apart.
func promptOf(parts []*a2a.Part) string {
	var b []byte
	for _, p := range parts {
		b = append(p.AppendJSON(b), '\n')
	}
	return string(b)
}

// asked notes that the task is auth-required.
func (a *authorization) asked(prompt string) { a.guard, a.heard, a.prompt = true, false, prompt }

// spoke notes an event of the agent. Answers to Ask are not secret, even after a question for
// authorization.
func (a *authorization) spoke(en *a2a.Entry) {
	if a.heard || en.Kind == a2a.EntryStatus && en.Status.Status.State == a2a.TaskStateInputRequired {
		a.guard = false
	}
}

// take returns the oldest answer to a question, or nil. Answers to other questions stay: a run
// after a restart first repeats the earlier questions, whose answers were not kept.
func (a *authorization) take(prompt string) *a2a.Message {
	for i, c := range a.came {
		if c.prompt == prompt && !c.post.held {
			a.came = slices.Delete(a.came, i, i+1)
			a.heard, a.given = true, true
			c.post.decided()
			return c.message
		}
	}
	return nil
}

// coming reports whether an answer to a question has come, even if it is not committed yet.
func (a *authorization) coming(prompt string) bool {
	return slices.ContainsFunc(a.came, func(c credentials) bool { return c.prompt == prompt })
}

// over notes that the turn ended, and returns the messages that the agent never gets.
func (a *authorization) over() (left []*Post) {
	for _, c := range a.came {
		left = append(left, c.post)
	}
	*a = authorization{}
	return left
}

// replay notes an entry of a log. behind is the kind of the entry before it: a status right
// after a message came with the message and is not the agent's.
func (a *authorization) replay(en *a2a.Entry, behind a2a.EntryKind) {
	switch en.Kind {
	case a2a.EntryStatus:
		switch {
		case en.Status.Status.State == a2a.TaskStateAuthRequired:
			a.guard = true
			if m := en.Status.Status.Message; m != nil {
				a.prompt = promptOf(m.Parts)
			}
		case behind != a2a.EntryMessage || !active(en.Status.Status.State):
			a.guard = false
		}
	case a2a.EntryArtifact:
		a.guard = false
	}
}

// hide removes from a post what must not be kept, and returns the message for the agent. The
// log gets the message's ids and its role.
// Receipts must not have its digest either, because a short secret could be found by trying. So
// any message that comes again with the same id counts as the same.
func hide(p *Post) *a2a.Message {
	whole := p.Message
	p.Message = &a2a.Message{
		MessageID: whole.MessageID, TaskID: whole.TaskID, ContextID: whole.ContextID, Role: whole.Role,
		Parts: []*a2a.Part{a2a.TextPart(withheld)},
	}
	p.From = From{Caller: a2a.Caller{Subject: p.From.Caller.Subject, Tenant: p.From.Caller.Tenant}, credentials: true}
	if p.Identity != nil {
		p.Identity = p.Identity.Withheld()
	}
	return whole
}

// guardsLocked reports whether a message that comes now is credentials.
func (o *Owner) guardsLocked() bool {
	return o.auth.guard || o.draft.state == a2a.TaskStateAuthRequired
}
