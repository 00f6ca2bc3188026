// Package again recognizes messages that are repeated because their senders do not know the
// outcome. A message has an [Identity]: the names under which it may be repeated, and a digest
// of its content. With the entry of the message, or with its direct answer, the engine stores a
// receipt under each name.
//
// An Identity does not change and may be used concurrently.
package again

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Identity is what a message is recognized by.
type Identity struct {
	Scope  store.Key // its caller's part of the store: a key without an ID
	Names  []string  // of its receipts; none if the message could not be named when it is repeated
	Digest Digest
	Window time.Duration // how long a receipt counts

	to address
}

// Prefixes of names: for the id of the message, and for the key of its request.
const (
	byMessage = "m:"
	byKey     = "k:"
)

// maxKey is how long a key may be, in bytes.
const maxKey = 255

// Identify returns the identity of a message. The error is InvalidParams if the key of its
// request is invalid.
func Identify(scope store.Key, req *a2a.SendMessageRequest, window time.Duration) (*Identity, error) {
	id := &Identity{Scope: scope, Window: window}
	if req.Legacy == nil || !req.Legacy.CreateByID {
		// If the client chooses the task's id, its messages have no id, or one that it reuses.
		id.Names = append(id.Names, byMessage+req.Message.MessageID)
	}
	if req.IdempotencyKey != "" {
		if err := checkKey(req.IdempotencyKey); err != nil {
			return nil, err
		}
		id.Names = append(id.Names, byKey+req.IdempotencyKey)
	}
	if len(id.Names) > 0 {
		id.Digest, id.to = DigestOf(req), addressOf(req)
	}
	return id, nil
}

// Named is Identify for a message whose names and digest are known.
func Named(scope store.Key, req *a2a.SendMessageRequest, digest Digest, window time.Duration, names ...string) *Identity {
	return &Identity{Scope: scope, Names: names, Digest: digest, Window: window, to: addressOf(req)}
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

// Receipts returns the receipts for an append that accepts the message at the time at, with the
// entry at seq. seq is 0 if there is an answer and no task.
func (id *Identity) Receipts(at time.Time, seq int64, answer []byte) []store.Receipt {
	at = at.UTC().Truncate(time.Millisecond)
	out := make([]store.Receipt, len(id.Names))
	for i, name := range id.Names {
		out[i] = store.Receipt{Name: name, Time: at, Until: at.Add(id.Window), Digest: id.Digest[:], Seq: seq, Answer: answer}
	}
	return out
}

// Find returns the receipt of the message that counts at the time at, or nil. The error is
// Conflict if the receipt is of another message; other errors are the store's.
func (id *Identity) Find(ctx context.Context, st interface {
	Receipt(ctx context.Context, scope store.Key, name string) (*store.Receipt, error)
}, at time.Time) (*store.Receipt, error) {
	var found *store.Receipt
	for _, name := range id.Names {
		r, err := st.Receipt(ctx, id.Scope, name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case !r.Counts(at):
			continue
		case !bytes.Equal(r.Digest, id.Digest[:]) && !id.withheld(r.Digest):
			return nil, errOther(name)
		case found != nil && (r.TaskID != found.TaskID || r.Seq != found.Seq || !bytes.Equal(r.Answer, found.Answer)):
			// Both have the same content, but there were two messages: one was sent under this
			// id, another under this key.
			return nil, errOther(name)
		}
		found = r
	}
	return found, nil
}

// Withheld returns the identity of a message whose content is not kept: its receipts tell
// nothing of the content, so any message under its names counts as the same.
func (id *Identity) Withheld() *Identity {
	bare := *id
	bare.Digest = digestWithheld(id.to)
	return &bare
}

// withheld reports whether a digest is of credentials under the same name; whether they were
// the same credentials is not known.
func (id *Identity) withheld(digest []byte) bool {
	d := digestWithheld(id.to)
	return bytes.Equal(digest, d[:])
}

// SameAs returns Conflict if other has one of id's names but another content.
func (id *Identity) SameAs(other *Identity) error {
	if id.Digest == other.Digest {
		return nil
	}
	for _, name := range id.Names {
		if slices.Contains(other.Names, name) {
			return errOther(name)
		}
	}
	return nil
}

// errOther says that a name was used for another message, and nothing more.
func errOther(name string) error {
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
