package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

// maxOrphanNames caps how many agents agentsOf looks for.
const maxOrphanNames = 100

// tasksFunc is the method Tasks of a store.
type tasksFunc = func(ctx context.Context, after *store.Key, limit int) ([]store.Row, error)

// orphans reports tasks that callers cannot reach because their agent is not in a revision: it
// was renamed, or another agent is at / now. The tasks are kept, but callers cannot find them.
func (r *revision) orphans(ctx context.Context, tasks tasksFunc) (found []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, err := agentsOf(ctx, tasks)
	if err != nil {
		return nil, err
	}
	atRoot := func(h parley.Hosted) bool { return h.Default || h.Name == "" }
	for _, name := range all {
		i := slices.IndexFunc(r.hosted, func(h parley.Hosted) bool { return h.Name == name || name == "" && atRoot(h) })
		switch {
		case i < 0 && name == "":
			found = append(found, "there are tasks of an agent at /, and none is there now: nobody reaches them until default: true says whose they are")
		case i < 0:
			found = append(found, fmt.Sprintf("there are tasks of an agent %s, which is not here: they wait for one of that name", plain.Quote(name)))
		case name != "" && atRoot(r.hosted[i]):
			found = append(found, fmt.Sprintf("there are tasks of %s from when it was not at /: nobody reaches them until default: true goes", plain.Quote(name)))
		}
	}
	return found, nil
}

// agentsOf returns the names of the agents that have tasks in a store, "" for the one
// at /. It needs one look-up for each agent, regardless of the number of tasks.
func agentsOf(ctx context.Context, tasks tasksFunc) ([]string, error) {
	var names []string
	// behind comes after the tenants of an agent, which all begin with its name.
	const mark, behind = "\x1f", "\x20"
	for after := (*store.Key)(nil); len(names) < maxOrphanNames; {
		rows, err := tasks(ctx, after, 1)
		if err != nil || len(rows) == 0 {
			return names, err
		}
		name, _ := engine.AgentOf(rows[0].Tenant)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		switch {
		case name != "":
			after = &store.Key{Tenant: mark + name + behind}
		case rows[0].Tenant == "":
			after = &store.Key{Tenant: mark} // before all agents with a name
		default:
			return names, nil // the tenants of the agent without a name come last
		}
	}
	return names, nil
}
