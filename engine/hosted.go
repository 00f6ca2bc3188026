package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Hosted is one agent of an Engine that may have several.
type Hosted struct {
	// Name is a part of the keys of the agent's tasks, whose Tenant has it in
	// front: see AgentOf. Empty is the name of the agent that the Engine itself is
	// the Service of.
	Name  string
	Agent agent.Agent
	// Card says what is enforced, as for New.
	Card *a2a.AgentCard
	// ExtendedCard is as Options.ExtendedCard, for this agent.
	ExtendedCard func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	// Close is called once after the last run of the agent, when another one has
	// taken its place or the Engine has drained. Nil: an Agent that is an io.Closer
	// is closed by itself.
	Close func() error
}

// mark stands before and behind the name of an agent in a tenant. No tenant of a
// caller may have it.
const mark = '\x1f'

func prefix(name string) string {
	if name == "" {
		return ""
	}
	return string(mark) + name + string(mark)
}

// AgentOf returns the name of the agent that a task belongs to, "" for the one
// without a name, and the tenant of its caller, both from the Tenant of its key.
func AgentOf(tenant string) (name, callers string) {
	if tenant == "" || tenant[0] != mark {
		return "", tenant
	}
	name, callers, _ = strings.Cut(tenant[1:], string(mark))
	return name, callers
}

// TenantOf is the other way round.
func TenantOf(name, callers string) string { return prefix(name) + callers }

// roster is who is there at a time. It does not change.
type roster struct {
	front *role // the one without a name; nil if there is none
	named map[string]*role
}

// role is an agent as callers know it: under its name, with its card.
type role struct {
	gate     gate
	declared agent.Lost
	extended func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	title    title
	player   *player
}

// player is who runs: an agent, until the last of its runs has ended.
type player struct {
	agent agent.Agent
	close func() error // may be nil

	mu      sync.Mutex // protects the fields below
	runs    int
	retired bool // it gets no more runs
	closed  bool
}

// absent is the role of agents that are not there, whose tasks may be read and
// cancelled.
var absent = &role{gate: gate{streaming: true, absent: true}}

func (r *roster) of(name string) *role {
	if name == "" {
		return r.front
	}
	return r.named[name]
}

// newRoster joins agents with those players of before that go on.
func newRoster(agents []Hosted, before *roster, push bool) (*roster, error) {
	r := &roster{named: map[string]*role{}}
	for i := range agents {
		h := &agents[i]
		if h.Agent == nil || h.Card == nil {
			return nil, fmt.Errorf("engine: the agent %q needs an agent and a card", h.Name)
		}
		if r.of(h.Name) != nil {
			return nil, fmt.Errorf("engine: there are two agents called %q", h.Name)
		}
		if strings.ContainsRune(h.Name, mark) {
			return nil, fmt.Errorf("engine: %q is no name of an agent", h.Name)
		}
		is := &role{gate: newGate(h.Card), declared: agent.LostBy(h.Agent), extended: h.ExtendedCard, title: newTitle(h.Card.Name, h.Card.Version, agent.KindOf(h.Agent))}
		is.gate.push = is.gate.push && push
		if was := before.of(h.Name); was != nil && same(was.player.agent, h.Agent) {
			is.player = was.player
		} else {
			is.player = &player{agent: h.Agent, close: h.Close}
			if c, ok := h.Agent.(io.Closer); ok && h.Close == nil {
				is.player.close = c.Close
			}
		}
		if h.Name == "" {
			r.front = is
		} else {
			r.named[h.Name] = is
		}
	}
	return r, nil
}

// same reports whether two agents are one. Functions are never the same.
func same(a, b agent.Agent) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// all calls f with each role.
func (r *roster) all(f func(*role)) {
	if r.front != nil {
		f(r.front)
	}
	for _, is := range r.named {
		f(is)
	}
}

// role returns the role that a task belongs to; nil if its agent is not there.
func (e *Engine) role(k store.Key) *role {
	name, _ := AgentOf(k.Tenant)
	return e.roster.Load().of(name)
}

// perform returns who runs a task, with the run counted; nil if its agent is not
// there.
func (e *Engine) perform(k store.Key) *player {
	for {
		r := e.role(k)
		if r == nil {
			return nil
		}
		if r.player.begin() {
			return r.player
		}
		if r == e.role(k) {
			return nil // the engine has drained
		}
	}
}

func (p *player) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return false
	}
	p.runs++
	return true
}

// end is the end of a run. It reports whether the player is to be closed.
func (p *player) end() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs--
	return p.lastLocked()
}

// retire lets the player have no more runs. It reports whether it is to be closed.
func (p *player) retire() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	return p.lastLocked()
}

func (p *player) lastLocked() bool {
	if p.closed || !p.retired || p.runs > 0 {
		return false
	}
	p.closed = true
	return true
}

// dismiss closes a player whose last run has ended.
func (e *Engine) dismiss(p *player) {
	if p.close == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("an agent panicked when it was closed", "panic", v)
		}
	}()
	if err := p.close(); err != nil {
		e.log.Warn("an agent could not be closed", "error", err)
	}
}

// dismissAll retires who is there, and closes those who do not run.
func (e *Engine) dismissAll() {
	e.roster.Load().all(func(r *role) {
		if r.player.retire() {
			e.dismiss(r.player)
		}
	})
}

// Replace puts other agents in the place of those that are there, all at once or,
// with an error, none. Runs that are under way go on with the agent that they
// began with; an agent that is the same value as before, under the same name, goes
// on as well, with its new card. Tasks whose agent is not there any more wait for
// one of its name. l, if not nil, takes the place of Options.Limits.
func (e *Engine) Replace(agents []Hosted, l *Limits) error {
	e.replacing.Lock()
	defer e.replacing.Unlock()
	was := e.roster.Load()
	is, err := newRoster(agents, was, e.outbox != nil)
	if err != nil {
		return err
	}
	e.topics.Lock()
	if e.drained {
		e.topics.Unlock()
		return errors.New("engine: it has ended")
	}
	e.work.Add(1) // what is closed is waited for
	e.roster.Store(is)
	if l != nil {
		e.setLimits(*l)
	}
	e.topics.Unlock()

	stays := map[*player]bool{}
	is.all(func(r *role) { stays[r.player] = true })
	var gone []*player
	was.all(func(r *role) {
		if !stays[r.player] && r.player.retire() {
			gone = append(gone, r.player)
		}
	})
	go func() {
		defer e.work.Done()
		for _, p := range gone {
			e.dismiss(p)
		}
	}()
	e.taker.arrived(func(k store.Key) bool { return is.of(first(AgentOf(k.Tenant))) != nil })
	return nil
}

func first(a, _ string) string { return a }

// awaitLocked leaves the task to an agent that is not there. It stays as it is in
// the store, and this process's, until the agent comes.
func (o *owner) awaitLocked() {
	o.log().Info("task waits for its agent, which is not there")
	o.enterLocked(phaseNoAgent)
	o.createLocked()
	o.nudge()
}

// awaiting notes a task without an owner, for when its agent comes.
func (e *Engine) awaiting(k store.Key) {
	e.taker.mu.Lock()
	e.taker.awaiting[k] = struct{}{}
	e.taker.mu.Unlock()
	if e.role(k) != nil { // it came meanwhile
		e.taker.arrived(func(other store.Key) bool { return other == k })
	}
}

// arrived lets tasks go on whose agent is there by now.
func (t *taker) arrived(is func(store.Key) bool) {
	t.mu.Lock()
	for k := range t.awaiting {
		if is(k) {
			delete(t.awaiting, k)
			if t.orphans[k] == nil {
				t.orphans[k] = &orphan{}
			}
		}
	}
	t.mu.Unlock()
	t.look()
}
