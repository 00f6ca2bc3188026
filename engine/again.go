package engine

import (
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Retries says when a message that comes again is known: by its id, or by the
// key of its request, and by what it says. Then the answer is that of the first
// one, and nothing is done twice (specification §3.1.1 lets agents do that).
type Retries struct {
	// Window is how long a message is known after it was taken, at least. Zero
	// means 24 h, below zero never.
	Window time.Duration
	// Anonymous extends it to callers who are not authenticated, who are one
	// caller to the server: any of them may then attach to a task of which it
	// knows the message's id and all that it says.
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

// identity is what a message is known by: the names under which there are
// receipts of it, in its caller's part of the store, and the digest of what it
// says.
type identity struct {
	scope  store.Key
	names  []string
	digest [digestSize]byte
	window time.Duration
	clock  *clock
	to     address
}

// What names begin with: whether it is the message's id, or the key of its
// request.
const (
	byMessage = "m:"
	byKey     = "k:"
)

// maxKey is how long a key may be, in bytes.
const maxKey = 255

// identify returns the identity of a message. It has no names if nothing could
// name it when it comes again.
func (e *Engine) identify(a *access, req *a2a.SendMessageRequest) (*identity, error) {
	id := &identity{scope: a.scope, window: e.opts.retries().window(), clock: &e.clock}
	if req.Legacy == nil || !req.Legacy.CreateByID {
		// Where the client chooses the task's id, in version 0.1, its messages
		// have none, or one that it uses again.
		id.names = append(id.names, byMessage+req.Message.MessageID)
	}
	if req.IdempotencyKey != "" {
		if err := checkKey(req.IdempotencyKey); err != nil {
			return nil, err
		}
		id.names = append(id.names, byKey+req.IdempotencyKey)
	}
	if len(id.names) > 0 {
		id.digest = digest(req)
		id.to = address{req.Message.TaskID, req.Message.ContextID}
	}
	return id, nil
}

func checkKey(key string) error {
	if len(key) > maxKey {
		return a2a.Invalid("Idempotency-Key", "must be at most %d bytes long, got %d", maxKey, len(key))
	}
	for i := range len(key) {
		if c := key[i]; c < ' ' || c > '~' {
			return a2a.Invalid("Idempotency-Key", "must be printable ASCII")
		}
	}
	return nil
}

// receipts returns what an append says of a message that it takes, with the
// entry at seq: 0 if there is no task, but an answer.
func (id *identity) receipts(seq int64, answer []byte) []store.Receipt {
	at := id.clock.now().UTC().Truncate(time.Millisecond)
	out := make([]store.Receipt, len(id.names))
	for i, name := range id.names {
		out[i] = store.Receipt{Name: name, Time: at, Until: at.Add(id.window), Digest: id.digest[:], Seq: seq, Answer: answer}
	}
	return out
}

// errOther says that a name was used for another message, and no more than
// that.
func (id *identity) errOther(name string) error {
	err := &a2a.Error{Code: a2a.CodeConflict}
	if key := name[len(byKey):]; name[:len(byKey)] == byKey {
		err.Message = "this idempotency key was used for a message that says something else; send the same again, or choose another key"
		err.Meta = map[string]string{"idempotencyKey": key}
	} else {
		err.Message = "this message id was used for a message that says something else; send the same again, or choose another id"
		err.Meta = map[string]string{"messageId": key}
	}
	return err
}

// beaten reports whether a send has to look again what there is, because
// somebody else was quicker: another process took the message, or it drew the task
// that had waited for one, or it created
// the task whose id the client chose, or that was deleted under way.
func beaten(err error, req *a2a.SendMessageRequest) bool {
	if errors.Is(err, store.ErrDuplicate) || errors.Is(err, errDrawn) {
		return true
	}
	return req.Legacy != nil && req.Legacy.CreateByID && (errors.Is(err, store.ErrConflict) || errors.Is(err, a2a.ErrTaskNotFound))
}
