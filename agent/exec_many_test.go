//go:build unix

package agent_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// served starts a server for an agent and returns a client of it.
func served(t *testing.T, ag agent.Agent) *a2aclient.Client {
	t.Helper()
	c, stop := servedFrom(t, ag, nil)
	t.Cleanup(stop)
	return c
}

// servedFrom is served over a store, until stop.
func servedFrom(t *testing.T, ag agent.Agent, st store.Store) (c *a2aclient.Client, stop func()) {
	t.Helper()
	s, err := parley.New(a2a.AgentCard{Name: "exec", DefaultInputModes: []string{"*/*"}}, ag, &parley.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	srv := httptest.NewServer(s.Handler())
	c, err = a2aclient.Dial(t.Context(), strings.TrimPrefix(srv.URL, "http://"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() {
		srv.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func send(ctx context.Context, c *a2aclient.Client, id, text string) (*a2a.Task, error) {
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}})
	if err != nil {
		return nil, err
	}
	if res.Task == nil {
		return nil, fmt.Errorf("no task but a message %q", res.Message.Text())
	}
	return res.Task, nil
}

// 200 tasks at once: all complete, and no more commands are at work than may be.
func TestExecManyTasksAtOnce(t *testing.T) {
	const tasks, most = 200, 8
	for name, c := range map[string]struct {
		o      agent.ExecOptions
		script string
	}{
		"plain": {agent.ExecOptions{Concurrency: most}, `
			mkdir "$1/at-work/$$"; echo $PARLEY_TASK_ID >>"$1/order"; set -- "$1"/at-work/*; echo $#; rmdir "${1%/*}/$$"`},
		"processes": {agent.ExecOptions{Processes: most, Mode: agent.ExecLines}, `
			dir=$1
			: >"$dir/at-work/$$"
			while read -r line; do
				task=${line#*'"task":"'}; task=${task%%\"*}
				echo $task >>"$dir/order"; set -- "$dir"/at-work/*
				echo '{"type":"artifact","text":"'$#'","task":"'$task'"}'; echo '{"type":"complete","task":"'$task'"}'
			done`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "at-work"), 0o700); err != nil {
				t.Fatal(err)
			}
			ag := agent.Exec([]string{"sh", "-c", c.script, "sh", dir}, &c.o)
			defer ag.(interface{ Close() error }).Close()
			var mu sync.Mutex
			var came []string
			client := served(t, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
				mu.Lock()
				came = append(came, turn.Task().ID)
				mu.Unlock()
				return ag.Run(ctx, turn)
			}))

			begun := time.Now()
			var all sync.WaitGroup
			took, peak := make([]time.Duration, tasks), 0
			for i := range tasks {
				all.Go(func() {
					task, err := send(t.Context(), client, fmt.Sprint("m", i), "hello")
					took[i] = time.Since(begun)
					switch {
					case err != nil:
						t.Error(err)
					case task.Status.State != a2a.TaskStateCompleted:
						t.Errorf("a task is %v: %s", task.Status.State, task.Status.Message.Text())
					case len(task.Artifacts) == 0:
						t.Error("what a command printed is lost")
					default:
						n := 0
						fmt.Sscan(task.Artifacts[0].Parts[0].Text, &n)
						mu.Lock()
						peak = max(peak, n)
						mu.Unlock()
					}
				})
			}
			all.Wait()
			slices.Sort(took)
			order, err := os.ReadFile(filepath.Join(dir, "order"))
			if err != nil {
				t.Fatal(err)
			}
			began, late := strings.Fields(string(order)), 0
			for i, id := range came {
				late = max(late, slices.Index(began, id)-i)
			}
			// How late is not judged: they may pass each other before they come to the queue,
			// which is fair by TestQueueIsFair.
			t.Logf("%d tasks: %.0f a second, half within %v, all within %v; at most %d at work; none began more than %d places late",
				tasks, tasks/took[tasks-1].Seconds(), took[tasks/2].Round(time.Millisecond), took[tasks-1].Round(time.Millisecond), peak, late)
			if peak == 0 || peak > most || len(began) != tasks {
				t.Errorf("%d commands ran, %d at a time, want %d and %d at most", len(began), peak, tasks, most)
			}
		})
	}
}
