package engine

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/task"
)

// service is the operations of one agent: an a2a.Service. Its agent may be replaced,
// or not be there: then its tasks can be read and cancelled.
type service struct {
	e      *Engine
	name   string
	prefix string // of the tenant of its tasks
}

// Agent returns the Service of the agent of this name, also after Replace has put another
// one in its place.
func (e *Engine) Agent(name string) a2a.Service {
	if name == "" {
		return e
	}
	return &service{e, name, TenantOf(name, "")}
}

// enter lets a call in: see the function. What the access is for, is this agent's.
func (s *service) enter(ctx context.Context, tenant, need string, all ...string) (*access, error) {
	a, err := enter(ctx, tenant, need, all...)
	if err != nil {
		return nil, err
	}
	if a.role = s.e.roster.Load().of(s.name); a.role == nil {
		a.role = absent
	}
	// A tenant with the mark would name another agent's tasks.
	if strings.IndexByte(a.scope.Tenant, task.Mark) >= 0 {
		return nil, a2a.Invalid("tenant", "has a control character")
	}
	a.scope.Tenant = s.prefix + a.scope.Tenant
	return a, nil
}

// errAbsent refuses messages for an agent that is not there.
func errAbsent() error {
	return a2a.Errorf(a2a.CodeUnavailable, "the agent is not there at the moment; try again later")
}
