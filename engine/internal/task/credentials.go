package task

import (
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// A message that answers a task that needs authorization is credentials: it
// reaches the agent, in memory, and the log has one in its place that says so.
// Nothing is read from anywhere but the log, so that nobody else sees more.

// withheld stands for what credentials said.
const withheld = "(credentials; not kept)"

// withhold returns what is kept of a message with credentials: whose it is.
func withhold(m *a2a.Message) *a2a.Message {
	return &a2a.Message{
		MessageID: m.MessageID, TaskID: m.TaskID, ContextID: m.ContextID, Role: m.Role,
		Parts: []*a2a.Part{a2a.TextPart(withheld)},
	}
}

// authorization says which messages of a task are credentials, and has those
// that its agent did not take yet.
//
// They are from when the task becomes auth-required until the agent says
// something after it has got an answer. Its client may send a second one that
// crosses the first, or that comes while a run after a restart has not got as far
// as the question again.
type authorization struct {
	guard  bool   // what comes now is credentials
	heard  bool   // the agent's question returned, in this run
	given  bool   // the agent has got an authorization, in this run
	prompt string // what the newest question said, see promptOf
	came   []credentials
}

// credentials are an answer that the agent did not take yet.
type credentials struct {
	post    *Post
	message *a2a.Message
	prompt  string // the question it was meant for
}

// promptOf is what a question says, to tell questions apart.
func promptOf(parts []*a2a.Part) string {
	var b []byte
	for _, p := range parts {
		b = append(p.AppendJSON(b), '\n')
	}
	return string(b)
}

// asked notes that the task is auth-required.
func (a *authorization) asked(prompt string) { a.guard, a.heard, a.prompt = true, false, prompt }

// spoke notes what the agent said. Answers to Ask are not secret, whatever it
// asked before.
func (a *authorization) spoke(en *a2a.Entry) {
	if a.heard || en.Kind == a2a.EntryStatus && en.Status.Status.State == a2a.TaskStateInputRequired {
		a.guard = false
	}
}

// take returns the oldest answer to a question, or nil. One to another question
// stays: a run after a restart asks for what came before that first, which was
// not kept.
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

// coming reports whether an answer to a question is there, or on its way to the store.
func (a *authorization) coming(prompt string) bool {
	return slices.ContainsFunc(a.came, func(c credentials) bool { return c.prompt == prompt })
}

// over notes that the turn ended, and returns the messages that nobody takes.
func (a *authorization) over() (left []*Post) {
	for _, c := range a.came {
		left = append(left, c.post)
	}
	*a = authorization{}
	return left
}

// replay notes an entry of a log. behind is the kind of the one before: a status
// behind a message came with it and is not the agent's.
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

// hide takes from a post what must not be kept, and returns the message as
// the agent gets it. A receipt must not have a digest of it either: what is short
// could be found by trying. So whatever comes again under its name counts as the
// same.
func hide(p *Post) *a2a.Message {
	whole := p.Message
	p.Message = withhold(whole)
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
