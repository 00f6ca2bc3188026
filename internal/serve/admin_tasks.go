package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

// stateWord is a state as people write it, such as input-required.
func stateWord(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

func parseState(word string) (a2a.TaskState, bool) {
	for _, s := range a2a.TaskStates() {
		if stateWord(s) == word {
			return s, true
		}
	}
	return 0, false
}

// maxTenants is how many tenants a list may be of: each is looked at.
const maxTenants = 1000

// lastOwner is behind all subjects, by bytes.
const lastOwner = "\U0010ffff\U0010ffff"

// tenants returns the tenants of the store that have tasks. It takes a look-up for
// each, however many tasks there are.
func (a *administration) tenants(ctx context.Context) ([]string, error) {
	var list []string
	for after := (*store.Key)(nil); ; {
		rows, err := a.store.Tasks(ctx, after, 1)
		if err != nil {
			return nil, a.failed("read tenants", err)
		}
		if len(rows) == 0 {
			return list, nil
		}
		if t := rows[0].Tenant; len(list) == 0 || list[len(list)-1] != t {
			list = append(list, t)
			after = &store.Key{Tenant: t, Owner: lastOwner}
		} else {
			after = &rows[0].Key
		}
		if len(list) > maxTenants {
			return nil, &admin.Error{Status: http.StatusUnprocessableEntity, Field: "tenant", Message: "the server has tasks of more than 1,000 tenants; say whose you mean"}
		}
	}
}

// limit is the length of a page.
func limit(q admin.Query) (int, error) {
	switch {
	case q.Limit == 0:
		return admin.DefaultLimit, nil
	case q.Limit < 0 || q.Limit > admin.MaxLimit:
		return 0, admin.Invalid("limit", "%d must be from 1 to %d", q.Limit, admin.MaxLimit)
	}
	return q.Limit, nil
}

var errAfter = admin.Invalid("after", "must be next of the page before")

// nextTask is where a page of tasks ends. Two tasks of one id, owner and millisecond
// in two tenants count as one there.
type nextTask struct {
	Updated int64  `json:"u"`
	ID      string `json:"i"`
	Owner   string `json:"o,omitempty"`
}

// Tasks implements admin.API: it merges the lists of tenants and states.
func (a *administration) Tasks(ctx context.Context, q admin.TaskQuery) (_ *admin.Tasks, err error) {
	if err := a.enter(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	defer func() { a.record(ctx, "tasks", err) }()
	lists, n, err := a.lists(ctx, &q)
	if err != nil {
		return nil, err
	}
	rows, total, more, err := a.merge(ctx, lists, n)
	if err != nil {
		return nil, err
	}
	res := &admin.Tasks{Tasks: []admin.Task{}, Total: total}
	for i := range rows {
		res.Tasks = append(res.Tasks, a.task(ctx, &rows[i]))
	}
	if more && len(rows) > 0 {
		last := &rows[len(rows)-1]
		doc, _ := json.Marshal(nextTask{last.Updated.UnixMilli(), last.ID, last.Owner})
		res.Next = base64.RawURLEncoding.EncodeToString(doc)
	}
	return res, nil
}

// lists returns the queries that a page of tasks is merged of, and its length.
func (a *administration) lists(ctx context.Context, q *admin.TaskQuery) ([]store.Query, int, error) {
	n, err := limit(q.Query)
	if err != nil {
		return nil, 0, err
	}
	one := store.Query{AnyOwner: q.Owner == nil, Context: q.Context, Since: q.Since, Limit: n, MaxBytes: store.PageBytes}
	if q.Owner != nil {
		one.Owner = *q.Owner
	}
	if q.After != "" {
		var at nextTask
		doc, err := base64.RawURLEncoding.DecodeString(q.After)
		if err == nil {
			err = json.Unmarshal(doc, &at)
		}
		if err != nil {
			return nil, 0, errAfter
		}
		one.Before = &store.Position{Updated: time.UnixMilli(at.Updated).UTC(), ID: at.ID, Owner: at.Owner}
	}
	states := []a2a.TaskState{0}
	switch {
	case q.State != "" && q.AtWork:
		return nil, 0, admin.Invalid("state", "goes without atWork, which selects states by itself")
	case q.AtWork:
		states = []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking}
	case q.State != "":
		s, ok := parseState(q.State)
		if !ok {
			var words []string
			for _, s := range a2a.TaskStates() {
				words = append(words, stateWord(s))
			}
			return nil, 0, admin.Invalid("state", "%.40q must be one of %s", q.State, strings.Join(words, ", "))
		}
		states[0] = s
	}
	var tenants []string
	if q.Agent != nil && q.Tenant != nil {
		tenants = []string{engine.TenantOf(a.key(*q.Agent), *q.Tenant)}
	} else if tenants, err = a.tenants(ctx); err != nil {
		return nil, 0, err
	}
	var lists []store.Query
	for _, t := range tenants {
		agent, callers := engine.AgentOf(t)
		if q.Agent != nil && a.key(*q.Agent) != agent || q.Tenant != nil && *q.Tenant != callers {
			continue
		}
		for _, s := range states {
			l := one
			l.Tenant, l.State = t, int32(s)
			lists = append(lists, l)
		}
	}
	return lists, n, nil
}

// key is an agent's name in the keys of its tasks: the one at / has none there.
func (a *administration) key(agent string) string {
	for _, s := range a.view.Load().agents {
		if s.Name == agent && s.Default {
			return ""
		}
	}
	return agent
}

// merge reads a page of several lists.
func (a *administration) merge(ctx context.Context, lists []store.Query, n int) (rows []store.Row, total int, more bool, err error) {
	newest := func(x, y *store.Row) int {
		return cmp.Or(y.Updated.Compare(x.Updated), cmp.Compare(y.ID, x.ID), cmp.Compare(y.Owner, x.Owner), cmp.Compare(y.Tenant, x.Tenant))
	}
	var end *store.Row // of the list that ends first; later rows of the others may be incomplete
	for _, q := range lists {
		page, err := a.store.List(ctx, q)
		if err != nil {
			return nil, 0, false, a.failed("list tasks", err)
		}
		total += page.Total
		for i := range page.Records {
			rows = append(rows, page.Records[i].Row)
		}
		if page.More && len(page.Records) > 0 {
			last := &page.Records[len(page.Records)-1].Row
			if more = true; end == nil || newest(last, end) < 0 {
				end = last
			}
		}
	}
	slices.SortFunc(rows, func(x, y store.Row) int { return newest(&x, &y) })
	if end != nil {
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return newest(&r, end) > 0 })
	}
	if len(rows) > n {
		rows, more = rows[:n], true
	}
	return rows, total, more, nil
}

// task is a row as lists show it.
func (a *administration) task(ctx context.Context, r *store.Row) admin.Task {
	return admin.Task{
		TaskKey: taskKey(r.Key), Name: taskName(r.Key), Context: r.Context, State: stateWord(a2a.TaskState(r.State)), Created: r.Created, Updated: r.Updated,
		Words: a.words(ctx, r), Last: r.Last, Attempt: r.Attempt, Lost: r.Lost, Node: r.Node, Epoch: r.Epoch, Wait: a.wait(r),
	}
}

func taskKey(k store.Key) admin.TaskKey {
	agent, tenant := engine.AgentOf(k.Tenant)
	return admin.TaskKey{Agent: agent, Tenant: tenant, Owner: k.Owner, ID: k.ID}
}

// nameMark is before a name, so that it is no id that a server makes.
const nameMark = "~"

func taskName(k store.Key) string {
	return nameMark + base64.RawURLEncoding.EncodeToString([]byte(k.Tenant+"\x00"+k.Owner+"\x00"+k.ID))
}

// find returns the row of a task by its name, or by its id where only one task has it.
func (a *administration) find(ctx context.Context, task string) (*store.Row, error) {
	if coded, ok := strings.CutPrefix(task, nameMark); ok {
		if b, err := base64.RawURLEncoding.DecodeString(coded); err == nil {
			if parts := strings.Split(string(b), "\x00"); len(parts) == 3 {
				return a.row(ctx, store.Key{Tenant: parts[0], Owner: parts[1], ID: parts[2]})
			}
		}
	}
	tenants, err := a.tenants(ctx)
	if err != nil {
		return nil, err
	}
	var keys []store.Key
	for _, t := range tenants {
		owners, err := a.store.Owners(ctx, t, task, 10)
		if err != nil {
			return nil, a.failed("look up a task", err)
		}
		for _, o := range owners {
			keys = append(keys, store.Key{Tenant: t, Owner: o, ID: task})
		}
	}
	switch len(keys) {
	case 0:
		return nil, &admin.Error{Status: http.StatusNotFound, Field: "task", Message: "there is no task " + plain.Quote(task)}
	case 1:
		return a.row(ctx, keys[0])
	}
	var names []string
	for _, k := range keys[:min(len(keys), 10)] {
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

// words are the first ones of a task's first message; "" where they cannot be read.
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
		text := []rune(plain.Line(firstText(en.Message)))
		if len(text) > maxWords {
			text = append(text[:maxWords], '…')
		}
		return string(text)
	}
	return ""
}

func firstText(m *a2a.Message) string {
	for _, p := range m.Parts {
		if p.Kind == a2a.PartText {
			s := strings.TrimLeftFunc(p.Text, unicode.IsSpace)
			return s[:min(len(s), 16*maxWords)]
		}
	}
	return ""
}

// wait says what a task waits for; nil: it is finished.
func (a *administration) wait(r *store.Row) *admin.Wait {
	what, since := a.engine.WaitOf(r)
	w := &admin.Wait{Since: since}
	switch what {
	case engine.WaitsForNothing:
		return nil
	case engine.WaitsForAgent:
		w.For, w.Reason = admin.WaitAgent, "its agent is at work"
	case engine.WaitsForCapacity:
		w.For, w.Reason = admin.WaitCapacity, "more tasks are at work than there is capacity for"
	case engine.WaitsForRest:
		w.For, w.Reason = admin.WaitRest, "its run failed or was lost; it runs again after a pause"
	case engine.WaitsForClient:
		w.For, w.Reason = admin.WaitClient, "its client has not answered yet"
		if a2a.TaskState(r.State) == a2a.TaskStateAuthRequired {
			w.Reason = "its client has not given the authorization yet"
		}
	case engine.WaitsForNoAgent:
		name, _ := engine.AgentOf(r.Tenant)
		w.For, w.Reason = admin.WaitNoAgent, "there is no agent "+plain.Quote(name)
	case engine.WaitsForProcess:
		w.For, w.Reason = admin.WaitProcess, "the process that had it is gone; another one takes it over"
	case engine.WaitsForOther:
		w.For, w.Reason, w.Node = admin.WaitOther, "another process has it", r.Node
	}
	if err := a.engine.Trouble(); err != nil && w.For == admin.WaitAgent {
		w.For, w.Reason = admin.WaitStore, err.Error()
	}
	return w
}

// look finds a task for a call that reads it, and records that.
func (a *administration) look(ctx context.Context, op, task string) (*store.Row, error) {
	if err := a.enter(ctx, a2a.ScopeAdminRead); err != nil {
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

// Runs implements admin.API.
func (a *administration) Runs(ctx context.Context, task string) ([]admin.Run, error) {
	r, err := a.look(ctx, "task runs", task)
	if err != nil {
		return nil, err
	}
	var runs []admin.Run
	for raw, err := range store.EachEntry(ctx, a.store, r.Key, 0, r.Last) {
		if err != nil {
			return nil, a.failed("read a task", err)
		}
		kind := a2a.EntryKind(raw.Kind)
		if kind != a2a.EntryMessage && kind != a2a.EntryStatus && kind != a2a.EntryStep {
			continue
		}
		en, err := a2a.DecodeEntry(raw.Seq, raw.Time, kind, raw.Body)
		if err != nil {
			return nil, a.failed("read a task", err)
		}
		if kind == a2a.EntryMessage {
			// An answer goes on with the run that asked.
			if n := len(runs); n == 0 || !runs[n-1].Ended.IsZero() {
				runs = append(runs, admin.Run{Turn: raw.Seq, Began: raw.Time, State: stateWord(a2a.TaskStateSubmitted), Steps: []admin.Step{}})
			}
			continue
		}
		if len(runs) == 0 {
			continue
		}
		run := &runs[len(runs)-1]
		switch kind {
		case a2a.EntryStatus:
			state := en.Status.Status.State
			if run.State = stateWord(state); state.Terminal() {
				run.Ended = raw.Time
			}
		case a2a.EntryStep:
			run.Steps = append(run.Steps, admin.Step{Seq: raw.Seq, Name: en.Step.Name, Nth: en.Step.Nth, Time: raw.Time, Size: len(en.Step.Result)})
		}
	}
	if n := len(runs); n > 0 {
		runs[n-1].Attempts = r.Attempt
	}
	return runs, nil
}

// Log implements admin.API.
func (a *administration) Log(ctx context.Context, task string, after int64, most int) (*admin.Log, error) {
	r, err := a.look(ctx, "task log", task)
	if err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, admin.Invalid("after", "%d must be a position of the log, 0 or more", after)
	}
	if most < 0 || most > admin.MaxLimit {
		return nil, admin.Invalid("limit", "%d must be from 1 to %d", most, admin.MaxLimit)
	}
	page, err := a.store.Entries(ctx, r.Key, after, most)
	if err != nil {
		return nil, a.failed("read a task", err)
	}
	l := &admin.Log{Entries: []admin.LogEntry{}, Last: r.Last}
	for i := range page {
		l.Entries = append(l.Entries, logEntry(&page[i]))
	}
	if n := len(page); n > 0 && page[n-1].Seq < r.Last {
		l.Next = page[n-1].Seq
	}
	return l, nil
}

var kinds = map[a2a.EntryKind]string{
	a2a.EntryCreated: "created", a2a.EntryMessage: "message", a2a.EntryStatus: "status", a2a.EntryArtifact: "artifact", a2a.EntryStep: "step", a2a.EntryCancel: "cancel",
}

func logEntry(raw *store.Entry) admin.LogEntry {
	en := admin.LogEntry{Seq: raw.Seq, Time: raw.Time, Kind: kinds[a2a.EntryKind(raw.Kind)], Body: raw.Body}
	if !json.Valid(raw.Body) {
		en.Body = json.RawMessage("null")
	}
	return en
}

// FollowLog implements admin.API.
func (a *administration) FollowLog(ctx context.Context, task string, after int64) iter.Seq2[admin.LogEntry, error] {
	return func(yield func(admin.LogEntry, error) bool) {
		r, err := a.look(ctx, "task log", task)
		if err != nil {
			yield(admin.LogEntry{}, err)
			return
		}
		for raw, err := range a.engine.FollowLog(ctx, r.Key, after) {
			if err != nil {
				yield(admin.LogEntry{}, a.failed("read a task", err))
				return
			}
			if !yield(logEntry(&raw), nil) {
				return
			}
		}
	}
}

// CancelTask implements admin.API.
func (a *administration) CancelTask(ctx context.Context, task string) (_ *admin.Task, err error) {
	if err := a.enter(ctx, a2a.ScopeAdminWrite); err != nil {
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
		var e *a2a.Error
		if errors.As(err, &e) && !errors.Is(err, a2a.ErrTaskNotFound) && e.Code != a2a.CodeInternal {
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
	if err := a.enter(ctx, a2a.ScopeAdminWrite); err != nil {
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
