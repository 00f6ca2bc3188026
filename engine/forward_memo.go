package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/again"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// memo is what one process writes to another: a request or an answer. Processes
// of different releases read each other's; what one does not know it ignores.
// Names are bytes, for JSON has no others than UTF-8.
type memo struct {
	ID     string      `json:"id"`             // of the request, also on each further try, and in its answer
	From   string      `json:"from,omitempty"` // where the answer goes
	Send   *memoSend   `json:"send,omitempty"`
	Cancel *memoCancel `json:"cancel,omitempty"`
	Answer *memoAnswer `json:"answer,omitempty"`
}

type memoKey struct {
	Tenant []byte `json:"tenant,omitempty"`
	Owner  []byte `json:"owner,omitempty"`
	ID     []byte `json:"id,omitempty"`
}

func keyMemo(k store.Key) memoKey { return memoKey{[]byte(k.Tenant), []byte(k.Owner), []byte(k.ID)} }

func (k *memoKey) key() store.Key {
	return store.Key{Tenant: string(k.Tenant), Owner: string(k.Owner), ID: string(k.ID)}
}

// memoSend is a message, after the gate: who calls was asked, and may send it.
type memoSend struct {
	Scope   memoKey     `json:"scope"`
	Caller  memoCaller  `json:"caller"`
	Request []byte      `json:"request"` // as a client would send it
	Legacy  *a2a.Legacy `json:"legacy,omitempty"`
	Waits   bool        `json:"waits,omitempty"` // whether the agent takes the message matters

	Names  [][]byte      `json:"names"`
	Digest []byte        `json:"digest"`
	Window time.Duration `json:"window"`
}

type memoCaller struct {
	Subject    []byte   `json:"subject,omitempty"`
	Tenant     []byte   `json:"tenant,omitempty"`
	Scopes     []string `json:"scopes"` // null is not the same as none
	Via        string   `json:"via,omitempty"`
	Extensions []string `json:"extensions,omitempty"`
	Hops       int      `json:"hops,omitempty"`
	Trace      string   `json:"trace,omitempty"`
	TraceState string   `json:"traceState,omitempty"`
}

// memoCancel is the wish to cancel a task.
type memoCancel struct {
	Key      memoKey `json:"key"`
	Subject  []byte  `json:"subject,omitempty"`
	Metadata []byte  `json:"metadata,omitempty"`
}

// memoAnswer is what came of a request.
type memoAnswer struct {
	Seq    int64      `json:"seq,omitempty"`    // of a message: where it is; of a cancel: ends behind it count
	Later  bool       `json:"later,omitempty"`  // the agent has not taken the message yet; whether it does a second answer tells
	Unread bool       `json:"unread,omitempty"` // it never did
	Moved  bool       `json:"moved,omitempty"`  // another process has the task, or soon will; nothing happened
	Error  *memoError `json:"error,omitempty"`
}

// memoError is an error as its caller sees it.
type memoError struct {
	Code       string               `json:"code"` // by its name: numbers are a release's own
	Message    string               `json:"message"`
	Fields     []a2a.FieldViolation `json:"fields,omitempty"`
	Meta       map[string]string    `json:"meta,omitempty"`
	RetryAfter time.Duration        `json:"retryAfter,omitempty"`
}

// errorMemo is what another process may know of an error. The cause of one that
// is internal stays here.
func errorMemo(err error) *memoError {
	known, ok := errors.AsType[*a2a.Error](err)
	if !ok {
		return &memoError{Code: a2a.CodeInternal.String()}
	}
	return &memoError{known.Code.String(), known.Message, known.Fields, known.Meta, known.RetryAfter}
}

var errInternalThere = errors.New("the process that has the task failed; its log says why")

func (m *memoError) err() error {
	code, known := codes[m.Code]
	if !known || code == a2a.CodeInternal {
		return fmt.Errorf("%w (%s)", errInternalThere, m.Code)
	}
	return &a2a.Error{Code: code, Message: m.Message, Fields: m.Fields, Meta: m.Meta, RetryAfter: m.RetryAfter}
}

// codes are all codes by their names.
var codes = func() map[string]a2a.Code {
	all := map[string]a2a.Code{}
	for c := a2a.CodeInternal; ; c++ {
		if _, there := all[c.String()]; there {
			return all // names of what is no code are the first one's
		}
		all[c.String()] = c
	}
}()

func sendMemo(a *access, req *a2a.SendMessageRequest, id *again.Identity) *memoSend {
	c := a.caller
	s := &memoSend{
		Scope:   keyMemo(a.scope),
		Caller:  memoCaller{[]byte(c.Subject), []byte(c.Tenant), c.Scopes, c.Via, c.Extensions, c.Hops, c.Trace, c.TraceState},
		Request: req.AppendJSON(nil),
		Legacy:  req.Legacy,
		Digest:  id.Digest[:],
		Window:  id.Window,
	}
	for _, name := range id.Names {
		s.Names = append(s.Names, []byte(name))
	}
	return s
}

// request is what sendMemo was made of.
func (s *memoSend) request(e *Engine) (*access, *a2a.SendMessageRequest, *again.Identity, error) {
	req := &a2a.SendMessageRequest{}
	if err := req.UnmarshalJSON(s.Request); err != nil {
		return nil, nil, nil, err
	}
	if req.Message == nil || len(s.Digest) != len(again.Digest{}) || len(s.Names) == 0 {
		return nil, nil, nil, errors.New("a request without a message or its identity")
	}
	req.Legacy = s.Legacy
	c := s.Caller
	a := &access{scope: s.Scope.key(), caller: a2a.Caller{
		Subject: string(c.Subject), Tenant: string(c.Tenant), Scopes: c.Scopes,
		Via: c.Via, Extensions: c.Extensions, Hops: c.Hops, Trace: c.Trace, TraceState: c.TraceState,
	}}
	id := again.Named(a.scope, req, again.Digest(s.Digest), s.Window)
	for _, name := range s.Names {
		id.Names = append(id.Names, string(name))
	}
	return a, req, id, nil
}

// forwardName returns the identity of a message that nobody would know if it came
// again: until it is certain what came of it, the processes that hear of it do.
func (e *Engine) forwardName(a *access, req *a2a.SendMessageRequest) *again.Identity {
	return again.Named(a.scope, req, again.DigestOf(req), forwardWindow, byForward+stored.NewID())
}

const (
	byForward     = "p:" // where those of clients are m: and k:
	forwardWindow = time.Hour
)
