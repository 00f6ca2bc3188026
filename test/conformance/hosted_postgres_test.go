package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/test/fixtures"
)

// Servers that share PostgreSQL may have other agents: a task that comes to one
// without its agent waits there until that one has it, too.
func TestAgentsOnPostgres(t *testing.T) {
	pgtest.Require(t)
	t.Parallel()
	address := pgtest.New(t, nil).Database(t)
	server := func(agents ...parley.Hosted) (url string, s *parley.Server, stop func()) {
		st, err := postgres.Open(t.Context(), address, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err = parley.NewHost(agents, &parley.Options{Store: st, DeadAfter: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		addr, stop := fixtures.Serve(t, "", s.Serve)
		return "http://" + addr, s, stop
	}
	a, slow, quick := newWorker("a"), newWorker("slow b"), newWorker("quick b")
	close(quick.may)
	one, host, _ := server(hostedAs("a", a))
	two, _, stop := server(hostedAs("a", a), hostedAs("b", slow))
	res, err := dialAgent(t, two+"/agents/b", "").SendMessage(t.Context(), hello(false))
	if err != nil {
		t.Fatal(err)
	}
	receive(t, slow.began, "the beginning of the task")
	stop()
	if err := host.Reload([]parley.Hosted{hostedAs("a", a), hostedAs("b", quick)}, nil); err != nil {
		t.Fatal(err)
	}
	receive(t, quick.began, "that the task goes on at the other server")
	c := dialAgent(t, one+"/agents/b", "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		task, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: res.Task.ID})
		if err != nil {
			t.Fatal(err)
		}
		if task.Status.State == a2a.TaskStateCompleted {
			break
		}
		if _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: res.Task.ID, CurrentGeneration: &task.Generation}); err != nil {
			t.Fatal(err)
		}
	}
}
