package engine

import (
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// Retries says when a repeated message is recognized: by its id, or the key of its request,
// together with its content. It then gets the answer of the first message, and nothing is done
// twice (specification §3.1.1 allows agents to do that).
type Retries struct {
	// Window is how long, at least, a message is recognized after it was accepted. Zero means
	// 24 h; negative, never.
	Window time.Duration
	// Anonymous includes callers that are not authenticated. The server cannot tell them apart:
	// each of them may then attach to a task if it knows the message's id and its whole
	// content.
	Anonymous bool
}

func (r *Retries) window() time.Duration {
	if r.Window == 0 {
		return 24 * time.Hour
	}
	return max(r.Window, 0)
}

// known reports whether repeated messages of a caller are recognized.
func (r *Retries) known(c a2a.Caller) bool {
	return r.window() > 0 && (r.Anonymous || c.Subject != "")
}

// beaten reports whether a send lost a race and has to look up the task and the message again.
// Another process accepted the message, drew the task that waited for capacity, or created the
// task whose id the client chose; or that task was deleted meanwhile.
func beaten(err error, req *a2a.SendMessageRequest) bool {
	if errors.Is(err, store.ErrDuplicate) || errors.Is(err, task.ErrDrawn) {
		return true
	}
	return req.Legacy != nil && req.Legacy.CreateByID && (errors.Is(err, store.ErrConflict) || errors.Is(err, a2a.ErrTaskNotFound))
}
