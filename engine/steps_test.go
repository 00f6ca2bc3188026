package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

// A log of a release that identified steps by their order replays: the same steps in the same
// order have the same results, and none is repeated.
func TestStepsOfOlderLogsReplay(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	f, err := os.Open("testdata/steps-by-order.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := archive.Import(t.Context(), st, f, true); err != nil {
		t.Fatal(err)
	}
	rows, err := st.Tasks(t.Context(), nil, 2)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d tasks, %v", len(rows), err)
	}
	var got []string
	ran := make(chan error, 1)
	newWorld(t, st, agent.Func(func(ctx context.Context, turn *agent.Turn) (err error) {
		defer func() { ran <- err }()
		for _, name := range []string{"quote", "charge", "quote", "nothing", "quote"} {
			result, err := agent.Step(ctx, turn, name, func(context.Context) (a2a.JSON, error) { return a2a.JSON(`"anew"`), nil })
			if err != nil {
				return err
			}
			got = append(got, name+" "+string(result))
		}
		return nil
	}))
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if want := []string{`quote {"price": 7}`, `charge "receipt-1"`, `quote {"price": 8}`, `nothing null`, `quote "anew"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Steps run side by side, and after a restart each has its own result, in any order of
// beginning and ending.
func TestStepsSideBySide(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	names := []string{"a", "b", "c"}
	first := true
	ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		order := slices.Clone(names)
		if !first {
			slices.Reverse(order)
		}
		type outcome struct {
			name, result string
			err          error
		}
		out := make(chan outcome)
		ended := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
		for _, name := range order {
			go func() {
				result, err := agent.Step(ctx, turn, name, func(context.Context) (string, error) {
					if !first {
						return "", fmt.Errorf("step %s is done again", name)
					}
					if i := slices.Index(names, name); i < len(names)-1 { // the last one ends first
						<-ended[names[i+1]]
					}
					return "result of " + name, nil
				})
				close(ended[name])
				out <- outcome{name, result, err}
			}()
		}
		for range names {
			if o := <-out; o.err != nil || o.result != "result of "+o.name {
				return agent.Public(fmt.Sprintf("%+v", o), nil)
			}
		}
		_, err := turn.Ask(ctx, "go on?")
		return err
	})
	w := newWorld(t, st, ag)
	task := w.mustSend(send("go"))
	wantState(t, task, a2a.TaskStateInputRequired)
	w.stop()
	first = false
	w = newWorld(t, st, ag)
	wantState(t, w.mustSend(reply(task, "yes")), a2a.TaskStateCompleted)
}

var errTwice = errors.New("twice")

// A step that fails is tried again by agent.Retry, and recorded once.
func TestStepWithRetry(t *testing.T) {
	tries := 0
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		n, err := agent.Step(ctx, turn, "charge", agent.Retry(3, func(context.Context) (int, error) {
			if tries++; tries < 2 {
				return 0, errTwice
			}
			return tries, nil
		}))
		if err != nil || n != 2 {
			return agent.Public(fmt.Sprint(n, err), nil)
		}
		return turn.Complete("")
	}))
	wantState(t, w.mustSend(send("go")), a2a.TaskStateCompleted)
}
