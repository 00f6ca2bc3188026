package agent

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// outcome is a step and its result.
type outcome struct {
	name   string
	result a2a.JSON
}

// errMidStep says that the process ended in the middle of a step.
var errMidStep = errors.New("agent: the command ended in the middle of a step")

// step tells the process whether a step was done, and records its result if not.
func (s *session) step(ctx context.Context, l *said) error {
	const misplaced = "another step was recorded here: steps have to come in the same order on every run"
	i := s.stepped
	s.stepped++
	if i < len(s.steps) {
		if s.steps[i].name != l.name {
			return s.bad(l.line, misplaced, nil)
		}
		return s.send(ctx, &told{Type: "step", Name: l.name, Done: new(true), Result: s.steps[i].result})
	}
	fresh := false
	result, err := s.t.host.Step(ctx, l.name, func(ctx context.Context) (a2a.JSON, error) {
		fresh = true
		return s.result(ctx, l.name)
	})
	switch {
	case err != nil && !fresh:
		return s.bad(l.line, misplaced, err)
	case err != nil:
		return err
	}
	s.steps = append(s.steps, outcome{l.name, result})
	if fresh {
		return nil
	}
	return s.send(ctx, &told{Type: "step", Name: l.name, Done: new(true), Result: result})
}

// notInStep are the lines that must not come while a step is being done.
var notInStep = []string{"complete", "reply", "ask", "authenticate", "step"}

// result makes the process do a step, and returns the result that it reports.
func (s *session) result(ctx context.Context, name string) (a2a.JSON, error) {
	if err := s.send(ctx, &told{Type: "step", Name: name, Done: new(false)}); err != nil {
		return nil, err
	}
	for {
		l, err := s.hear(ctx, nil)
		switch {
		case err == io.EOF:
			return nil, errMidStep
		case err != nil:
			return nil, err
		case l.kind == "result":
			return l.result, nil
		case slices.Contains(notInStep, l.kind):
			return nil, s.bad(l.line, "a line of type "+l.kind+" must not come while a step is being done", nil)
		}
		if err := s.obey(ctx, l); err != nil {
			return nil, err
		}
	}
}
