package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

func TestMessagesAreLimited(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := limited(t, st, interview, Limits{Messages: 2})
	task := w.mustSend(send("go"))
	task = w.mustSend(reply(task, "Ada"))
	refuse := func() {
		t.Helper()
		_, err := w.SendMessage(t.Context(), reply(task, "London"))
		wantError(t, err, a2a.ErrUnsupportedOperation)
		if !strings.Contains(err.Error(), "2 messages") {
			t.Errorf("the refusal says %v", err)
		}
		wantTexts(t, w.mustGet(task.ID).History, "go", "Name?", "Ada")
	}
	refuse()
	w.stop()
	w = limited(t, st, interview, Limits{Messages: 2})
	refuse()
	if _, n := w.admission.At(); n != 0 {
		t.Errorf("%d owners are counted", n)
	}
	w.stop()
	w = limited(t, st, interview, Limits{Messages: 3})
	wantState(t, w.mustSend(reply(task, "London")), a2a.TaskStateCompleted)
}

// An agent that writes more than its task may have is told, and its task fails with a reason,
// even if the agent ignores the error.
func TestSizesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kilo = 1000
		chunk := a2a.TextPart(strings.Repeat("x", 100))
		write := func(t *agent.Turn, name string, n int) error {
			w := t.Artifact(name)
			for range n {
				if err := w.Add(chunk); err != nil {
					return err
				}
			}
			return nil
		}
		for name, c := range map[string]struct {
			limits Limits
			run    func(t *agent.Turn) error
			want   string // the reason; empty: it completes
		}{
			"a small task":       {Limits{TaskBytes: 2 * kilo, ArtifactBytes: kilo}, func(t *agent.Turn) error { return write(t, "", 9) }, ""},
			"an artifact":        {Limits{ArtifactBytes: kilo}, func(t *agent.Turn) error { return write(t, "", 11) }, "an artifact of the task grew beyond the limit of 1000 bytes"},
			"several artifacts":  {Limits{ArtifactBytes: kilo}, func(t *agent.Turn) error { return errors.Join(write(t, "", 9), write(t, "", 9)) }, ""},
			"an artifact's name": {Limits{ArtifactBytes: kilo}, func(t *agent.Turn) error { return write(t, strings.Repeat("n", kilo), 1) }, "an artifact of the task"},
			"a task of artifacts": {Limits{TaskBytes: 2 * kilo}, func(t *agent.Turn) error {
				return errors.Join(write(t, "", 9), write(t, "", 9))
			}, "the task grew beyond the limit of 2000 bytes"},
			"statuses": {Limits{TaskBytes: kilo}, func(t *agent.Turn) error {
				for range 20 {
					_ = t.Status("x") // 65 each
				}
				return nil
			}, "the task grew beyond"},
			"a question": {Limits{TaskBytes: kilo}, func(t *agent.Turn) error {
				_, err := t.Ask(context.Background(), strings.Repeat("x", kilo))
				return err
			}, "the task grew beyond"},
			"a question for credentials": {Limits{TaskBytes: kilo}, func(t *agent.Turn) error {
				_, err := t.Authenticate(context.Background(), strings.Repeat("x", kilo))
				return err
			}, "the task grew beyond"},
			"a step": {Limits{TaskBytes: kilo}, func(t *agent.Turn) error {
				_, err := agent.Step(context.Background(), t, "s", func(context.Context) (string, error) { return strings.Repeat("x", kilo), nil })
				return err
			}, "the task grew beyond"},
			"the end": {Limits{TaskBytes: kilo}, func(t *agent.Turn) error { return t.Complete(strings.Repeat("x", kilo)) }, "the task grew beyond"},
		} {
			for _, ignores := range []bool{false, true} {
				var cause, said error
				w := limited(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
					if err := t.Status(""); err != nil {
						return err
					}
					said = c.run(t)
					cause = context.Cause(ctx)
					if ignores {
						_ = t.Status("goes on")
						return nil
					}
					return said
				}), c.limits)
				task := w.mustSend(send("go"))
				synctest.Wait()
				name := fmt.Sprintf("%s, ignored: %t", name, ignores)
				if c.want == "" {
					if task.Status.State != a2a.TaskStateCompleted {
						t.Errorf("%s: %s %s", name, task.Status.State, task.Status.Message.Text())
					}
					continue
				}
				if s := task.Status.Message.Text(); task.Status.State != a2a.TaskStateFailed || !strings.Contains(s, c.want) {
					t.Errorf("%s: the task is %s, %q; want failed, %q", name, task.Status.State, s, c.want)
				}
				if !errors.Is(cause, agent.ErrTooLarge) || name != "statuses, ignored: "+fmt.Sprint(ignores) && !errors.Is(said, agent.ErrTooLarge) {
					t.Errorf("%s: the agent got %v, its context %v", name, said, cause)
				}
			}
		}
	})
}

// What a run before a crash wrote is in the log, and counts; a message for which
// there is no room is refused.
func TestSizesCountTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Artifact("a").Last(a2a.RawPart(make([]byte, 2*stored.MinBlob), "", "")); err != nil {
				return err
			}
			_, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		limits := Limits{TaskBytes: 5*stored.MinBlob + 1000, ArtifactBytes: 2*stored.MinBlob + 100}
		w := limited(t, st, ag, limits)
		task := w.mustSend(send("go"))
		w.stop()
		m := &mortal{Store: st}
		w = limited(t, m, ag, limits)
		_, err := w.SendMessage(t.Context(), reply(task, strings.Repeat("x", 4*stored.MinBlob)))
		wantError(t, err, &a2a.Error{Code: a2a.CodeTooLarge})
		w.mustSend(replyNow(task, "x")) // a second run writes the artifact again
		synctest.Wait()
		wantState(t, w.mustGet(task.ID), a2a.TaskStateWorking)
		m.dead.Store(true)
		w.stop()
		w = limited(t, st, ag, limits) // and a third
		task = w.eventually(task.ID, a2a.TaskStateFailed)
		if s := task.Status.Message.Text(); !strings.Contains(s, "the task grew beyond") {
			t.Errorf("it failed with %q", s)
		}
		w.stop()
	})
}
