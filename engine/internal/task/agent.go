package task

import (
	"io"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Agent is an agent with what its tasks have to know of it.
type Agent struct {
	declared agent.Lost
	title    title
	accounts bool // the card offers the traceability extension
	Player   *Player
}

// NewAgent returns an agent with its card. player, if not nil, is the existing player of the
// same agent and is kept. Otherwise there is a new one, which ends after its last run with
// close, or with the Close method of an agent that is an io.Closer.
func NewAgent(a agent.Agent, close func() error, card *a2a.AgentCard, player *Player) *Agent {
	if player == nil {
		if c, ok := a.(io.Closer); ok && close == nil {
			close = c.Close
		}
		player = &Player{Agent: a, close: close}
	}
	accounts := slices.ContainsFunc(card.Capabilities.Extensions, func(e *a2a.AgentExtension) bool { return e != nil && e.URI == a2a.TraceabilityURI })
	return &Agent{agent.LostBy(a), newTitle(card.Name, card.Version, agent.KindOf(a)), accounts, player}
}

// Player is an agent that runs tasks. Once retired, it is closed when its last run has ended.
type Player struct {
	Agent agent.Agent
	close func() error // may be nil

	mu      sync.Mutex // protects the fields below
	runs    int
	retired bool // it gets no more runs
	closed  bool
}

func (p *Player) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return false
	}
	p.runs++
	return true
}

// end counts the end of a run. It reports whether to close the player.
func (p *Player) end() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs--
	return p.lastLocked()
}

// Retire gives the player no more runs. It reports whether to close the player.
func (p *Player) Retire() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	return p.lastLocked()
}

func (p *Player) lastLocked() bool {
	if p.closed || !p.retired || p.runs > 0 {
		return false
	}
	p.closed = true
	return true
}

// perform returns the player that runs a task, with the run counted; nil if this process does
// not have the task's agent, or has drained.
func (os *Owners) perform(k store.Key) *Player {
	for {
		r := os.Agent(k)
		if r == nil {
			return nil
		}
		if r.Player.begin() {
			return r.Player
		}
		if r == os.Agent(k) {
			return nil // the engine has drained
		}
	}
}

// Dismiss closes a player whose last run has ended.
func (os *Owners) Dismiss(p *Player) {
	if p.close == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			os.Log.Error("an agent panicked when it was closed", "panic", v)
		}
	}()
	if err := p.close(); err != nil {
		os.Log.Warn("an agent could not be closed", "error", err)
	}
}
