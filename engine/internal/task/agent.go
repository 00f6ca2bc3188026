package task

import (
	"io"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Agent is an agent as its tasks know it.
type Agent struct {
	declared agent.Lost
	title    title
	accounts bool // the card offers the traceability extension
	Player   *Player
}

// NewAgent returns an agent under its card. player, if not nil, is that of the same
// agent, which goes on; otherwise there is a new one, and close, or an agent that is an
// io.Closer, is closed with its last run.
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

// Player is who runs: an agent, until the last of its runs has ended.
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

// end is the end of a run. It reports whether the player is to be closed.
func (p *Player) end() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs--
	return p.lastLocked()
}

// Retire lets the player have no more runs. It reports whether it is to be closed.
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

// perform returns who runs a task, with the run counted; nil if its agent is not
// there.
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
