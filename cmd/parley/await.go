package main

import (
	"context"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/terminal"
)

// noticeAfter is how long a wait is silent before it prints the task's id on standard error, so
// that the id is not lost if this process ends.
const noticeAfter = time.Second

// limited bounds a command, or one message of a conversation, by --timeout.
func (a *app) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.flags.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, a.flags.timeout, errTimeout)
}

// events is the sequence of a task.
type events = iter.Seq2[*a2a.StreamResponse, error]

// rests reports whether a task has ended or waits for its client.
func rests(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// watch ranges over the events of a task, and shows what is waited for meanwhile.
func (a *app) watch(seq events, each func(*a2a.StreamResponse) error) error {
	a.waiting = a.screen.Wait("waiting for the agent")
	defer a.waiting.Stop()
	for r, err := range seq {
		if err != nil {
			return err
		}
		a.saw(r)
		if a.last != nil {
			a.waiting.Say(waitsFor(a.last))
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// await consumes the events of a task and returns the final state, whether they were streamed
// or polled.
func (a *app) await(ctx context.Context, svc a2a.Service, seq events) (*a2a.SendMessageResponse, error) {
	t, whole := new(a2a.Task), false
	var direct *a2a.Message
	var notice *time.Timer
	err := a.watch(seq, func(r *a2a.StreamResponse) error {
		direct, whole = r.Message, r.Task != nil
		t.ApplyEvent(r)
		if notice == nil && direct == nil && !rests(t.Status.State) && !a.screen.Rewrites() {
			name := named(t)
			notice = time.AfterFunc(noticeAfter, func() {
				a.stderr.Note("Note", "waiting for %s; interrupting leaves it running", name)
			})
		}
		return nil
	})
	if notice != nil {
		notice.Stop()
	}
	if err != nil {
		return nil, err
	}
	if direct != nil {
		return &a2a.SendMessageResponse{Message: direct}, nil
	}
	if !whole {
		// Events alone lack what streams do not show, such as the client's own messages in the
		// history.
		if now, err := svc.GetTask(ctx, &a2a.GetTaskRequest{ID: t.ID}); err != nil {
			a.log.Debug("the finished task cannot be read: showing what the stream said", "task", t.ID, "error", err)
		} else if rests(now.Status.State) {
			t = now
		}
	}
	return &a2a.SendMessageResponse{Task: t}, nil
}

// stream prints the events of a task as they arrive.
func (a *app) stream(ctx context.Context, svc a2a.Service, seq events, save *saveFlags) error {
	var direct *a2a.Message
	if err := a.watch(seq, func(r *a2a.StreamResponse) error {
		direct = r.Message
		return a.print.Event(r)
	}); err != nil {
		return err
	}
	if a.last != nil {
		a.outcome(a.last)
	}
	switch {
	case save.dir == "":
		return nil
	case direct != nil:
		return a.keep(save, ofMessage(direct))
	}
	t, err := svc.GetTask(ctx, &a2a.GetTaskRequest{ID: a.last.ID, HistoryLength: new(int32(0))})
	if err != nil {
		return err
	}
	return a.keep(save, t.Artifacts)
}

// ofMessage returns the artifact to save for a direct message.
func ofMessage(m *a2a.Message) []*a2a.Artifact {
	if m == nil {
		return nil
	}
	return []*a2a.Artifact{{Name: "message", Parts: m.Parts}}
}

// waitsFor returns the line of a wait for its task. The agent's latest status message comes
// early, because the end of a long line is cut.
func waitsFor(t *a2a.Task) string {
	state := terminal.Word(t.Status.State)
	if said := terminal.Said(t); said != "" {
		state += ": " + said
	}
	return state + " · task " + t.ID
}
