package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/store"
)

// work counts the tasks that are not finished, by tenant and state.
func (a *administration) work(ctx context.Context) ([]store.Work, error) {
	var unfinished []int32
	for _, s := range a2a.TaskStates() {
		if !s.Terminal() {
			unfinished = append(unfinished, int32(s))
		}
	}
	all, err := a.store.AllWork(ctx, unfinished)
	if err != nil {
		return nil, a.failed("count tasks", err)
	}
	return slices.DeleteFunc(all, func(w store.Work) bool { return a2a.TaskState(w.State).Terminal() }), nil
}

// tenants returns the first tenants that have tasks in the store, up to most. It needs
// one look-up for each, regardless of the number of tasks.
func (a *administration) tenants(ctx context.Context, most int) ([]string, error) {
	var list []string
	for after := (*store.Key)(nil); len(list) < most; {
		rows, err := a.store.Tasks(ctx, after, 1)
		if err != nil {
			return nil, a.failed("read tenants", err)
		}
		if len(rows) == 0 {
			break
		}
		list = append(list, rows[0].Tenant)
		after = &store.Key{Tenant: rows[0].Tenant + "\x00"} // just after it in order
	}
	return list, nil
}

// limit returns the length of a page.
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

// nextTask is the position at which a page of tasks ends. It does not distinguish two
// tasks with the same id, owner and millisecond in two tenants.
type nextTask struct {
	Updated int64  `json:"u"`
	ID      string `json:"i"`
	Owner   string `json:"o,omitempty"`
}

// Tasks implements admin.API: it merges the lists of tenants and states.
func (a *administration) Tasks(ctx context.Context, q admin.TaskQuery) (_ *admin.Tasks, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	defer func() { a.record(ctx, "tasks", err) }()
	lists, n, err := a.lists(ctx, &q, math.MaxInt)
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

// lists returns the queries whose results are merged into a page of tasks, and the
// length of the page. If it has to look for tenants, it stops at most of them.
func (a *administration) lists(ctx context.Context, q *admin.TaskQuery, most int) ([]store.Query, int, error) {
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
		return nil, 0, admin.Invalid("state", "excludes atWork, which selects states itself")
	case q.AtWork:
		states = []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking}
	case q.State != "":
		s, err := admin.ParseState(q.State)
		if err != nil {
			return nil, 0, admin.Invalid("state", "%.40q %v", q.State, err)
		}
		states[0] = s
	}
	var all []store.Work // the tenants and states that may have tasks
	switch {
	case q.Agent != nil && q.Tenant != nil:
		for _, s := range states {
			all = append(all, store.Work{Tenant: engine.TenantOf(a.key(*q.Agent), *q.Tenant), State: int32(s)})
		}
	case states[0] != 0 && !states[0].Terminal():
		all, err = a.work(ctx)
	default:
		var tenants []string
		tenants, err = a.tenants(ctx, most)
		for _, t := range tenants {
			all = append(all, store.Work{Tenant: t, State: int32(states[0])})
		}
	}
	if err != nil {
		return nil, 0, err
	}
	var lists []store.Query
	for _, w := range all {
		agent, callers := engine.AgentOf(w.Tenant)
		if slices.Contains(states, a2a.TaskState(w.State)) && (q.Agent == nil || a.key(*q.Agent) == agent) && (q.Tenant == nil || *q.Tenant == callers) {
			l := one
			l.Tenant, l.State = w.Tenant, w.State
			lists = append(lists, l)
		}
	}
	return lists, n, nil
}

// key is an agent's name in the keys of its tasks, which is empty for the agent at /.
func (a *administration) key(agent string) string {
	for _, s := range a.h.view.Load().agents {
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
	var end *store.Row // of the list that ends first; later rows of the other lists may be incomplete
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
		slices.SortFunc(rows, func(x, y store.Row) int { return newest(&x, &y) })
		if len(rows) > n {
			rows, more = rows[:n], true
		}
	}
	if end != nil {
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return newest(&r, end) > 0 })
	}
	return rows, total, more, nil
}
