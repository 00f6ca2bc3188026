package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// A caller that may read the task gets each entry after a position once, and with follow until
// the task has ended.
func TestLogFollowsTheTask(t *testing.T) {
	on := make(chan struct{})
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if err := turn.Status("begins"); err != nil {
			return err
		}
		select {
		case <-on:
			return turn.Status("goes on")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	task := w.mustSend(sendNow("go"))
	var seqs []int64
	last := a2a.TaskStateUnspecified
	for batch, err := range w.Log(t.Context(), "", task.ID, 1, true) {
		if err != nil {
			t.Fatal(err)
		}
		for _, en := range batch {
			seqs = append(seqs, en.Seq)
			if en.Status != nil {
				last = en.Status.Status.State
				if m := en.Status.Status.Message; m != nil && m.Text() == "begins" {
					close(on)
				}
			}
		}
	}
	for i, seq := range seqs {
		if seq != int64(i)+2 {
			t.Fatalf("entries behind the first one: %d", seqs)
		}
	}
	if last != a2a.TaskStateCompleted {
		t.Errorf("the log ended with the task %s", last)
	}
	n := 0
	for batch, err := range w.Log(t.Context(), "", task.ID, seqs[len(seqs)-2], false) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(batch)
	}
	if n != 1 {
		t.Errorf("%d entries behind the last but one", n)
	}
	other := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "other"})
	for _, ctx := range []context.Context{other, a2a.WithCaller(t.Context(), a2a.Caller{Scopes: []string{}})} {
		for batch, err := range w.Log(ctx, "", task.ID, 0, true) {
			if len(batch) > 0 || !errors.Is(err, a2a.ErrTaskNotFound) && !errors.Is(err, a2a.ErrPermissionDenied) {
				t.Errorf("somebody else reads %d entries, %v", len(batch), err)
			}
		}
	}
}

// What the log says of a run names the process and the attempt.
func TestLogNamesProcessAndAttempt(t *testing.T) {
	var log bytes.Buffer
	l := slog.New(slog.NewJSONHandler(&log, nil))
	w := newWorldWith(t, nil, agent.Func(func(_ context.Context, turn *agent.Turn) error {
		turn.Log(l).Info("said by the agent")
		return errors.New("broken")
	}), testCard(), &Options{Logger: l})
	w.mustSend(send("go"))
	w.stop()
	said := map[string]bool{}
	for line := range strings.Lines(log.String()) {
		var r struct {
			Msg, Task, Node string
			Attempt         int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		switch r.Msg {
		case "agent failed":
			said[r.Msg] = r.Node == w.node && r.Attempt == 1 && r.Task != ""
		case "said by the agent":
			said[r.Msg] = r.Attempt == 1 && r.Task != ""
		}
	}
	if !said["agent failed"] || !said["said by the agent"] {
		t.Errorf("%v\n%s", said, log.String())
	}
}

// An error after the end of the task changes nothing for callers, but its author has to be
// told.
func TestLogOfErrorsBehindTheEnd(t *testing.T) {
	for name, end := range map[string]struct {
		behind func() error
		logged bool
	}{
		"error":    {func() error { return errors.New("broken") }, true},
		"panic":    {func() error { panic("broken") }, true},
		"ErrEnded": {func() error { return agent.ErrEnded }, false},
		"nil":      {func() error { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			w := newWorldWith(t, nil, agent.Func(func(_ context.Context, turn *agent.Turn) error {
				if err := turn.Complete("done"); err != nil {
					return err
				}
				return end.behind()
			}), testCard(), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			w.mustSend(send("go"))
			w.stop()
			if logged := strings.Contains(log.String(), "agent failed after the end of its task"); logged != end.logged {
				t.Errorf("logged: %v\n%s", logged, &log)
			}
		})
	}
}

// An operator finds each failed task in the log, without what the client was told.
func TestLogOfFailuresThatAgentsReport(t *testing.T) {
	var log bytes.Buffer
	w := newWorldWith(t, nil, agent.Func(func(_ context.Context, turn *agent.Turn) error {
		return turn.Fail("out of paper")
	}), testCard(), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w.mustSend(send("go"))
	w.stop()
	if n := strings.Count(log.String(), `level=INFO msg="agent failed the task" task=`); n != 1 || strings.Contains(log.String(), "paper") {
		t.Errorf("logged %d times\n%s", n, &log)
	}
}
