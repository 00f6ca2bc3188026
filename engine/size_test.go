package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// narrow is a store that refuses large appends, as all real ones do.
type narrow struct{ store.Store }

func (n *narrow) Append(a *store.Append, done func(error)) {
	if a.Size() > stored.MaxSeal {
		a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch} // refused
	}
	n.Store.Append(a, done)
}

// However much an agent says, its task can be ended and read.
func TestTaskTooLargeToSeal(t *testing.T) {
	for name, part := range map[string]*a2a.Part{
		"text": a2a.TextPart(strings.Repeat("x", task.MaxEmitted/2)),
		"raw":  a2a.RawPart(make([]byte, task.MaxEmitted/2), "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				w := newWorld(t, &narrow{mem}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
					for i := range 5 {
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
				if got := w.mustGet(list.Tasks[0].ID); len(got.Artifacts) != 5 {
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
		huge := a2a.TextPart(strings.Repeat("x", task.MaxEmitted))
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

// weighing is a store that holds back the first append with an artifact and
// notes the largest.
type weighing struct {
	store.Store
	stall chan struct{}
	most  int // owned by the owner's goroutine
}

func (s *weighing) Append(a *store.Append, done func(error)) {
	if a.Entries[0].Kind == uint8(a2a.EntryArtifact) {
		<-s.stall
	}
	s.most = max(s.most, a.Size())
	s.Store.Append(a, done)
}

// Content stored apart counts, too: it fills up neither memory nor an append.
func TestLargePartsAreHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &weighing{Store: mem, stall: make(chan struct{})}
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("begun"); err != nil {
				return err
			}
			time.Sleep(time.Second)
			for i := range 40 {
				raw := make([]byte, 1<<20)
				raw[0] = byte(i)
				if err := t.Artifact("a").Last(a2a.RawPart(raw, "", "")); err != nil {
					return err
				}
			}
			return nil
		}))
		go func() {
			time.Sleep(time.Minute)
			close(st.stall)
		}()
		if task := w.mustSend(send("x")); len(task.Artifacts) != 40 {
			t.Errorf("the task has %d artifacts", len(task.Artifacts))
		}
		w.stop()
		if most := 2*task.MaxFlightBytes + 1<<16; st.most > most {
			t.Errorf("an append had %d bytes, want at most %d", st.most, most)
		}
	})
}
