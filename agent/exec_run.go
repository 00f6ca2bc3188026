package agent

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

var (
	// errTooMuch says that a command printed more than it may.
	errTooMuch = errors.New("agent: the command printed too much")
	// errShut says that a command can say nothing more and goes on all the same.
	errShut = errors.New("agent: the command closed its output and did not end")
	// errSlow says that a command was at work for longer than it may.
	errSlow = errors.New("agent: the command took too long")
)

// maxLate caps how many pieces are read after the kill, and once more after the
// output was given up. A full pipe holds fewer; more can only come from a process
// that has left the group.
const maxLate = 40

// run follows one command from its start to its end. All its fields belong to
// the goroutine in follow.
type run struct {
	c    *command
	p    *process
	out  *lines
	room int64 // how many bytes may still be printed

	ended  error // why the command was told to end, or nil
	killed bool
	late   int  // pieces read after the kill
	given  bool // the output was given up

	pieces  <-chan []byte   // nil once standard output has ended
	quiet   <-chan struct{} // nil once standard error has ended
	exited  <-chan struct{} // nil once the command's own process has ended
	flush   *time.Timer     // when the held line goes out
	overdue *time.Timer     // when patience with what is left ends
	shut    *time.Timer     // when patience with a command that closed its output ends
}

// follow emits what the command prints until the command and its output have
// ended, or have been ended. The error is ctx's cause, errTooMuch, errShut, or what
// emitting returned; how the command fared is in p.err. On nil and what is the
// command's own fault the artifact is closed.
func (r *run) follow(ctx context.Context) error {
	r.pieces, r.quiet, r.exited = r.p.pieces, r.p.quiet, r.p.exited
	r.flush, r.overdue, r.shut = wake.Stopped(), wake.Stopped(), wake.Stopped()
	defer r.flush.Stop()
	defer r.overdue.Stop()
	defer r.shut.Stop()

	done := ctx.Done()
	for r.pieces != nil || r.quiet != nil || r.exited != nil {
		select {
		case piece, ok := <-r.pieces:
			if ok {
				r.take(piece)
			} else {
				r.pieces = nil
				r.shut.Reset(r.c.opts.grace())
			}
		case <-r.quiet:
			r.quiet = nil
		case <-r.exited:
			r.exited = nil
			r.shut.Stop()
			if r.ended == nil || r.killed {
				r.overdue.Reset(r.c.linger)
			} // otherwise the rest of the group has what is left of the grace
		case <-r.flush.C:
			if err := r.out.flush(); err != nil {
				r.end(err)
			}
		case <-r.shut.C:
			r.end(errShut)
		case <-done:
			done = nil
			r.end(context.Cause(ctx))
		case <-r.overdue.C:
			r.lose()
		}
	}
	if r.ended == nil || r.ended == errTooMuch || r.ended == errShut || r.ended == errSlow {
		if err := r.out.close(); err != nil {
			return err
		}
	}
	return r.ended
}

// take emits a piece of output. Output that comes after the command was told to
// end is read, so that it does not block, and dropped.
func (r *run) take(piece []byte) {
	if r.ended != nil {
		return
	}
	tooMuch := int64(len(piece)) > r.room
	if tooMuch {
		piece = piece[:r.room]
	}
	r.room -= int64(len(piece))

	held, chunks := whole(r.out.held) > 0, r.out.chunks // half a rune is what a flush leaves: no timer runs for it
	err := r.out.write(piece)
	switch {
	case err != nil:
		r.end(err)
	case tooMuch:
		r.end(errTooMuch)
	case !held || r.out.chunks != chunks: // another line is held now
		r.flush.Reset(r.c.hold)
	}
	if r.killed && r.ended == nil && !r.given {
		// Patience is measured in silence, not in how long emitting takes:
		// what the pipe still holds is not lost to a slow disk.
		r.overdue.Reset(r.c.linger)
		if r.late++; r.late > maxLate {
			r.abandon()
		}
	}
}

// end tells the command to end, because of err.
func (r *run) end(err error) {
	if r.ended != nil {
		return
	}
	r.ended = err
	r.flush.Stop()
	if r.killed {
		r.overdue.Reset(r.c.linger)
		return
	}
	r.p.Terminate()
	r.overdue.Reset(r.c.opts.grace())
}

// lose patience: kill, and if that was done already, give the output up.
func (r *run) lose() {
	if r.killed {
		r.abandon()
		return
	}
	r.killed = true
	r.p.Kill()
	r.overdue.Reset(r.c.linger)
}

// abandon gives up the output: it is held open by a process that has left the
// group, or this one was too busy to read it, and then nothing of it is lost. The
// command itself is still waited for; SIGKILL ends it.
func (r *run) abandon() {
	r.overdue.Stop()
	if !r.given && r.p.giveUp() {
		r.given = true
		return
	}
	r.pieces, r.quiet = nil, nil
}
