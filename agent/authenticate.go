package agent

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// Authenticate tells the client which authorization is needed and returns its
// next message. The task is auth-required meanwhile, for as long as it takes
// (specification §7.6).
//
// That message is treated as credentials: only the agent gets its content, and others see
// only that it came. The task's history, the log, streams and webhooks have a text in
// place of its parts, and its metadata is left out. So after a crash there is nothing to
// return: Run starts from the top, and Authenticate asks again, while Ask still gets its
// recorded answers. An answer counts for the need it was given for: where need changes
// from run to run, such as a link with a nonce, a client that answered during a restart
// is asked again.
//
// Messages that come while the task is auth-required, and those behind them until
// the agent says something after Authenticate has returned, all count as
// credentials: another Authenticate with the same need gets them. Those that came
// before are for Ask. An agent authenticates for one thing at a time.
//
// Keep credentials out of statuses, artifacts and the results of steps: those are stored
// and shown.
func (t *Turn) Authenticate(ctx context.Context, need string) (*a2a.Message, error) {
	return t.AuthenticateParts(ctx, a2a.TextPart(need))
}

// AuthenticateParts is Authenticate with any parts, at least one: a part of data
// may describe the need for programs.
func (t *Turn) AuthenticateParts(ctx context.Context, need ...*a2a.Part) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, need, nil)
}

// AuthenticateBy is Authenticate where the authorization may come by another way, such as
// a sign-in in a browser (specification §7.6.1): wait returns when it is there, and the
// task goes on without a message. The client may answer with one nevertheless: then
// wait's context ends, and AuthenticateBy returns the message once wait has returned. It
// returns neither a message nor an error if wait did so first; an error of wait is
// returned.
//
// The wait goes on across restarts: unlike one for a message alone it needs a
// process, so that Run starts from the top at the next start and calls wait again.
func (t *Turn) AuthenticateBy(ctx context.Context, need string, wait func(ctx context.Context) error) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, []*a2a.Part{a2a.TextPart(need)}, wait)
}
