// Package httpagent makes an agent of an HTTP service: each message is a POST to
// its URL, and what it answers, in one piece, as server-sent events or by calling
// back, is the task's.
//
//	ag, err := httpagent.New("http://127.0.0.1:8000/agent", nil)
//	if err != nil {
//		return err
//	}
//	return parley.Serve("127.0.0.1:7275", httpagent.Card("weather"), ag)
//
// The smallest service reads {"text": "…"} and answers {"text": "…"}. docs/http.md
// has all that it may read and say; the words are those of agent.Exec's lines.
//
// # What is repeated, and how a service knows
//
// Each request has an Idempotency-Key. A request that got no answer, or one that says
// to come again, is made again, with the same key and the same body; so is one whose
// turn runs again after a crash. A service that keeps its answers by their keys does
// nothing twice. If an answer describes an artifact again, the new description
// replaces the one before. A question ends a request; what led to it is recorded, and
// is not asked for again. Neither is what was accepted with 202: the turn waits on for
// callbacks, which are in the record by their ids.
//
// When the task is cancelled or takes too long, a request that is under way is
// closed, and a service that works at its own pace is told by a DELETE where its
// answer said (Location). When the server stops, the former happens as well, and the
// latter does not: the turn goes on with the next start.
//
// # Errors
//
// A task fails with a reason that names neither the URL nor what the service said,
// unless the service meant it for the caller; see docs/http.md. The log has the cause.
//
// An Agent and a Callbacks may be used concurrently.
package httpagent
