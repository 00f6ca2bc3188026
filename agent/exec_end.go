package agent

import (
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// maxLate caps how many pieces are read after the kill, and once more after the output
// was given up. A full pipe holds fewer; more can only come from a process that has
// left the group.
const maxLate = 40

// outlet follows the output and the exit of a process. It belongs to one goroutine.
type outlet struct {
	c        *command
	p        *process        // nil once the session no longer owns it
	pieces   <-chan []byte   // nil once standard output has ended
	exited   <-chan struct{} // nil once the command's own process has ended
	patience *time.Timer     // runs when the process closed its output, or when the process of an open output ended
	killed   bool            // the processes left running were killed
	late     int             // pieces read after that
	given    bool            // the output was given up
}

func (c *command) outlet(p *process) outlet {
	return outlet{c: c, p: p, pieces: p.pieces, exited: p.Exited, patience: wake.Stopped()}
}

// over reports whether process and output have ended.
func (o *outlet) over() bool { return o.pieces == nil && o.exited == nil }

// took notes that a piece came from pieces, or that pieces was closed.
func (o *outlet) took(ok bool) {
	switch {
	case !ok:
		o.pieces = nil
		if o.exited != nil {
			o.patience.Reset(o.c.opts.grace())
		}
	case o.killed && !o.given:
		// Only silence ends the wait, so that a slow disk loses nothing that the pipe
		// still holds.
		o.patience.Reset(o.c.linger)
		if o.late++; o.late > maxLate {
			o.abandon()
		}
	}
}

// exits notes that the command's own process has ended.
func (o *outlet) exits() {
	o.exited = nil
	o.patience.Reset(o.c.linger)
}

// lose decides what follows when patience has ended: it returns errShut, kills the
// processes left running, or gives up the output.
func (o *outlet) lose() error {
	switch {
	case o.exited != nil:
		return errShut
	case o.killed:
		o.abandon()
	default:
		o.killed = true
		o.p.Kill()
		o.patience.Reset(o.c.linger)
	}
	return nil
}

// abandon gives up the output. Either a process that has left the group holds it open,
// or this process was too busy to read it; in the latter case none of it is lost.
func (o *outlet) abandon() {
	o.patience.Stop()
	if o.given || !o.p.giveUp() {
		o.pieces = nil
	}
	o.given = true
}

// wind ends a process and returns when nothing of it is left here. The process may end
// by itself within patience; then it is told to end, and has the grace.
func (p *process) wind(patience, grace, linger time.Duration) {
	defer p.close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	told := false
	for pieces, quiet, exited := p.pieces, p.quiet, p.Exited; pieces != nil || quiet != nil || exited != nil; {
		select {
		case _, ok := <-pieces:
			if !ok {
				pieces = nil
			}
		case <-quiet:
			quiet = nil
		case <-exited:
			exited = nil
			if !told {
				timer.Reset(linger)
			}
		case <-timer.C:
			if told || exited == nil {
				return
			}
			told = true
			p.Terminate()
			timer.Reset(grace)
		}
	}
}
