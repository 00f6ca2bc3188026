package engine

import (
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// Retries says when a repeated message is recognized: by its id, or the key of its
// request, together with its content. It gets the answer of the first one, and nothing is
// done twice (specification §3.1.1 allows agents to do that).
type Retries struct {
	// Window is for how long, at least, a message is recognized after it was accepted.
	// Zero means 24 h; negative, never.
	Window time.Duration
	// Anonymous includes callers who are not authenticated. The server cannot tell them
	// apart: each of them may then attach to a task if it knows the message's id and its
	// whole content.
	Anonymous bool
}

func (r *Retries) window() time.Duration {
	if r.Window == 0 {
		return 24 * time.Hour
	}
	return max(r.Window, 0)
}

// known reports whether messages of a caller are known when they come again.
func (r *Retries) known(c a2a.Caller) bool {
	return r.window() > 0 && (r.Anonymous || c.Subject != "")
}

// beaten reports whether a send has to look again what there is, because
// somebody else was quicker: another process took the message, or it drew the task
// that had waited for one, or it created
// the task whose id the client chose, or that was deleted under way.
func beaten(err error, req *a2a.SendMessageRequest) bool {
	if errors.Is(err, store.ErrDuplicate) || errors.Is(err, task.ErrDrawn) {
		return true
	}
	return req.Legacy != nil && req.Legacy.CreateByID && (errors.Is(err, store.ErrConflict) || errors.Is(err, a2a.ErrTaskNotFound))
}
