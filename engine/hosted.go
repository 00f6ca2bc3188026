package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// Hosted is one agent of an Engine that may have several.
type Hosted struct {
	// Name is a part of the keys of the agent's tasks: their Tenant begins with it, see
	// AgentOf. The agent with the empty name is the one whose Service is the Engine itself.
	Name  string
	Agent agent.Agent
	// Card says what is enforced, as for New.
	Card *a2a.AgentCard
	// ExtendedCard is as Options.ExtendedCard, for this agent.
	ExtendedCard func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	// Close is called once after the last run of the agent, when Replace has replaced it or the
	// Engine has drained. Nil means that an Agent that is an io.Closer is closed.
	Close func() error
}

// service has the operations of one agent: it is an a2a.Service. Its agent may be replaced or
// absent; while it is absent, its tasks can be read and cancelled.
type service struct {
	e      *Engine
	name   string
	prefix string // of the tenant of its tasks
}

// Agent returns the Service of the agent of this name, even after Replace has replaced the
// agent.
func (e *Engine) Agent(name string) a2a.Service {
	if name == "" {
		return e
	}
	return &service{e, name, TenantOf(name, "")}
}

// errAbsent refuses messages for an agent that is not there.
func errAbsent() error {
	return a2a.Errorf(a2a.CodeUnavailable, "the agent is not available at the moment; try again later")
}

// roster has the present agents by name. It does not change.
type roster map[string]*role

// role returns the role of the agent called name, or nil.
func (e *Engine) role(name string) *role { return (*e.roster.Load())[name] }

// role is an agent as callers know it: its card, and the agent.
type role struct {
	gate     gate
	extended func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	agent    *task.Agent // nil if it is not there
}

// absent is the role of agents that are not there. Their tasks may be read and cancelled.
var absent = &role{gate: gate{streaming: true, absent: true}}

// newRoster makes the roster of agents. An agent that was in before keeps its player.
func newRoster(agents []Hosted, before roster, push bool) (roster, error) {
	r := roster{}
	for i := range agents {
		h := &agents[i]
		if h.Agent == nil || h.Card == nil {
			return nil, fmt.Errorf("engine: the agent %q needs an agent and a card", h.Name)
		}
		if r[h.Name] != nil {
			return nil, fmt.Errorf("engine: there are two agents called %q", h.Name)
		}
		if strings.ContainsRune(h.Name, task.Mark) {
			return nil, fmt.Errorf("engine: %q is no name of an agent", h.Name)
		}
		is := &role{gate: newGate(h.Card), extended: h.ExtendedCard}
		is.gate.push = is.gate.push && push
		var player *task.Player // the former player, if it is the same agent
		if was := before[h.Name]; was != nil && same(was.agent.Player.Agent, h.Agent) {
			player = was.agent.Player
		}
		is.agent = task.NewAgent(h.Agent, h.Close, h.Card, player)
		r[h.Name] = is
	}
	return r, nil
}

// same reports whether two agents are the same value. Functions are never the same.
func same(a, b agent.Agent) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// agentOf returns the agent that a task belongs to; nil if it is not there.
func (e *Engine) agentOf(k store.Key) *task.Agent {
	name, _ := AgentOf(k.Tenant)
	if r := e.role(name); r != nil {
		return r.agent
	}
	return nil
}

// dismissAll retires all agents, and closes those that do not run.
func (e *Engine) dismissAll() {
	for _, r := range *e.roster.Load() {
		if r.agent.Player.Retire() {
			e.owners.Dismiss(r.agent.Player)
		}
	}
}

// Replace replaces the agents: all at once or, if it returns an error, none. Runs that are
// under way go on with the agent that they began with. An agent that is the same value as
// before, under the same name, also goes on, with its new card. Tasks whose agent is no longer
// there wait for an agent of that name. l, if not nil, replaces Options.Limits.
func (e *Engine) Replace(agents []Hosted, l *Limits) error {
	e.replacing.Lock()
	defer e.replacing.Unlock()
	was := *e.roster.Load()
	is, err := newRoster(agents, was, e.outbox != nil)
	if err != nil {
		return err
	}
	if !e.owners.Enter() { // a closed engine waits for its owners
		return errors.New("engine: it has ended")
	}
	e.roster.Store(&is)
	if l != nil {
		e.owners.SetLimits(l)
	}

	stays := map[*task.Player]bool{}
	for _, r := range is {
		stays[r.agent.Player] = true
	}
	var gone []*task.Player
	for _, r := range was {
		if !stays[r.agent.Player] && r.agent.Player.Retire() {
			gone = append(gone, r.agent.Player)
		}
	}
	go func() {
		defer e.owners.Done()
		for _, p := range gone {
			e.owners.Dismiss(p)
		}
	}()
	e.owners.Arrived(func(k store.Key) bool { return is[first(AgentOf(k.Tenant))] != nil })
	return nil
}

func first(a, _ string) string { return a }
