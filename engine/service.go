package engine

import (
	"github.com/parley-a2a/parley/a2a"
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

// errAbsent refuses messages for an agent that is not there.
func errAbsent() error {
	return a2a.Errorf(a2a.CodeUnavailable, "the agent is not there at the moment; try again later")
}
