package serve

import (
	"testing"

	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/pgtest"
)

// At one replica an operator sees what happens at another, and a feed that began at
// one goes on at the other.
func TestAdminOfTwoReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("a PostgreSQL of its own")
	}
	address := pgtest.New(t, nil).Database(t)
	one, two := runHost(t, Flag{"store", address}, Flag{"data", t.TempDir()}), runHost(t, Flag{"store", address}, Flag{"data", t.TempDir()})
	feed := one.events(t, one.client(), "")
	feed.want(t, admin.EventReadiness, "", "")
	task := two.send(t, "ask")
	at := ""
	for {
		ev, err, ok := feed.next()
		if err != nil || !ok {
			t.Fatalf("the feed ended with %v", err)
		}
		if ev.Task != nil && ev.Task.ID == task.ID {
			at = ev.ID
			break
		}
	}
	feed.stop()
	feed = two.events(t, two.client(), at)
	feed.want(t, admin.EventReadiness, "", "")
	for {
		ev, err, ok := feed.next()
		if err != nil || !ok {
			t.Fatalf("the feed ended with %v", err)
		}
		if ev.Task != nil && ev.Task.ID == task.ID {
			break
		}
	}
	nodes, err := one.Admin().Nodes(both(t.Context()))
	if err != nil || len(nodes) != 2 || nodes[0].State != admin.NodeAlive || nodes[1].State != admin.NodeAlive || nodes[0].This == nodes[1].This {
		t.Errorf("the nodes are %+v, %v", nodes, err)
	}
	page, err := one.client().Tasks(t.Context(), admin.TaskQuery{State: "input-required"})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].Wait == nil || page.Tasks[0].Wait.For != admin.WaitClient && page.Tasks[0].Wait.For != admin.WaitOther {
		t.Errorf("the tasks are %+v, %v", page, err)
	}
	if canceled, err := one.client().CancelTask(t.Context(), task.ID); err != nil || canceled.State != "canceled" {
		t.Errorf("canceled at the other replica: %+v, %v", canceled, err)
	}
}
