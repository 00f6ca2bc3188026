package main

import (
	"io"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/terminal"
)

// A direct message may name a task, as one that it is about. With --stream, --exit-status took
// that for a task at work.
func TestADirectMessageIsNoTaskAtWork(t *testing.T) {
	a := &app{screen: terminal.New(io.Discard, io.Discard, func(string) (string, bool) { return "", false })}
	said := &a2a.StreamResponse{Message: &a2a.Message{MessageID: "m", TaskID: "t", Role: a2a.RoleAgent}}
	err := a.watch(func(yield func(*a2a.StreamResponse, error) bool) { yield(said, nil) }, func(*a2a.StreamResponse) error { return nil })
	if err != nil || a.last != nil {
		t.Errorf("the task is %v, %v", a.last, err)
	}
}
