package engine

import (
	"context"

	"github.com/parley-a2a/parley/engine/internal/stored"
)

// present makes sure that others know of this process before it has a task: they
// would take it. It may be asked before Run has got as far as that.
func (e *Engine) present(ctx context.Context) error {
	if err := e.nodes.Present(ctx); err != nil {
		return stored.Unwritten(stored.Failed(err, "register with the store"))
	}
	return nil
}

// Registered reports whether the store knows of this process: from shortly after
// the start of Run.
func (e *Engine) Registered() bool { return e.nodes.Registered() }
