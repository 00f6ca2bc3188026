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
	"github.com/parley-a2a/parley/store"
)

// narrow is a store that refuses large appends, as all real ones do.
type narrow struct{ store.Store }

func (n *narrow) Append(a *store.Append, done func(error)) {
	if a.Size() > 2*maxSeal {
		a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch} // refused
	}
	n.Store.Append(a, done)
}

// However much an agent says, its task can be ended and read.
func TestTaskTooLargeToSeal(t *testing.T) {
	for name, part := range map[string]*a2a.Part{
		"text": a2a.TextPart(strings.Repeat("x", maxEmitted/2)),
		"raw":  a2a.RawPart(make([]byte, maxEmitted/2), "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				w := newWorld(t, &narrow{mem}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
					for i := range 10 {
						if err := t.Artifact(fmt.Sprint(i)).Last(part); err != nil {
							return err
						}
					}
					return nil
				}))
				wantState(t, w.mustSend(send("x")), a2a.TaskStateCompleted)
				w.stop()
				w = newWorld(t, &narrow{mem}, parrot)
				list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
				if err != nil || len(list.Tasks) != 1 {
					t.Fatalf("list: %v", err)
				}
				if got := w.mustGet(list.Tasks[0].ID); len(got.Artifacts) != 10 {
					t.Errorf("the task has %d artifacts", len(got.Artifacts))
				}
				w.stop()
				mem.Close()
			})
		})
	}
}

// What no store would take the agent hears of at once.
func TestEmissionTooLarge(t *testing.T) {
	refused := make(chan error, 3)
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		huge := a2a.TextPart(strings.Repeat("x", maxEmitted))
		refused <- t.Artifact("a").Last(huge)
		_, err := t.AskParts(ctx, huge)
		refused <- err
		_, err = agent.Step(ctx, t, "s", func(context.Context) (string, error) { return huge.Text, nil })
		refused <- err
		return errors.New("enough")
	}))
	wantState(t, w.mustSend(send("x")), a2a.TaskStateFailed)
	for range 3 {
		if err := <-refused; err == nil || !strings.Contains(err.Error(), "the most is") {
			t.Errorf("got %v", err)
		}
	}
}
