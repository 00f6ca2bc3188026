package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Nodes is the part of a Store that says which process has a task. A process is a
// node with a heartbeat; a task that is Active belongs to one, or waits for one. Each
// change of owner makes the task's Epoch higher, and an Append with an older one is
// refused: so a process that lost a task cannot write to it any more.
type Nodes interface {
	// Beat says that node lives now. The first one registers it.
	Beat(ctx context.Context, node string, now time.Time) error

	// Leave says that node ends in good order, after its last write: its tasks
	// can be claimed at once, and no process was lost with it. A Beat takes it
	// back.
	Leave(ctx context.Context, node string) error

	// Claim gives node up to limit tasks that are Active and whose Node is not
	// registered, left, or has not beaten since deadBefore; node's own are
	// never taken, nor are those that wait, see Draw. Each claimed row gets Node =
	// node, Epoch + 1 and, unless its
	// node left in good order (see Leave), Lost + 1, durably, and is returned as
	// it now is. Fewer than limit means that none is left; then all other nodes
	// that left or are dead by deadBefore are forgotten.
	Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error)

	// Draw gives node up to limit of the tasks that wait for a process: Active,
	// with an empty Node. Tenants take turns, in the order of their names by bytes:
	// one task of each, from the first behind after and around, and again. Of a
	// tenant's, those last updated longest ago come first, then by owner and ID; in
	// that order of turns they are returned, as they now are: with Node = node and
	// Epoch + 1. Tasks that another Draw is about to get may be passed over. Fewer
	// than limit means that none is left but such. limit must be at least 1.
	Draw(ctx context.Context, node, after string, limit int) ([]Row, error)

	// Take is Claim or Draw for one task. ErrNotFound means that there is nothing
	// to take: no such task, or not Active, or its node lives or is node itself.
	Take(ctx context.Context, node string, deadBefore time.Time, k Key) (*Row, error)
}

// NodeState is what is known of a node.
type NodeState struct {
	Name string
	Beat time.Time // the last one; zero where it left before it had beaten
	Left bool      // in good order
}

// AllNodes returns the nodes that are registered or left and are not forgotten yet,
// by name. It is for operators; drivers have it, too.
func (m *Memory) AllNodes(ctx context.Context) ([]NodeState, error) {
	var found []NodeState
	err := m.read(ctx, func(d *memory) error {
		for name, n := range d.nodes {
			found = append(found, NodeState{name, n.beat, n.left})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b NodeState) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// Beat implements Store.
func (m *Memory) Beat(ctx context.Context, node string, now time.Time) error {
	return m.write(ctx, func(d *memory) { d.nodes[node] = memoryNode{beat: Milli(now)} })
}

// Leave implements Store.
func (m *Memory) Leave(ctx context.Context, node string) error {
	return m.write(ctx, func(d *memory) {
		d.nodes[node] = memoryNode{left: true}
		m.hub.Tell(Hint{Work: true})
	})
}

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error) {
	var claimed []Row
	err := m.write(ctx, func(d *memory) {
		for _, t := range d.tasks {
			if len(claimed) >= limit {
				return
			}
			if d.claim(t, node, deadBefore) {
				claimed = append(claimed, t.row)
			}
		}
		if len(claimed) < limit {
			maps.DeleteFunc(d.nodes, func(name string, _ memoryNode) bool {
				return name != node && !d.alive(name, Milli(deadBefore))
			})
		}
	})
	return claimed, err
}

// Draw implements Store.
func (m *Memory) Draw(ctx context.Context, node, after string, limit int) ([]Row, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var drawn []Row
	err := m.write(ctx, func(d *memory) {
		waiting := map[string][]*memoryTask{}
		for _, t := range d.tasks {
			if t.waits() {
				waiting[t.row.Tenant] = append(waiting[t.row.Tenant], t)
			}
		}
		var tenants []string
		for tenant, tasks := range waiting {
			tenants = append(tenants, tenant)
			slices.SortFunc(tasks, func(a, b *memoryTask) int {
				return cmp.Or(a.row.Updated.Compare(b.row.Updated), a.row.Key.Compare(b.row.Key))
			})
		}
		slices.SortFunc(tenants, func(a, b string) int {
			return cmp.Or(cmp.Compare(rank(a <= after), rank(b <= after)), cmp.Compare(a, b))
		})
		for turn := 0; ; turn++ {
			was := len(drawn)
			for _, tenant := range tenants {
				if turn < len(waiting[tenant]) && len(drawn) < limit {
					t := waiting[tenant][turn]
					t.row.Node = node
					t.row.Epoch++
					drawn = append(drawn, t.row)
				}
			}
			if len(drawn) == was {
				return
			}
		}
	})
	return drawn, err
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// waits reports whether t waits for a process.
func (t *memoryTask) waits() bool { return t.row.Active && t.row.Node == "" }

// Take implements Store.
func (m *Memory) Take(ctx context.Context, node string, deadBefore time.Time, k Key) (*Row, error) {
	var taken *Row
	err := m.write(ctx, func(d *memory) {
		t := d.tasks[k]
		switch {
		case t == nil:
		case t.waits():
			t.row.Node = node
			t.row.Epoch++
			taken = new(t.row)
		case d.claim(t, node, deadBefore):
			taken = new(t.row)
		}
	})
	if err == nil && taken == nil {
		err = ErrNotFound
	}
	return taken, err
}

// claim gives t to node, if it may have it.
func (d *memory) claim(t *memoryTask, node string, deadBefore time.Time) bool {
	if !t.row.Active || t.waits() || t.row.Node == node || d.alive(t.row.Node, Milli(deadBefore)) {
		return false
	}
	if !d.nodes[t.row.Node].left {
		t.row.Lost++
	}
	t.row.Node = node
	t.row.Epoch++
	return true
}

// alive reports whether node has beaten at since or later, and is not gone.
func (d *memory) alive(node string, since time.Time) bool {
	n, ok := d.nodes[node]
	return ok && !n.left && !n.beat.Before(since)
}
