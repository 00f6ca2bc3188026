package engine

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// access is what one call may see. Only service.enter makes one, and whatever is looked
// up for a caller is looked up by one, so that nothing passes by the gate.
type access struct {
	caller a2a.Caller
	scope  store.Key // tenant and owner, without ID: what is made belongs there
	shared bool      // what belongs to others in the tenant may be seen, too
	role   *role     // the agent that is called; nil where another process let the call in
}

// enter is the gate in front of every operation, but for what an agent adds (specification
// §13.1): it says what the caller may see of a tenant, before anything is looked up. tenant
// is the request's; need is the scope for what is the caller's own, and all, if any, are
// those for what belongs to others: of the tenant, then of everybody.
//
// Credentials that name a tenant are for that one only. Those that name none are
// for any: what their owner has in one is kept apart from what he has in
// another, and others' are out of sight unless a scope of all is given.
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

// also refuses a caller without another scope, which a part of its call needs.
func (a *access) also(need string) error {
	if !a.caller.May(need) {
		return errScope(need)
	}
	return nil
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
