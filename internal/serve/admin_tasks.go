package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/store"
)

func parseState(word string) (a2a.TaskState, bool) {
	for _, s := range a2a.TaskStates() {
		if admin.StateWord(s) == word {
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
				words = append(words, admin.StateWord(s))
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
