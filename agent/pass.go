package agent

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// Chunk emits a chunk of another agent's artifact unchanged, for agents that pass
// artifacts on; use Artifact for your own. With add the parts are appended to the
// artifact with this id, otherwise they begin it anew; last marks the last chunk. A
// chunk that is not allowed here, such as one after the last, is an error, and emits
// nothing. a and its parts must not be changed afterwards.
func (t *Turn) Chunk(a *a2a.Artifact, add, last bool) error {
	own := *a
	return t.host.Artifact(&own, add, last)
}

// AuthenticatePartsBy is AuthenticateBy with any parts, at least one.
func (t *Turn) AuthenticatePartsBy(ctx context.Context, wait func(ctx context.Context) error, need ...*a2a.Part) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, need, wait)
}
