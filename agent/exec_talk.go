package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

var (
	errGone    = errors.New("agent: the command has said that its task has ended")
	errOther   = errors.New("agent: what was waited for is there")
	errEvicted = errors.New("agent: the process has waited longest for an answer")
)

// next returns the next line of the process, without its line feed, or an error: io.EOF
// if process and output have ended; errOther if other is ready; errShut, errTooMuch,
// errSlow, or ctx's cause.
func (s *session) next(ctx context.Context, other <-chan struct{}) ([]byte, error) {
	for {
		line, ok, err := s.cut()
		if ok || err != nil {
			return line, err
		}
		if s.over() {
			return nil, io.EOF
		}
		select {
		case piece, ok := <-s.pieces:
			if s.room -= int64(len(piece)); s.room < 0 {
				return nil, errTooMuch
			}
			s.p.rest = append(s.p.rest, piece...)
			s.took(ok)
		case <-s.exited:
			s.exits()
		case <-s.patience.C:
			if err := s.lose(); err != nil {
				return nil, err
			}
		case <-s.mute.C:
			s.silent()
		case <-other:
			return nil, errOther
		case <-s.slow.C:
			return nil, errSlow
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// cut takes the next line that is not blank from the output, if there is one.
func (s *session) cut() ([]byte, bool, error) {
	for {
		end := bytes.IndexByte(s.p.rest[s.p.seen:], '\n') + s.p.seen
		var line []byte
		switch {
		case end >= s.p.seen:
			line, s.p.rest, s.p.seen = s.p.rest[:end], s.p.rest[end+1:], 0
		case s.pieces == nil && len(s.p.rest) > 0:
			line, s.p.rest, s.p.seen = s.p.rest, nil, 0
		default:
			s.p.seen = len(s.p.rest)
			if len(s.p.rest) > maxLine {
				s.n++
				return nil, false, s.bad(nil, "it is longer than 8 MiB", nil)
			}
			return nil, false, nil
		}
		s.n++
		switch {
		case len(line) > maxLine:
			return nil, false, s.bad(nil, "it is longer than 8 MiB", nil)
		case s.n > maxLines:
			return nil, false, s.bad(nil, "there are too many", nil)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, true, nil
		}
	}
}

// send writes a line to the process. It is no error if the process has ended: what it
// printed before may still be read.
func (s *session) send(ctx context.Context, l *told) error {
	line, err := l.encode()
	if err != nil {
		return err
	}
	select {
	case s.p.input <- line:
		return nil
	default:
	}
	select {
	case s.p.input <- line:
		return nil
	case <-s.p.Exited:
		return nil
	case <-time.After(s.c.stall):
		return Public("the command does not read its input", nil)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
