package agent

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/a2a"
)

// The limits of a line of tasks: the number of tasks, and roughly the number of bytes,
// which is that of a line of the command.
const (
	maxEarlier      = 100
	maxEarlierBytes = maxLine
)

// references tells the process which of the caller's tasks its message refers to.
func (s *session) references(ctx context.Context) error {
	tasks, err := s.t.References(ctx)
	if err != nil {
		return err
	}
	return s.sendTasks(ctx, func(yield func(*a2a.Task, error) bool) {
		for _, task := range tasks {
			if !yield(task, nil) {
				return
			}
		}
	})
}

// sendTasks sends the process as many tasks as fit, at least one if there is any.
func (s *session) sendTasks(ctx context.Context, tasks iter.Seq2[*a2a.Task, error]) error {
	l := &told{Type: "tasks", Tasks: []a2a.JSON{}}
	size := 0
	for task, err := range tasks {
		if err != nil {
			return err
		}
		raw, err := stdjson.Marshal(task)
		if err != nil {
			return err
		}
		if size += len(raw); len(l.Tasks) == maxEarlier || len(l.Tasks) > 0 && size > maxEarlierBytes {
			l.More = true
			break
		}
		l.Tasks = append(l.Tasks, raw)
	}
	return s.send(ctx, l)
}

// takeUp resumes an artifact of a lost attempt and tells the process which parts it
// has.
func (s *session) takeUp(ctx context.Context, l *said) error {
	a, err := s.artifactOf(l)
	if err != nil {
		return err
	}
	parts := a.Resume()
	if parts == nil {
		parts = []*a2a.Part{}
	}
	return s.send(ctx, &told{Type: "resume", Name: l.name, Parts: parts})
}

// maxArtifacts caps how many artifacts a run may have.
const maxArtifacts = 1000

// artifactOf returns the run's artifact of the line's name.
func (s *session) artifactOf(l *said) (*Artifact, error) {
	if a := s.artifacts[l.name]; a != nil {
		return a, nil
	}
	if len(s.artifacts) == maxArtifacts {
		return nil, s.bad(l.line, fmt.Sprintf("there are more than %d artifacts", maxArtifacts), nil)
	}
	a := s.t.Artifact(l.name)
	s.artifacts[l.name] = a
	return a, nil
}
