package engine

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// access says which tasks one call may see. Only service.enter makes one, and every look-up for
// a caller needs one, so that nothing bypasses the gate.
type access struct {
	caller a2a.Caller
	scope  store.Key // tenant and owner, without ID: what the call makes belongs there
	shared bool      // the tasks of others in the tenant may be seen, too
	role   *role     // the agent that is called; nil if another process let the call in
}

// enter is the gate of every operation (specification §13.1), to which an agent may add checks
// of its own: it says what the caller may see of a tenant, before anything is looked up. tenant
// is the request's. need is the scope for the caller's own tasks. all, if given, are the scopes
// for the tasks of others: in the tenant, then in all tenants.
//
// Credentials that name a tenant are for that one only. Credentials that name none are for any
// tenant: a caller's tasks in one tenant are separate from its tasks in another, and the tasks
// of others are invisible without one of the scopes in all.
func (s *service) enter(ctx context.Context, tenant, need string, all ...string) (*access, error) {
	c := a2a.CallerFrom(ctx)
	if tenant != "" && c.Tenant != "" && tenant != c.Tenant {
		return nil, a2a.Errorf(a2a.CodePermissionDenied, "your credentials are for one tenant and the request names another; leave it out")
	}
	a := &access{caller: c, scope: store.Key{Tenant: tenant, Owner: c.Subject}}
	if a.scope.Tenant == "" {
		a.scope.Tenant = c.Tenant
	}
	if len(all) == 2 {
		a.shared = c.May(all[0]) && a.scope.Tenant == c.Tenant || c.May(all[1])
	}
	if !a.shared && !c.May(need) {
		return nil, errScope(need)
	}
	if a.role = s.e.role(s.name); a.role == nil {
		a.role = absent
	}
	// A tenant with the mark would name another agent's tasks.
	if strings.ContainsRune(a.scope.Tenant, task.Mark) {
		return nil, a2a.Invalid("tenant", "has a control character")
	}
	a.scope.Tenant = s.prefix + a.scope.Tenant
	return a, nil
}

func errScope(need string) error {
	return &a2a.Error{
		Code:    a2a.CodePermissionDenied,
		Message: "your credentials lack the scope " + need + ": ask the operator for some that have it",
		Meta:    map[string]string{"scope": need},
	}
}

// own returns the key of one of the caller's tasks.
func (a *access) own(id string) store.Key {
	k := a.scope
	k.ID = id
	return k
}
