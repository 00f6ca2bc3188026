package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// In version 0.1 clients choose task ids, so several callers may have a task with the same id.
// A caller that sees only its own tasks never notices. An operator that sees the tasks of
// others says whose task it means: id@@subject.

// visible returns the key of a task that the caller may see: its own, or another caller's. The
// key may be of no task; the look-up that follows finds that out.
func (e *Engine) visible(ctx context.Context, a *access, id string) (store.Key, error) {
	own := a.own(id)
	if !a.shared {
		return own, nil
	}
	if there, err := e.read.Exists(ctx, own); there || err != nil {
		return own, nil // the look-up meets the same error
	}
	if task, owner, named := strings.Cut(id, a2a.OwnerMark); named {
		theirs := store.Key{Tenant: own.Tenant, Owner: owner, ID: task}
		if there, err := e.read.Exists(ctx, theirs); there || err != nil {
			return theirs, nil
		}
		// Databases of earlier releases may have ids with the mark in them.
	}
	owners, err := e.store.Owners(ctx, own.Tenant, id, maxNamed+1)
	switch {
	case err != nil:
		return own, stored.Failed(err, "look up task "+id)
	case len(owners) > 1:
		// A caller that knows another's id must not be able to replace its task.
		return own, errSeveral(id, owners)
	case len(owners) == 1:
		own.Owner = owners[0]
	}
	return own, nil
}

// maxNamed is how many owners errSeveral names.
const maxNamed = 10

// errSeveral tells an operator how to say whose task it means.
func errSeveral(id string, owners []string) error {
	var names []string
	for _, owner := range owners[:min(len(owners), maxNamed)] {
		names = append(names, strconv.Quote(id+a2a.OwnerMark+owner))
	}
	if len(owners) > maxNamed {
		names = append(names, "… (the audit log has the subjects of all)")
	}
	return stored.About(id, a2a.CodeUnsupportedOperation, "several callers have a task of this id; say whose you mean, by one of these in place of the id: %s", strings.Join(names, ", "))
}

// mayBegin refuses an id that a client chose for a new task if it reads like the id of another
// caller's task.
func mayBegin(id string) error {
	if strings.Contains(id+"@", a2a.OwnerMark) { // also a final @: a mark after it would be cut elsewhere
		return a2a.Invalid("message.taskId", "must not contain %s or end with @ where it begins a task; choose another id", a2a.OwnerMark)
	}
	return nil
}
