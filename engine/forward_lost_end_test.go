package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// lostEnd is a store that the end of a task never reaches.
type lostEnd struct {
	store.Store
	held chan func(error) // the appends that it keeps
}

func (l *lostEnd) Append(a *store.Append, done func(error)) {
	if !a2a.TaskState(a.Row.State).Terminal() {
		l.Store.Append(a, done)
		return
	}
	l.held <- done
}

// A task ends before its agent takes a message, and the process dies before that end
// is on disk. The next process runs the agent, which gets the message: its sender is
// not told otherwise.
func TestMessageBehindAnEndThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		ends := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Attempt() == 1 {
				if err := t.Status("at work"); err != nil {
					return err
				}
				time.Sleep(time.Second) // the message comes
				return t.Complete("done without it")
			}
			m, err := t.Ask(ctx, "and now?")
			if err != nil {
				return err
			}
			return t.Complete("done with " + m.Text())
		})
		o := shared(t)
		st := &lostEnd{mem, make(chan func(error), 1)}
		here, kill := newMortal(t, st, ends, o)
		there := newWorldWith(t, mem, ends, testCard(), o)
		task := here.mustSend(sendNow("x"))
		sent := there.posted(reply(task, "more"))
		done := <-st.held
		synctest.Wait() // all that is to be said of the message is said
		go kill()
		synctest.Wait()
		done(store.ErrClosed)
		got := <-sent
		if got.err != nil {
			t.Fatalf("the sender was told: %v", got.err)
		}
		if said := got.task.Status.Message.Text(); said != "done with more" || times(got.task, "more") != 1 {
			t.Errorf("the task is %s", got.task.AppendJSON(nil))
		}
		synctest.Wait()
		there.stop()
		checkState(t, mem, map[string]a2a.TaskState{task.ID: a2a.TaskStateCompleted})
	})
}
