package agent

import "io"

// Lost is what an agent declares for the case that a process is lost while its
// Run is under way: by a crash or kill -9, or because Run went on when the server
// stopped; not by a restart in good order, after which it always runs again. The
// zero value runs it again, as often as the server allows.
type Lost struct {
	// Fail, if not empty, is the public reason with which the task then fails,
	// rather than run again: for agents that must not do anything twice.
	Fail string
	// Runs is how often Run may be called for a turn, the first time included,
	// before the task fails. Runs that ended with a restart in good order do not
	// count, nor do those before the client answered a question. Zero leaves it
	// to the server.
	Runs int
}

// OnLost returns a with a declaration, instead of the one it may have. It has to
// come last: an agent that wraps another one does not pass its declaration on.
func OnLost(a Agent, l Lost) Agent { return &declared{a, l} }

// LostBy returns what an agent has declared with OnLost, or the zero value.
func LostBy(a Agent) Lost {
	if d, ok := a.(*declared); ok {
		return d.lost
	}
	return Lost{}
}

type declared struct {
	Agent
	lost Lost
}

// Close closes an agent that holds something between its runs.
func (d *declared) Close() error {
	if c, ok := d.Agent.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
