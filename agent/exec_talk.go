package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

var (
	errGone  = errors.New("agent: the command has said that its task has ended")
	errOther = errors.New("agent: what was waited for is there")
)

// hear returns the next line of the process that is about this run, or an error of next.
func (s *session) hear(ctx context.Context, other <-chan struct{}) (*said, error) {
	for {
		line, err := s.next(ctx, other)
		if err != nil {
			return nil, err
		}
		if l, err := s.read(line); l != nil || err != nil {
			return l, err
		}
	}
}

// read decodes a line; it returns nil if the line means nothing for this run.
func (s *session) read(line []byte) (*said, error) {
	l, err := decodeSaid(line)
	switch {
	case err != nil:
		return nil, s.bad(line, err.Error(), nil)
	case l.task == "" && s.c.opts.keeps() > 0 && l.kind != "log":
		return nil, s.bad(line, `it has no "task", which lines need of a process that serves many`, nil)
	case l.task == "" || l.task == s.task:
		s.spoke = true
		s.mute.Stop()
		return l, nil
	case s.reused:
		s.log.Warn("command wrote a line about another task; it is dropped", "line", s.n)
		return nil, nil
	}
	return nil, s.bad(line, "it is about another task", nil)
}

// next returns the next line of the process, without its line feed, or an error: io.EOF
// if output and process have ended; errOther if other is ready; errShut, errTooMuch,
// errSlow, or ctx's cause.
func (s *session) next(ctx context.Context, other <-chan struct{}) ([]byte, error) {
	for {
		line, ok, err := s.cut()
		if ok || err != nil {
			return line, err
		}
		var exited <-chan struct{}
		if s.pieces == nil {
			exited = s.p.Exited
		}
		select {
		case piece, ok := <-s.pieces:
			if !ok {
				s.pieces = nil
				s.shut.Reset(s.c.opts.grace())
			}
			if s.room -= int64(len(piece)); s.room < 0 {
				return nil, errTooMuch
			}
			s.p.rest = append(s.p.rest, piece...)
		case <-exited:
			return nil, io.EOF
		case <-s.shut.C:
			return nil, errShut
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
