// Package httpagent turns an HTTP service into an agent: each message is a POST to its
// URL, and the service's answer, in one piece, as server-sent events or by calling
// back, is the task's.
//
//	ag, err := httpagent.New("http://127.0.0.1:8000/agent", nil)
//	if err != nil {
//		return err
//	}
//	return parley.Serve("127.0.0.1:7275", httpagent.Card("weather"), ag)
//
// The smallest service reads {"text": "…"} and answers {"text": "…"}. docs/http.md
// describes all that it may read and say, with the same terms as agent.Exec's lines.
//
// # Repeated requests
//
// Each request has an Idempotency-Key. A request is repeated, with the same key and the
// same body, if it got no answer or an answer that asks to try again, or if its turn
// runs again after a crash. A service that stores its answers by their keys does
// nothing twice. If an answer describes an artifact again, the new description replaces
// the old one. A question ends a request; the request is recorded and not repeated. Nor
// is a request that was accepted with 202: the turn goes on waiting for callbacks,
// which are recorded by their ids.
//
// When the task is cancelled or takes too long, a request under way is closed, and a
// service that answered 202 with a Location gets a DELETE there. When the server stops,
// a request is closed as well, but no DELETE is sent: the turn goes on with the next
// start.
//
// # Errors
//
// A task fails with a reason that names neither the URL nor what the service said,
// unless the service meant it for the caller; see docs/http.md. The log has the cause.
//
// An Agent and a Callbacks may be used concurrently.
package httpagent
