package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Nodes is the part of a Store that says which process owns a task. A process is a node with
// a heartbeat. A task that is Active belongs to a node or waits for one. Each change of owner
// raises the task's Epoch, and an Append with an older epoch is refused. So a process that
// lost a task can no longer write to it.
type Nodes interface {
	// Beat says that node is alive now. The first Beat registers it.
	Beat(ctx context.Context, node string, now time.Time) error

	// Leave says that node shuts down in an orderly way, after its last write: its tasks can
	// be claimed at once and do not count as lost. A later Beat registers node again.
	Leave(ctx context.Context, node string) error

	// Claim gives node up to limit tasks that are Active and whose Node is not registered,
	// has left, or has sent no Beat since deadBefore. It takes neither node's own tasks nor
	// tasks that wait for a process (see Draw). In each claimed row, durably, Node becomes
	// node and Epoch rises by 1; Lost rises by 1 too, unless the former node left (see
	// Leave). Claim returns the rows after the change. Fewer than limit means that none is
	// left; then Claim also forgets all other nodes that left or are dead by deadBefore.
	Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error)

	// Draw gives node up to limit of the tasks that wait for a process, which are Active and
	// have an empty Node. Tenants take turns, ordered by the bytes of their names: one task
	// of each tenant, beginning with the first tenant after after and wrapping around, then
	// the next round. Within a tenant, the task that was updated longest ago comes first,
	// then by owner and ID. The rows are returned in that order, after the change: Node is
	// node and Epoch rose by 1. Tasks that a concurrent Draw is taking may be skipped. Fewer
	// than limit means that no others are left. limit must be at least 1.
	Draw(ctx context.Context, node, after string, limit int) ([]Row, error)

	// Take is Claim or Draw for one task. ErrNotFound means that the task cannot be taken: it
	// does not exist, is not Active, or its node is alive or is node itself.
	Take(ctx context.Context, node string, deadBefore time.Time, k Key) (*Row, error)
}

// NodeState is the stored state of a node.
type NodeState struct {
	Name string
	Beat time.Time // the last one; may be zero if the node left
	Left bool      // in an orderly way, see Leave
}

// AllNodes returns the nodes that are registered or left and are not yet forgotten, by name.
// It is for operators; drivers have this method too.
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
		for _, tasks := range waiting {
			slices.SortFunc(tasks, func(a, b *memoryTask) int {
				return cmp.Or(a.row.Updated.Compare(b.row.Updated), a.row.Key.Compare(b.row.Key))
			})
		}
		tenants := slices.Sorted(maps.Keys(waiting))
		first, had := slices.BinarySearch(tenants, after)
		if had {
			first++
		}
		tenants = slices.Concat(tenants[first:], tenants[:first])
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

// claim gives t to node if Claim may.
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

// alive reports whether node has sent a Beat at since or later and has not left.
func (d *memory) alive(node string, since time.Time) bool {
	n, ok := d.nodes[node]
	return ok && !n.left && !n.beat.Before(since)
}
