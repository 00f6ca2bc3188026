package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// In version 0.1 clients choose ids, so several callers may have a task of one id.
// Whoever sees only his own tasks never notices. An operator, who sees those of
// others, says whose task he means: id@@subject.

// visible returns the key of a task that the caller may see: his own one, or
// another's. Whether there is one is for the look-up to say; for those who see
// only their own there is no difference yet.
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
		// Whoever knows another's id must not be able to put a task of his own in its
		// place.
		return own, errSeveral(id, owners)
	case len(owners) == 1:
		own.Owner = owners[0]
	}
	return own, nil
}

// maxNamed is how many owners errSeveral names.
const maxNamed = 10

// errSeveral tells an operator how to say whose task he means.
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

// mayBegin refuses an id that a client chose for a new task, if it reads as the id
// of another's.
func mayBegin(id string) error {
	if strings.Contains(id+"@", a2a.OwnerMark) { // also at the end: behind it a mark would be cut elsewhere
		return a2a.Invalid("message.taskId", "must not contain %s or end with @ where it begins a task; choose another id", a2a.OwnerMark)
	}
	return nil
}
