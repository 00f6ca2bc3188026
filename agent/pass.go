package agent

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// Chunk emits a chunk of an artifact as it is, with the id, the name and all else
// that it has: parts to append to the artifact with this id or, with add false, to
// begin it anew; last says that nothing more follows. It is for agents that pass
// on what another one made; Artifact is for those who make something, and keeps
// these things in order by itself. A chunk that cannot follow, such as one behind
// the last, is an error, and nothing was emitted. a and its parts must not be
// changed afterwards.
func (t *Turn) Chunk(a *a2a.Artifact, add, last bool) error {
	own := *a
	return t.host.Artifact(&own, add, last)
}

// AuthenticatePartsBy is AuthenticateBy with any parts, at least one.
func (t *Turn) AuthenticatePartsBy(ctx context.Context, wait func(ctx context.Context) error, need ...*a2a.Part) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, need, wait)
}
