package conformance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// TestOperatorsSayWhoseTask: where callers of 0.1 have tasks of one id, an operator
// reads, follows and cancels each of them, over every version and binding.
func TestOperatorsSayWhoseTask(t *testing.T) {
	t.Parallel()
	st := store.NewMemory()
	office, guard := newOffice(t, st, false)
	url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Store: st, Auth: guard})
	caller := func(name string, scopes ...string) speaker {
		h := http.Header{}
		for k, v := range office.key(name, "t", scopes...).header {
			h.Set(k, v)
		}
		return speaker{t, url, h}
	}
	ann, ben, zoe := caller("ann"), caller("ben"), caller("zoe")
	eve := caller("eve", append([]string{a2a.ScopeTasksReadTenant, a2a.ScopeTasksCancelTenant}, a2a.OwnScopes...)...)
	for i, how := range []struct{ version, binding string }{
		{"0.1", a2a.BindingJSONRPC}, {"0.2", a2a.BindingJSONRPC},
		{"0.3", a2a.BindingJSONRPC}, {"0.3", a2a.BindingHTTPJSON}, {"0.3", a2a.BindingGRPC},
		{"1.0", a2a.BindingJSONRPC}, {"1.0", a2a.BindingHTTPJSON}, {"1.0", a2a.BindingGRPC},
	} {
		id := "chosen/" + string(rune('a'+i))
		ann.say(id, "ask of ann?")
		ben.say(id, "ask of ben?")
		at := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s, %s: %s: %v", how.version, how.binding, what, err)
			}
		}
		c := eve.dial(how.version, how.binding)
		_, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
		if err == nil || !strings.Contains(err.Error(), `"`+id+`@@key:ben"`) {
			t.Errorf("%s, %s: it is not said how to name the owner: %v", how.version, how.binding, err)
		}
		task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id + "@@key:ben"})
		if at("get", err); err == nil && !strings.Contains(string(task.AppendJSON(nil)), "of ben?") {
			t.Errorf("%s, %s: got %s", how.version, how.binding, task.AppendJSON(nil))
		}
		for el, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id + "@@key:ben"}) {
			if at("subscribe", err); err == nil && !strings.Contains(string(el.AppendJSON(nil)), "of ben?") {
				t.Errorf("%s, %s: subscribed to %s", how.version, how.binding, el.AppendJSON(nil))
			}
			break
		}
		task, err = c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id + "@@key:ben"})
		if at("cancel", err); err == nil && task.Status.State != a2a.TaskStateCanceled {
			t.Errorf("%s, %s: canceled %s", how.version, how.binding, task.AppendJSON(nil))
		}
		task, err = ann.dial(how.version, how.binding).GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
		if at("ann's", err); err == nil && task.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("%s, %s: ann's is %v", how.version, how.binding, task.Status.State)
		}
		// A caller without that scope learns nothing by the same words.
		for _, other := range []speaker{ann, zoe} {
			if _, err := other.dial(how.version, how.binding).GetTask(t.Context(), &a2a.GetTaskRequest{ID: id + "@@key:ben"}); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s, %s: %v", how.version, how.binding, err)
			}
		}
	}
}
