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

// memo is a message from one process to another: a request or an answer. Processes of different
// releases read each other's memos, and ignore fields that they do not know. Names are bytes,
// because JSON strings can only hold UTF-8.
type memo struct {
	ID     string      `json:"id"`             // of the request; the same on each further try and in the answer
	From   string      `json:"from,omitempty"` // the process that gets the answer
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

// memoSend is a message that has passed the gate: the caller is known and may send it.
type memoSend struct {
	Scope   memoKey     `json:"scope"`
	Caller  memoCaller  `json:"caller"`
	Request []byte      `json:"request"` // as a client would send it
	Legacy  *a2a.Legacy `json:"legacy,omitempty"`
	Waits   bool        `json:"waits,omitempty"` // the asking process wants to know whether the agent takes the message

	Names  [][]byte      `json:"names"`
	Digest []byte        `json:"digest"`
	Window time.Duration `json:"window"`
}

type memoCaller struct {
	Subject    []byte   `json:"subject,omitempty"`
	Tenant     []byte   `json:"tenant,omitempty"`
	Scopes     []string `json:"scopes"` // null differs from an empty list
	Via        string   `json:"via,omitempty"`
	Extensions []string `json:"extensions,omitempty"`
	Hops       int      `json:"hops,omitempty"`
	Trace      string   `json:"trace,omitempty"`
	TraceState string   `json:"traceState,omitempty"`
}

// memoCancel is a request to cancel a task.
type memoCancel struct {
	Key      memoKey `json:"key"`
	Subject  []byte  `json:"subject,omitempty"`
	Metadata []byte  `json:"metadata,omitempty"`
}

// memoAnswer is the outcome of a request.
type memoAnswer struct {
	Seq    int64      `json:"seq,omitempty"`    // of a message: its position; of a cancel: ends after this one count
	Later  bool       `json:"later,omitempty"`  // the agent has not taken the message yet; a second answer tells whether it does
	Unread bool       `json:"unread,omitempty"` // the agent never took the message
	Moved  bool       `json:"moved,omitempty"`  // another process has the task, or soon will; nothing happened
	Error  *memoError `json:"error,omitempty"`
}

// memoError is an error as its caller sees it.
type memoError struct {
	Code       string               `json:"code"` // by its name: numbers differ between releases
	Message    string               `json:"message"`
	Fields     []a2a.FieldViolation `json:"fields,omitempty"`
	Meta       map[string]string    `json:"meta,omitempty"`
	RetryAfter time.Duration        `json:"retryAfter,omitempty"`
}

// errorMemo returns the part of an error that another process may know. The cause of an
// internal error stays here.
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
			return all // values that are no codes have the first one's name
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

// request returns what sendMemo made the memo of.
func (s *memoSend) request() (*access, *a2a.SendMessageRequest, *again.Identity, error) {
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

// forwardName returns an identity for a message that would not be recognized if repeated: the
// processes involved recognize it until its outcome is certain.
func (e *Engine) forwardName(a *access, req *a2a.SendMessageRequest) *again.Identity {
	return again.Named(a.scope, req, again.DigestOf(req), forwardWindow, byForward+stored.NewID())
}

const (
	byForward     = "p:" // prefix of names; those of clients begin with m: and k:
	forwardWindow = time.Hour
)
