package agent

import (
	"cmp"
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
	outlet
	out   *lines
	room  int64       // how many bytes may still be printed
	flush *time.Timer // when the held line goes out
}

// follow emits what the command prints until the command and its output have ended, or
// until something ends them. Then the process is closed. The error is ctx's cause,
// errTooMuch, errShut, or an error of emitting; p.Cause says how the command ended. The
// artifact is closed if the error is nil or the command's own fault.
func (r *run) follow(ctx context.Context) error {
	err := r.listen(ctx)
	if r.exited == nil {
		r.p.wind(r.c.linger, 0, r.c.linger)
	} else {
		r.p.wind(0, r.c.opts.grace(), r.c.linger)
	}
	if err == nil || isAny(err, errTooMuch, errShut, errSlow) {
		return cmp.Or(r.out.close(), err)
	}
	return err
}

// listen is follow without the closing.
func (r *run) listen(ctx context.Context) (err error) {
	r.flush = wake.Stopped()
	defer r.flush.Stop()
	defer r.patience.Stop()
	for err == nil && !r.over() {
		select {
		case piece, ok := <-r.pieces:
			err = r.take(piece)
			r.took(ok) // only now, because emitting may take time
		case <-r.exited:
			r.exits()
		case <-r.patience.C:
			err = r.lose()
		case <-r.flush.C:
			err = r.out.flush()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
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
