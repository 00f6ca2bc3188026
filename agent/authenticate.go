package agent

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// Authenticate tells the client which authorization is needed and returns the client's
// next message. Until then the task is auth-required, without a time limit
// (specification §7.6).
//
// That message is treated as credentials: only the agent gets its content; others see
// only that it came. The task's history, the log, streams and webhooks have a
// placeholder text instead of its parts, and its metadata is left out. So after a crash
// the message is lost: Run starts from the top, and Authenticate asks again, while Ask
// still gets its recorded answers. An answer counts only for the need it was given for:
// if need changes from run to run, such as a link with a nonce, a client that answered
// during a restart is asked again.
//
// All messages that come while the task is auth-required count as credentials, and so
// do later ones, until the agent emits something after Authenticate has returned:
// another Authenticate with the same need gets them. Earlier messages go to Ask. An
// agent authenticates for one thing at a time.
//
// Keep credentials out of statuses, artifacts and the results of steps: those are stored
// and shown.
func (t *Turn) Authenticate(ctx context.Context, need string) (*a2a.Message, error) {
	return t.AuthenticateParts(ctx, a2a.TextPart(need))
}

// AuthenticateParts is Authenticate with any parts, at least one: a data part may
// describe the need for programs.
func (t *Turn) AuthenticateParts(ctx context.Context, need ...*a2a.Part) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, need, nil)
}

// AuthenticateBy is Authenticate for an authorization that may also come by another
// way, such as a sign-in in a browser (specification §7.6.1): when it is there, wait
// returns and the task goes on without a message. If the client sends a message
// instead, wait's context ends, and AuthenticateBy returns the message once wait has
// returned. If wait returns first, there is no message, and the error is wait's.
//
// The wait goes on across restarts: unlike a wait for a message alone it needs a
// process, so Run starts from the top at the next start and calls wait again.
func (t *Turn) AuthenticateBy(ctx context.Context, need string, wait func(ctx context.Context) error) (*a2a.Message, error) {
	return t.host.Authenticate(ctx, []*a2a.Part{a2a.TextPart(need)}, wait)
}
