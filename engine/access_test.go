package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// operation is one of the service's, for a task of a tenant.
type operation struct {
	name   string
	need   string
	shared []string // scopes with which others' tasks may be meant
	do     func(ctx context.Context, w *world, tenant string, task *a2a.Task) error
}

var operations = []operation{
	{"SendMessage", a2a.ScopeTasksWrite, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		req := replyNow(task, "x")
		req.Tenant = tenant
		_, err := w.SendMessage(ctx, req)
		return err
	}},
	{"SendStreamingMessage", a2a.ScopeTasksWrite, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		req := reply(task, "x")
		req.Tenant = tenant
		return once(w.SendStreamingMessage(ctx, req))
	}},
	{"GetTask", a2a.ScopeTasksRead, []string{a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll}, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		_, err := w.GetTask(ctx, &a2a.GetTaskRequest{Tenant: tenant, ID: task.ID})
		return err
	}},
	{"ListTasks", a2a.ScopeTasksRead, []string{a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll}, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		list, err := w.ListTasks(ctx, &a2a.ListTasksRequest{Tenant: tenant, PageSize: new(int32(100))})
		if err == nil && !slices.ContainsFunc(list.Tasks, func(t *a2a.Task) bool { return t.ID == task.ID }) {
			err = a2a.ErrTaskNotFound // a list says so by leaving it out
			if list.TotalSize != int32(len(list.Tasks)) {
				return fmt.Errorf("the total is %d, the list has %d", list.TotalSize, len(list.Tasks))
			}
		}
		return err
	}},
	{"SubscribeToTask", a2a.ScopeTasksRead, []string{a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll}, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		return once(w.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{Tenant: tenant, ID: task.ID}))
	}},
	{"CreateTaskPushNotificationConfig", a2a.ScopePushWrite, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		_, err := w.CreateTaskPushNotificationConfig(ctx, &a2a.TaskPushNotificationConfig{Tenant: tenant, TaskID: task.ID, ID: "p", URL: "h"})
		return err
	}},
	{"GetTaskPushNotificationConfig", a2a.ScopePushRead, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		_, err := w.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{Tenant: tenant, TaskID: task.ID, ID: "p"})
		return err
	}},
	{"ListTaskPushNotificationConfigs", a2a.ScopePushRead, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		_, err := w.ListTaskPushNotificationConfigs(ctx, &a2a.ListTaskPushNotificationConfigsRequest{Tenant: tenant, TaskID: task.ID})
		return err
	}},
	{"DeleteTaskPushNotificationConfig", a2a.ScopePushWrite, nil, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		return w.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{Tenant: tenant, TaskID: task.ID, ID: "p"})
	}},
	{"CancelTask", a2a.ScopeTasksWrite, []string{a2a.ScopeTasksCancelTenant, a2a.ScopeTasksCancelAll}, func(ctx context.Context, w *world, tenant string, task *a2a.Task) error {
		_, err := w.CancelTask(ctx, &a2a.CancelTaskRequest{Tenant: tenant, ID: task.ID})
		return err
	}},
}

func once(seq func(func(*a2a.StreamResponse, error) bool)) (out error) {
	for _, err := range seq {
		return err
	}
	return errors.New("the stream has no element")
}

// accessWorld has a task at work of ann in the tenant.
func accessWorld(t *testing.T) (*world, func(tenant string) *a2a.Task) {
	w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("working"); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}), pushCard(), &Options{Push: &receivers{}, Logger: slog.New(slog.DiscardHandler)})
	return w, func(tenant string) *a2a.Task {
		t.Helper()
		r, err := w.SendMessage(as("ann", tenant), sendNow("go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range operations { // so that there is a configuration to find
			if o.name == "CreateTaskPushNotificationConfig" {
				if err := o.do(as("ann", tenant), w, "", r.Task); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		return r.Task
	}
}

// Each operation wants its scope and no other, says which one it lacks, and does
// so for tasks that do not exist as well.
func TestScopes(t *testing.T) {
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, begin := accessWorld(t)
				for _, scope := range append([]string{"", "tasks"}, a2a.Scopes...) {
					task := begin("t")
					c := a2a.Caller{Subject: "ann", Tenant: "t", Scopes: []string{scope}}
					ctx := a2a.WithCaller(t.Context(), c)
					may := scope == o.need || slices.Contains(o.shared, scope)
					err := o.do(ctx, w, "", task)
					switch {
					case may && err != nil:
						t.Errorf("with %q: %v", scope, err)
					case !may:
						wantScope(t, scope, err, o.need)
						wantScope(t, scope, o.do(ctx, w, "", &a2a.Task{ID: "no such"}), o.need)
					}
				}
			})
		})
	}
}

func wantScope(t *testing.T, has string, err error, need string) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != a2a.CodePermissionDenied || e.Meta["scope"] != need {
		t.Errorf("with %q: got %v, want that %s is lacking", has, err, need)
	}
}

// Another caller's task is found with a scope for the tenant or for all, if the operation has
// such a scope; otherwise it is not found, nor from another tenant or with credentials for no
// tenant.
func TestSharing(t *testing.T) {
	type who struct{ subject, tenant, requested string }
	callers := []who{
		{"ben", "t", ""}, {"ben", "t", "t"}, // of the tenant
		{"ben", "", "t"}, // with credentials for none
		{"ben", "u", ""}, // of another
		{"ben", "", ""},  // of none
		{"ann", "u", ""}, // the same name elsewhere
		{"", "t", ""},    // anonymous
		{"ann\x00", "t", ""},
	}
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, begin := accessWorld(t)
				for _, c := range callers {
					for _, scope := range append([]string{""}, a2a.Scopes...) {
						task := begin("t")
						scopes := append(slices.Clone(a2a.OwnScopes), scope)
						ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: c.subject, Tenant: c.tenant, Scopes: scopes})
						may := false
						if len(o.shared) == 2 {
							inside := c.tenant == "t" || c.tenant == "" && c.requested == "t"
							may = inside && (scope == o.shared[1] || scope == o.shared[0] && c.tenant == "t")
						}
						err := o.do(ctx, w, c.requested, task)
						if may != (err == nil) {
							t.Errorf("%+v with %q: %v", c, scope, err)
						}
						if !may {
							wantNotFound(t, err, o.do(ctx, w, c.requested, &a2a.Task{ID: task.ID + "x"}))
							wantState(t, must(w.GetTask(as("ann", "t"), &a2a.GetTaskRequest{ID: task.ID})), a2a.TaskStateWorking)
						}
					}
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// wantNotFound wants the answer for a task that does not exist, but for its id.
func wantNotFound(t *testing.T, got, missing error) {
	t.Helper()
	var g, m *a2a.Error
	if !errors.As(got, &g) || !errors.As(missing, &m) || g.Code != a2a.CodeTaskNotFound ||
		m.Code != g.Code || m.Message != g.Message || len(m.Meta) != len(g.Meta) {
		t.Errorf("got %v, and %v where there is none", got, missing)
	}
}

// A request for another tenant than the credentials' is denied before any look-up, with all
// scopes, and leaves nothing.
func TestTenantOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begin := accessWorld(t)
		task := begin("u")
		seen := &lookups{Store: w.st}
		e := New(seen, parrot, pushCard(), &Options{Push: &receivers{}})
		for _, o := range operations {
			ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "ann", Tenant: "t", Scopes: a2a.Scopes})
			err := o.do(ctx, &world{Engine: e, t: t}, "u", task)
			wantError(t, err, a2a.ErrPermissionDenied)
		}
		if _, err := e.GetExtendedAgentCard(a2a.WithCaller(t.Context(), a2a.Caller{Tenant: "t"}), &a2a.GetExtendedAgentCardRequest{Tenant: "u"}); !errors.Is(err, a2a.ErrPermissionDenied) {
			t.Errorf("the extended card: %v", err)
		}
		if seen.n != 0 {
			t.Errorf("%d look-ups were made", seen.n)
		}
	})
}

// lookups counts what is looked up.
type lookups struct {
	store.Store
	n int
}

func (c *lookups) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	c.n++
	return c.Store.Get(ctx, k, most)
}

func (c *lookups) List(ctx context.Context, q store.Query) (*store.Page, error) {
	c.n++
	return c.Store.List(ctx, q)
}

func (c *lookups) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	c.n++
	return c.Store.Owners(ctx, tenant, id, limit)
}

func (c *lookups) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	c.n++
	return c.Store.Receipt(ctx, k, name)
}

// Credentials without a tenant are for any, and what one has in one is not in
// another.
func TestNoTenantInCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := accessWorld(t)
		ctx := as("ann", "")
		req := sendNow("go")
		req.Tenant = "x"
		r, err := w.SendMessage(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for tenant, want := range map[string]error{"x": nil, "": a2a.ErrTaskNotFound, "y": a2a.ErrTaskNotFound} {
			if _, err := w.GetTask(ctx, &a2a.GetTaskRequest{Tenant: tenant, ID: r.Task.ID}); !errors.Is(err, want) {
				t.Errorf("in %q: %v, want %v", tenant, err, want)
			}
		}
		// A caller with credentials for x has another task with that id.
		if _, err := w.GetTask(as("ann", "x"), &a2a.GetTaskRequest{ID: r.Task.ID}); err != nil {
			t.Errorf("ann of x: %v", err)
		}
	})
}

// A page token is for its list alone: not for another caller's, nor for one of
// more or fewer owners.
func TestPageTokensOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begin := accessWorld(t)
		for range 3 {
			begin("t")
			if _, err := w.SendMessage(as("ben", "t"), sendNow("go")); err != nil {
				t.Fatal(err)
			}
		}
		one := int32(1)
		list := func(c a2a.Caller, token string) (*a2a.ListTasksResponse, error) {
			return w.ListTasks(a2a.WithCaller(t.Context(), c), &a2a.ListTasksRequest{PageSize: &one, PageToken: token})
		}
		shared := append(slices.Clone(a2a.OwnScopes), a2a.ScopeTasksReadTenant)
		callers := []a2a.Caller{
			{Subject: "ann", Tenant: "t"}, {Subject: "ben", Tenant: "t"}, {Subject: "ann", Tenant: "u"},
			{Subject: "ann", Tenant: "t", Scopes: shared}, {Subject: "ben", Tenant: "t", Scopes: shared},
		}
		for i, c := range callers {
			page, err := list(c, "")
			if err != nil {
				t.Fatal(err)
			}
			if page.NextPageToken == "" {
				continue
			}
			for j, other := range callers {
				if _, err := list(other, page.NextPageToken); (err == nil) != (i == j) {
					t.Errorf("the token of %+v with %+v: %v", c, other, err)
				}
			}
		}
		// Page by page all owners' tasks come, each once.
		seen := map[string]bool{}
		for token := ""; ; {
			page, err := list(callers[3], token)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.Tasks {
				seen[task.ID] = true
			}
			if token = page.NextPageToken; token == "" || page.TotalSize != 6 {
				break
			}
		}
		if len(seen) != 6 {
			t.Errorf("%d tasks were listed, want 6", len(seen))
		}
	})
}

// A message is known to its sender only: the same id and words of another begin
// a task of his own.
func TestReceiptsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := accessWorld(t)
		req := sendNow("go")
		req.IdempotencyKey = "key"
		ids := map[string]bool{}
		for _, c := range []struct{ subject, tenant string }{{"ann", "t"}, {"ben", "t"}, {"ann", "u"}, {"ann", ""}, {"", "t"}} {
			for range 2 {
				r, err := w.SendMessage(as(c.subject, c.tenant), req)
				if err != nil {
					t.Fatal(err)
				}
				ids[r.Task.ID] = true
			}
		}
		if len(ids) != 6 { // anonymous callers are not known
			t.Errorf("there are %d tasks, want 6", len(ids))
		}
		shared := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "eve", Tenant: "t", Scopes: a2a.Scopes})
		if _, err := w.SendMessage(shared, req); err != nil {
			t.Error(err)
		}
		list, err := w.ListTasks(as("eve", "t"), &a2a.ListTasksRequest{})
		if err != nil || list.TotalSize != 1 {
			t.Errorf("eve has %+v, %v", list, err)
		}
	})
}
