package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

// task returns a row in the form for lists.
func (a *administration) task(ctx context.Context, r *store.Row) admin.Task {
	return admin.Task{
		TaskKey: taskKey(r.Key), Name: taskName(r.Key), Context: r.Context, State: admin.StateWord(a2a.TaskState(r.State)), Created: r.Created, Updated: r.Updated,
		Words: a.words(ctx, r), Last: r.Last, Attempt: r.Attempt, Lost: r.Lost, Node: r.Node, Epoch: r.Epoch, Wait: a.wait(r),
	}
}

func taskKey(k store.Key) admin.TaskKey {
	agent, tenant := engine.AgentOf(k.Tenant)
	return admin.TaskKey{Agent: agent, Tenant: tenant, Owner: k.Owner, ID: k.ID}
}

// nameMark begins a name; no id that a server makes begins with it.
const nameMark = "~"

func taskName(k store.Key) string {
	return nameMark + base64.RawURLEncoding.EncodeToString([]byte(k.Tenant+"\x00"+k.Owner+"\x00"+k.ID))
}

// find returns the row of a task by its name, or by its id if only one task has that
// id.
func (a *administration) find(ctx context.Context, task string) (*store.Row, error) {
	if coded, ok := strings.CutPrefix(task, nameMark); ok {
		if b, err := base64.RawURLEncoding.DecodeString(coded); err == nil {
			if parts := strings.Split(string(b), "\x00"); len(parts) == 3 {
				return a.row(ctx, store.Key{Tenant: parts[0], Owner: parts[1], ID: parts[2]})
			}
		}
	}
	keys, err := a.store.AllNamed(ctx, task, 10)
	if err != nil {
		return nil, a.failed("look up a task", err)
	}
	switch len(keys) {
	case 0:
		return nil, &admin.Error{Status: http.StatusNotFound, Field: "task", Message: "there is no task " + plain.Quote(task)}
	case 1:
		return a.row(ctx, keys[0])
	}
	var names []string
	for _, k := range keys {
		names = append(names, taskName(k)+" of "+plain.Quote(k.Owner))
	}
	return nil, &admin.Error{Status: http.StatusConflict, Field: "task", Message: "several tasks have this id; say which by its name: " + strings.Join(names, ", ")}
}

func (a *administration) row(ctx context.Context, k store.Key) (*store.Row, error) {
	rec, err := a.store.Get(ctx, k, store.RowOnly)
	if err != nil {
		return nil, a.failed("read a task", err)
	}
	return &rec.Row, nil
}

// maxWords bounds the first words of a task, in characters.
const maxWords = 120

// words returns the first words of a task's first message; "" if it cannot be read.
func (a *administration) words(ctx context.Context, r *store.Row) string {
	page, err := a.store.Entries(ctx, r.Key, 0, 2)
	if err != nil {
		return ""
	}
	for i := range page {
		en, err := a2a.DecodeEntry(page[i].Seq, page[i].Time, a2a.EntryKind(page[i].Kind), page[i].Body)
		if err != nil || en.Message == nil {
			continue
		}
		begins := strings.TrimLeftFunc(en.Message.Text(), unicode.IsSpace)
		text := []rune(plain.Line(begins[:min(len(begins), 16*maxWords)]))
		if len(text) > maxWords {
			text = append(text[:maxWords], '…')
		}
		return string(text)
	}
	return ""
}

// waits says what a task waits for, and why.
var waits = map[engine.Waits]struct{ on, reason string }{
	engine.WaitsForAgent:    {admin.WaitAgent, "its agent is at work"},
	engine.WaitsForCapacity: {admin.WaitCapacity, "more tasks are at work than there is capacity for"},
	engine.WaitsForRest:     {admin.WaitRest, "its run failed or was lost; it runs again after a pause"},
	engine.WaitsForClient:   {admin.WaitClient, "its client has not answered yet"},
	engine.WaitsForNoAgent:  {admin.WaitNoAgent, "there is no agent "},
	engine.WaitsForProcess:  {admin.WaitProcess, "its process has ended; another one takes it over"},
	engine.WaitsForOther:    {admin.WaitOther, "another process has it"},
}

// wait returns what a task waits for; nil if it is finished.
func (a *administration) wait(r *store.Row) *admin.Wait {
	what, since := a.engine.WaitOf(r)
	if what == engine.WaitsForNothing {
		return nil
	}
	w := &admin.Wait{For: waits[what].on, Reason: waits[what].reason, Since: since}
	trouble := a.engine.Trouble()
	switch {
	case what == engine.WaitsForAgent && trouble != nil:
		w.For, w.Reason = admin.WaitStore, trouble.Error()
	case what == engine.WaitsForClient && a2a.TaskState(r.State) == a2a.TaskStateAuthRequired:
		w.Reason = "its client has not given the authorization yet"
	case what == engine.WaitsForNoAgent:
		name, _ := engine.AgentOf(r.Tenant)
		w.Reason += plain.Quote(name)
	case what == engine.WaitsForOther:
		w.Node = r.Node
	}
	return w
}

// look finds a task for a call that reads it, and records the call in the audit log.
func (a *administration) look(ctx context.Context, op, task string) (*store.Row, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	r, err := a.find(ctx, task)
	if err != nil {
		a.record(ctx, op, err, slog.String("task", task))
		return nil, err
	}
	if r.Owner != a2a.CallerFrom(ctx).Subject {
		a.record(ctx, op, nil, ofTask(r.Key)...)
	}
	return r, nil
}

func ofTask(k store.Key) []slog.Attr {
	t := taskKey(k)
	return []slog.Attr{slog.String("task", t.ID), slog.String("owner", t.Owner), slog.String("agent", t.Agent), slog.String("tenant", t.Tenant)}
}

// Task implements admin.API.
func (a *administration) Task(ctx context.Context, task string) (*admin.Task, error) {
	r, err := a.look(ctx, "task", task)
	if err != nil {
		return nil, err
	}
	t := a.task(ctx, r)
	return &t, nil
}

// TaskAt implements admin.API.
func (a *administration) TaskAt(ctx context.Context, task string, seq int64) (*a2a.Task, error) {
	r, err := a.look(ctx, "task state", task)
	if err != nil {
		return nil, err
	}
	if seq < 0 || seq > r.Last {
		return nil, admin.Invalid("at", "%d must be a position of the log, which goes to %d", seq, r.Last)
	}
	t, err := a.engine.TaskAt(ctx, r.Key, seq)
	if err != nil {
		return nil, a.failed("read a task", err)
	}
	return t, nil
}

// CancelTask implements admin.API.
func (a *administration) CancelTask(ctx context.Context, task string) (_ *admin.Task, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return nil, err
	}
	attrs := []slog.Attr{slog.String("task", task)}
	defer func() { a.record(ctx, "cancel", err, attrs...) }()
	r, err := a.find(ctx, task)
	if err != nil {
		return nil, err
	}
	attrs = ofTask(r.Key)
	if err := a.engine.CancelFor(ctx, r.Key, a2a.CallerFrom(ctx)); err != nil {
		if e, ok := errors.AsType[*a2a.Error](err); ok && !errors.Is(err, a2a.ErrTaskNotFound) && e.Code != a2a.CodeInternal {
			return nil, admin.Errorf(http.StatusConflict, "%s", e.Message)
		}
		return nil, a.failed("cancel a task", err)
	}
	if r, err = a.row(ctx, r.Key); err != nil {
		return nil, err
	}
	t := a.task(ctx, r)
	return &t, nil
}

// DeleteTask implements admin.API.
func (a *administration) DeleteTask(ctx context.Context, task string) (err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return err
	}
	attrs := []slog.Attr{slog.String("task", task)}
	defer func() { a.record(ctx, "delete", err, attrs...) }()
	r, err := a.find(ctx, task)
	if err != nil {
		return err
	}
	attrs = ofTask(r.Key)
	err = a.engine.Delete(ctx, r.Key)
	if errors.Is(err, engine.ErrAtWork) {
		return admin.Errorf(http.StatusConflict, "the task is at work; cancel it first")
	}
	if err != nil {
		return a.failed("delete a task", err)
	}
	return nil
}
