package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// askFor does the three operations that name tasks of others.
func askFor(ctx context.Context, w *world, id string) (owners [3]string, errs [3]error) {
	of := func(task *a2a.Task) string {
		if task == nil || task.ID == "" {
			return ""
		}
		for _, name := range []string{"ann", "ben", "eve", ""} {
			if own, err := w.GetTask(as(name, "t"), &a2a.GetTaskRequest{ID: task.ID}); err == nil && own.ContextID == task.ContextID {
				return name
			}
		}
		return "?"
	}
	var task *a2a.Task
	task, errs[0] = w.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	owners[0] = of(task)
	for r, err := range w.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		if errs[1] = err; err == nil {
			owners[1] = of(r.Task)
		}
		break
	}
	task, errs[2] = w.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	owners[2] = of(task)
	return owners, errs
}

func begin01(w *world, subject, id string) error {
	req := sendNow("go")
	req.Message.TaskID = id
	req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, TaskOnly: true}
	_, err := w.SendMessage(as(subject, "t"), req)
	return err
}

// operator may see and cancel all tasks of the tenant.
func operator(t *testing.T, subject, tenant string) context.Context {
	return a2a.WithCaller(t.Context(), a2a.Caller{Subject: subject, Tenant: tenant, Scopes: a2a.Scopes})
}

// Clients of 0.1 choose the ids of their tasks. A caller that knows another's id cannot
// make an operator mistake its own task for the other: the operator is told how to name
// the owner, and that works for each operation. A caller with a task of that id means
// its own.
func TestTasksOfOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := accessWorld(t)
		begin := func(subject, id string) {
			t.Helper()
			if err := begin01(w, subject, id); err != nil {
				t.Fatal(err)
			}
		}
		long := strings.Repeat("x", a2a.MaxID)
		for _, id := range []string{"chosen", long} {
			for _, name := range []string{"ben", "ann", ""} {
				begin(name, id)
			}
		}
		eve := operator(t, "eve", "t")
		want := func(ctx context.Context, id, owner string, wanted *a2a.Error) {
			t.Helper()
			owners, errs := askFor(ctx, w, id)
			for i := range owners {
				if wanted != nil {
					wantError(t, errs[i], wanted)
				} else if errs[i] != nil || owners[i] != owner {
					t.Errorf("%.20s, operation %d: the task of %q, %v; want that of %q", id, i, owners[i], errs[i], owner)
				}
			}
		}
		want(eve, "chosen", "", a2a.ErrUnsupportedOperation)
		_, errs := askFor(eve, w, "chosen")
		for _, err := range errs {
			for _, name := range []string{`"chosen@@"`, `"chosen@@ann"`, `"chosen@@ben"`} {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%v does not name %s", err, name)
				}
			}
		}
		for _, name := range []string{"ann", "ben"} {
			task, err := w.GetTask(as(name, "t"), &a2a.GetTaskRequest{ID: "chosen"})
			if err != nil || task.Status.State == a2a.TaskStateCanceled {
				t.Errorf("%s has %v, %v", name, task, err)
			}
		}
		// A caller without the scope for others' tasks learns nothing of this.
		for _, id := range []string{"chosen@@ann", "chosen@@", "chosen@@ben", "chosen@@eve"} {
			for _, ctx := range []context.Context{as("ben", "t"), as("zoe", "t"), as("ann", "u"), operator(t, "eve", "u")} {
				want(ctx, id, "", a2a.ErrTaskNotFound)
				_, errs := askFor(ctx, w, id)
				_, missing := askFor(ctx, w, "no such")
				for i := range errs {
					wantNotFound(t, errs[i], missing[i])
				}
			}
		}
		want(eve, "chosen@@zoe", "", a2a.ErrTaskNotFound)
		want(eve, "no such@@ann", "", a2a.ErrTaskNotFound)
		want(eve, "chosen@@ben", "ben", nil)
		want(eve, "chosen@@", "", nil)
		if task, err := w.GetTask(as("ann", "t"), &a2a.GetTaskRequest{ID: "chosen"}); err != nil || task.Status.State == a2a.TaskStateCanceled {
			t.Errorf("ann has %v, %v", task, err)
		}
		want(eve, "chosen@@ann", "ann", nil)
		// The longest id there is leaves room for its owner.
		want(eve, long, "", a2a.ErrUnsupportedOperation)
		want(eve, long+"@@ann", "ann", nil)
		want(eve, long+"x@@ann", "", a2a.ErrInvalidParams)
		begin("eve", "chosen")
		want(eve, "chosen", "eve", nil)
	})
}

// A client cannot choose an id that an operator would take for the name of
// another's task. Ids of databases of earlier releases that have the mark in them
// are found as before.
func TestChosenIDsDoNotNameOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := accessWorld(t)
		for _, id := range []string{"chosen@@ann", "@@", "@@ann", "a@@@ann", "chosen@", "@"} {
			wantError(t, begin01(w, "ben", id), a2a.ErrInvalidParams)
			_, err := w.GetTask(as("ben", "t"), &a2a.GetTaskRequest{ID: id})
			wantError(t, err, a2a.ErrTaskNotFound)
		}
		for _, id := range []string{"job@host", "@x", "a@b@c"} {
			if err := begin01(w, "ben", id); err != nil {
				t.Error(err)
			}
			if owners, errs := askFor(operator(t, "eve", "t"), w, id); owners != [3]string{"ben", "ben", "ben"} {
				t.Errorf("%s: %v, %v", id, owners, errs)
			}
		}
		outboxtest.Fill(t, w.st, store.Key{ID: "old@@ann"}, "h", "1.0", 2)
		for _, ctx := range []context.Context{operator(t, "eve", ""), as("", "")} {
			if task, err := w.GetTask(ctx, &a2a.GetTaskRequest{ID: "old@@ann"}); err != nil || task.ID != "old@@ann" {
				t.Errorf("%v, %v", task, err)
			}
		}
	})
}

// However many callers took an id, the message is bounded and each can be named.
func TestManyTasksOfOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := accessWorld(t)
		for i := range 2 * maxNamed {
			if err := begin01(w, fmt.Sprintf("b%02d", i), "chosen"); err != nil {
				t.Fatal(err)
			}
		}
		eve := operator(t, "eve", "t")
		_, err := w.CancelTask(eve, &a2a.CancelTaskRequest{ID: "chosen"})
		wantError(t, err, a2a.ErrUnsupportedOperation)
		if text := err.Error(); !strings.Contains(text, `"chosen@@b09", …`) || strings.Contains(text, "b10") {
			t.Error(text)
		}
		if task, err := w.CancelTask(eve, &a2a.CancelTaskRequest{ID: "chosen@@b19"}); err != nil || task.Status.State != a2a.TaskStateCanceled {
			t.Errorf("%v, %v", task, err)
		}
	})
}
