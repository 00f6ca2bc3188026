package agent

import "io"

// Lost says what happens to a task if its process is lost during Run: by a crash or
// kill -9, or because Run did not end when the server stopped. An orderly restart is
// not a loss: Run is then always called again. The zero value runs the task again, as
// often as the server allows.
type Lost struct {
	// Fail, if not empty, is the public reason with which the task then fails instead
	// of running again: for agents that must not do anything twice.
	Fail string
	// Runs is how often Run may be called for a turn, including the first time, before
	// the task fails. Runs that ended with an orderly restart do not count, nor do
	// those before the client answered a question. Zero leaves it to the server.
	Runs int
}

// OnLost returns a with a declaration, which replaces an earlier one. Call it last: an
// agent that wraps another one does not pass its declaration on.
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

// Close closes the agent if it is an io.Closer.
func (d *declared) Close() error {
	if c, ok := d.Agent.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
