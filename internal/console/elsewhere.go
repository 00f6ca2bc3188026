package console

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Foreign is an agent of another server, called through this one.
type Foreign struct {
	Card     *a2a.AgentCard
	Service  a2a.Service
	Findings []string // what the card lacks
	// Try asks the agent in each version and binding for a task that does not exist.
	Try func(ctx context.Context) []Attempt
}

// Attempt is the result of a request in one version and binding.
type Attempt struct {
	Version, Binding string
	Offered          bool // the card has the binding; otherwise no request was made
	Answers          bool
	Words            string
	Took             time.Duration
}

// foreignMark begins the key of an agent of another server; no name begins with it.
const foreignMark = "~"

// maxRef is the maximum length of an agent's address.
const maxRef = 2000

// foreign finds the agent of another server for a key; nil if the viewer may not call it.
func (c *Console) foreign(r *request, key string) (*Agent, error) {
	ref, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key, foreignMark))
	if err != nil || len(ref) > maxRef || !c.reachesOut(r) {
		return nil, nil
	}
	f, err := c.opts.Elsewhere(r.ctx, string(ref))
	if err != nil {
		return nil, err
	}
	return &Agent{Name: key, Card: CalmCard(f.Card), Service: f.Service, ref: string(ref)}, nil
}

// reachesOut reports whether the viewer may call agents of other servers, which happens from
// this server's place in the network.
func (c *Console) reachesOut(r *request) bool {
	return c.opts.Elsewhere != nil && r.viewer.May(a2a.ScopeAdminWrite)
}

type elsewhereData struct {
	agentData
	Ref      string
	Trouble  string
	Findings []string
	Tried    []triedBinding
	Over     []string // the versions that were tried
}

// triedBinding is a row of results.
type triedBinding struct {
	Name string
	List []Attempt // by elsewhereData.Over
}

// elsewhere shows the agent of another server.
func (c *Console) elsewhere(w http.ResponseWriter, r *request) {
	if !c.reachesOut(r) {
		c.fail(w, r.Request, http.StatusForbidden, "Agents of other servers are not called from here", "You need the scope admin:write. If callers on other machines can reach this server, it also needs console_elsewhere: true in parley.yaml.")
		return
	}
	d := elsewhereData{Ref: strings.TrimSpace(r.FormValue("agent"))}
	status := http.StatusOK
	if d.Ref != "" {
		if err := c.look(r, &d); err != nil {
			d.Trouble, status = reason(err), http.StatusBadGateway
		}
	}
	c.show(w, r, "elsewhere", page{Status: status, Title: "Another server’s agent", Place: "agents", Data: &d})
}

func (c *Console) look(r *request, d *elsewhereData) error {
	if len(d.Ref) > maxRef {
		return fmt.Errorf("the address is longer than %d bytes", maxRef)
	}
	f, err := c.opts.Elsewhere(r.ctx, d.Ref)
	if err != nil {
		return err
	}
	card := CalmCard(f.Card)
	d.agentData = agentData{Agent: &Agent{Name: foreignMark + base64.RawURLEncoding.EncodeToString([]byte(d.Ref)), Card: card}, Card: card}
	d.agentData.read()
	d.Findings = f.Findings
	d.CLI = "parley send -a " + quote(d.Ref) + " 'hello'"
	for _, a := range f.Try(r.ctx) {
		if !slices.Contains(d.Over, a.Version) {
			d.Over = append(d.Over, a.Version)
		}
		at := slices.IndexFunc(d.Tried, func(t triedBinding) bool { return t.Name == a.Binding })
		if at < 0 {
			at = len(d.Tried)
			d.Tried = append(d.Tried, triedBinding{Name: a.Binding})
		}
		a.Words = calm(a.Words)
		d.Tried[at].List = append(d.Tried[at].List, a)
	}
	return nil
}

// reason returns the text of a foreign call's error for the viewer, who chose the address.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer in time"
	}
	return calm(err.Error())
}

// readLog reads a task's log: the real log for an agent here, one made from the task for an
// agent of another server.
func (c *Console) readLog(ctx context.Context, a *Agent, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	if a.ref == "" {
		return c.opts.Log(ctx, a.Name, task, after, false)
	}
	return func(yield func([]*a2a.Entry, error) bool) {
		t, err := a.Service.GetTask(ctx, &a2a.GetTaskRequest{ID: task})
		if err != nil {
			yield(nil, err)
			return
		}
		yield(entriesOf(t), nil)
	}
}

// entriesOf makes a log from a task alone. Only the time of the last change is known.
func entriesOf(t *a2a.Task) []*a2a.Entry {
	var list []*a2a.Entry
	at := t.Status.Timestamp
	add := func(e *a2a.Entry) {
		e.Seq, e.Time = int64(len(list)+1), at
		list = append(list, e)
	}
	add(&a2a.Entry{Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: t.ID, ContextID: t.ContextID}})
	for _, m := range t.History {
		if m.Role == a2a.RoleUser {
			add(&a2a.Entry{Kind: a2a.EntryMessage, Message: m})
		} else if s := t.Status.Message; s == nil || s.MessageID != m.MessageID {
			add(&a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Message: m}}})
		}
	}
	for _, x := range t.Artifacts {
		add(&a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Artifact: x, LastChunk: t.Status.State.Terminal()}})
	}
	add(&a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}})
	return list
}

// remotePause is the pause between polls of a foreign task that does not stream.
const remotePause = 2 * time.Second

// followRemote sends the further events of a foreign task. Its log is not here, so the stream
// begins with the whole conversation, which replaces the page's.
func (c *Console) followRemote(r *request, agent *Agent, id string, send func(seq int64, html string) error) (over bool) {
	var to fragments
	address := taskAddress(r.Request, agent.Key(), id)
	var f *flow
	var last string
	anew := func(task *a2a.Task) error {
		if now := string(task.AppendJSON(nil)); now != last {
			last = now
		} else {
			return nil
		}
		s := newSheet(prefixOf(address) + "flow")
		whole := newFlow(s, address, id, r.answers())
		whole.add(entriesOf(task))
		to.fill(whole.prefix+"flow", s.HTML())
		for _, name := range []string{whole.prefix + "state", whole.prefix + "answering"} {
			to.fill(name, s.filled[name])
		}
		f = whole
		f.to = &to
		return send(f.seq, to.take())
	}
	for {
		for ev, err := range agent.Service.SubscribeToTask(r.ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil {
				break // it does not stream, or the task has ended
			}
			switch {
			case ev.Task != nil:
				err = anew(ev.Task)
			case f == nil:
			case ev.StatusUpdate != nil:
				f.add([]*a2a.Entry{{Seq: f.seq + 1, Time: c.now(), Kind: a2a.EntryStatus, Status: ev.StatusUpdate}})
				err = send(f.seq, to.take())
			case ev.ArtifactUpdate != nil:
				f.add([]*a2a.Entry{{Seq: f.seq + 1, Time: c.now(), Kind: a2a.EntryArtifact, Artifact: ev.ArtifactUpdate}})
				err = send(f.seq, to.take())
			}
			if err != nil {
				return false
			}
			last = ""
		}
		task, err := agent.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: id})
		switch {
		case r.ctx.Err() != nil:
			return false
		case err == nil && anew(task) != nil:
			return false
		case err == nil && task.Status.State.Terminal(), errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound}):
			return true
		}
		if wake.Pause(r.ctx, remotePause) != nil {
			return false
		}
	}
}
