package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/test/fixtures"
)

// replicas are servers that share PostgreSQL, with agents a and b that work until
// they may end.
func replicas(t *testing.T, n int) (urls []string, keys *auth.Keys, a *worker) {
	address := pgtest.New(t, nil).Database(t)
	a, b := newWorker("a"), newWorker("b")
	for range n {
		st, err := postgres.Open(t.Context(), address, nil)
		if err != nil {
			t.Fatal(err)
		}
		keys = auth.NewKeys(st, nil)
		guard, err := auth.NewGuard([]auth.Method{keys}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parley.NewHost([]parley.Hosted{hostedAs("a", a), hostedAs("b", b)}, &parley.Options{Store: st, DeadAfter: 10 * time.Second, Auth: guard})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		addr, _ := fixtures.Serve(t, "", s.Serve)
		urls = append(urls, "http://"+addr)
	}
	return urls, keys, a
}

// A task that is at work in one server is nothing at another for everybody but its
// caller: at the gate, before anything is passed on, with the words for what does
// not exist. So is the token of a page.
func TestReplicasKeepCallersApart(t *testing.T) {
	pgtest.Require(t)
	t.Parallel()
	urls, keys, a := replicas(t, 2)
	key := func(subject, tenant string, scopes ...string) string {
		secret, _, err := keys.Create(t.Context(), auth.KeySpec{Subject: subject, Tenant: tenant, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return secret.Reveal()
	}
	ann := key("ann", "acme", a2a.OwnScopes...)
	owner := dialAgent(t, urls[0]+"/agents/a", ann)
	var task *a2a.Task
	for i := range 3 {
		req := hello(false)
		req.Message.MessageID = fmt.Sprint("m", i)
		res, err := owner.SendMessage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		task = res.Task
		receive(t, a.began, "the beginning of a task")
	}
	size := int32(1)
	page, err := owner.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: &size})
	if err != nil || page.NextPageToken == "" {
		t.Fatalf("the list: %+v, %v", page, err)
	}
	strangers := map[string]*a2aclient.Client{}
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		for name, of := range map[string]struct{ key, agent string }{
			"another caller of the tenant":      {key("bob", "acme", a2a.OwnScopes...), "a"},
			"her namesake of another tenant":    {key("ann", "other", a2a.OwnScopes...), "a"},
			"an operator of another tenant":     {key("op", "other", a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksWrite, a2a.ScopeTasksCancelTenant), "a"},
			"a tenant that names the agent":     {key("ann", "agents/a/acme", a2a.OwnScopes...), "b"},
			"the caller herself, to the others": {ann, "b"},
		} {
			c, err := a2aclient.Dial(t.Context(), urls[1]+"/agents/"+of.agent, &a2aclient.Options{APIKey: of.key, Retries: -1, Bindings: []string{binding}})
			if err != nil {
				t.Fatal(err)
			}
			strangers[binding+", "+name] = c
		}
	}
	ops := map[string]func(*a2aclient.Client, string) error{
		"get": func(c *a2aclient.Client, id string) error {
			_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
			return err
		},
		"cancel": func(c *a2aclient.Client, id string) error {
			_, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
			return err
		},
		"send": func(c *a2aclient.Client, id string) error {
			req := hello(false)
			req.Message.TaskID, req.Message.MessageID = id, "m0"
			_, err := c.SendMessage(t.Context(), req)
			return err
		},
		"subscribe": func(c *a2aclient.Client, id string) error {
			for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
				return err
			}
			return nil
		},
	}
	const nothing = "00000000-0000-7000-8000-000000000000"
	for name, c := range strangers {
		for op, do := range ops {
			for _, id := range []string{task.ID, task.ID + a2a.OwnerMark + "ann"} {
				err, missing := do(c, id), do(c, strings.Replace(id, task.ID, nothing, 1))
				if err == nil || missing == nil || !errors.Is(err, a2a.ErrTaskNotFound) || strings.ReplaceAll(err.Error(), task.ID, nothing) != missing.Error() {
					t.Errorf("%s, %s %s: %v; of nothing: %v", name, op, id, err, missing)
				}
			}
		}
		if list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) > 0 {
			t.Errorf("%s lists %+v, %v", name, list, err)
		}
		if list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: &size, PageToken: page.NextPageToken}); err == nil {
			t.Errorf("%s goes on with the page of another: %+v", name, list)
		}
	}
	// All of that is hers, and goes on, at the other server as well.
	again := dialAgent(t, urls[1]+"/agents/a", ann)
	if list, err := again.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: &size, PageToken: page.NextPageToken}); err != nil || len(list.Tasks) != 1 {
		t.Errorf("her next page: %+v, %v", list, err)
	}
	got, err := again.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || len(got.History) != 1 || got.Status.State != a2a.TaskStateWorking && got.Status.State != a2a.TaskStateSubmitted {
		t.Errorf("her task: %+v, %v", got, err)
	}
	if _, err := again.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Errorf("she cancels it: %v", err)
	}
	close(a.may)
}
