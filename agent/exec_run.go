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
	// errShut says that a command closed its output and runs on.
	errShut = errors.New("agent: the command closed its output and did not end")
	// errSlow says that a command was at work for longer than it may.
	errSlow = errors.New("agent: the command took too long")
)

// run follows one command that prints text. Its fields belong to the goroutine in follow.
type run struct {
	c     *command
	p     *process
	out   *lines
	room  int64       // how many bytes may still be printed
	flush *time.Timer // when the held line goes out
}

// follow emits what the command prints until its output and the command have ended, or
// until something ends them. Then the process is closed. The error is ctx's cause,
// errTooMuch, errShut, or an error of emitting; p.Cause says how the command ended. The
// artifact is closed if the error is nil or the command's own fault.
func (r *run) follow(ctx context.Context) error {
	err := r.listen(ctx)
	if err == nil {
		err = r.out.close()
	}
	if err == nil {
		err = r.p.ends(ctx, r.c.opts.grace())
	}
	r.p.wind(0, r.c.opts.grace())
	if isAny(err, errTooMuch, errSlow) {
		if err := r.out.close(); err != nil {
			return err
		}
	}
	return err
}

// listen emits what the command prints, until the end of its output.
func (r *run) listen(ctx context.Context) error {
	r.flush = wake.Stopped()
	defer r.flush.Stop()
	for {
		var err error
		select {
		case piece, ok := <-r.p.pieces:
			if !ok {
				return nil
			}
			err = r.take(piece)
		case <-r.flush.C:
			err = r.out.flush()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// take emits a piece of output.
func (r *run) take(piece []byte) error {
	tooMuch := int64(len(piece)) > r.room
	if tooMuch {
		piece = piece[:r.room]
	}
	r.room -= int64(len(piece))

	held, chunks := whole(r.out.held) > 0, r.out.chunks // a flush leaves half a rune, for which no timer runs
	err := r.out.write(piece)
	switch {
	case err != nil:
		return err
	case tooMuch:
		return errTooMuch
	case !held || r.out.chunks != chunks: // another line is held now
		r.flush.Reset(r.c.hold)
	}
	return nil
}
