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

// A message that goes to the log together with the end of the task was not taken by the
// agent: a sender at another process is told so, too.
func TestForwardedMessageThatIsStoredWithTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &lateWord{Store: mem, told: make(chan func(), 10)}
		goes, ends := make(chan bool), make(chan bool)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			<-goes
			if err := t.Status("at work"); err != nil {
				return err
			}
			<-ends
			return t.Complete("done without it")
		})
		here := newWorldWith(t, st, ag, testCard(), shared(t))
		there := newWorldWith(t, mem, ag, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		st.on.Store(true)
		goes <- true
		first := <-st.told
		sent := there.posted(reply(task, "more"))
		synctest.Wait()
		ends <- true
		synctest.Wait()
		first()
		second := <-st.told
		st.on.Store(false)
		second()
		wantError(t, (<-sent).err, a2a.ErrUnsupportedOperation)
		here.stop()
		there.stop()
	})
}
