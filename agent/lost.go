package agent

// Lost is what an agent declares for the case that a process is lost while its
// Run is under way: by a crash or kill -9, not by a restart in good order, after
// which it always runs again. The zero value runs it again, as often as the
// server allows.
type Lost struct {
	// Fail, if not empty, is the public reason with which the task then fails,
	// rather than run again: for agents that must not do anything twice.
	Fail string
	// Runs is how often Run may be called for a turn, the first time included,
	// before the task fails. Zero leaves that to the server.
	Runs int
}

// OnLost returns a with a declaration.
func OnLost(a Agent, l Lost) Agent { return &declared{a, l} }

// LostBy returns what an agent has declared.
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
