package a2aclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"reflect"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// stream is a stream as its caller sees it, across connections. It belongs to
// the goroutine that ranges over it.
type stream struct {
	c     *Client
	ctx   context.Context
	yield func(*a2a.StreamResponse, error) bool
	span  *operation
	sent  *sending // nil for a subscription

	taskID string // "" until it is known
	at     cursor
	unsure bool // elements may be missing before a resumed connection

	begun  bool           // the caller has got an element
	status a2a.TaskStatus // the last one that the caller got
	asked  bool           // the agent has asked in this stream
	ended  bool           // a Message or a terminal state came: no more elements

	resumed  bool
	failures failures  // attempts in a row without progress
	hasty    failures  // connections in a row that ended soon, without a cursor to tell new elements
	renewed  bool      // a token expired, and no connection has lasted since
	fetched  *a2a.Task // by the last GetTask, not yet yielded
	told     digest    // of the Task, if that was the last element; otherwise none
}

type digest [sha256.Size]byte

var none digest

// visible returns a digest of a Task element. With a cursor, the history does not
// count, because its length depends on the request.
func visible(el *a2a.StreamResponse) digest {
	t := *el.Task
	if el.Seq > 0 {
		t.History = nil
	}
	return sha256.Sum256(t.AppendJSON(nil))
}

// errLeft means that the caller has left the loop, or has got everything.
var errLeft = errors.New("the stream is over")

func (s *stream) run() {
	outer := s.ctx
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(outer) // also if the caller's loop panics
	defer cancel()
	var done func()
	s.yield, done = s.span.over(s.yield)
	defer done()

	cn, err := s.first()
	if err != nil && s.unstreamable(err) {
		// It may not stream, or not in this version; a request without a stream shows
		// which.
		if !s.unstreamed(s.c.face.Load()) {
			return
		}
		if cn, err = s.first(); err != nil && s.unstreamable(err) {
			s.unstreamed(nil)
			return
		}
	}
	s.chosen(cn)
	switch {
	case err == nil:
	case s.repeatable(err):
		cn, err = s.repeat(err)
	case s.maybeTaken(err):
		cn, err = s.again(err)
	}
	for err == nil {
		opened := time.Now()
		err = s.read(cn)
		cn.close()
		if err == nil {
			return
		}
		lasted := time.Since(opened) >= steady
		if s.begun && lasted {
			s.failures, s.renewed = 0, false
		}
		if s.hasty++; lasted || s.at.known() {
			s.hasty = 0
		}
		switch {
		case s.repeatable(err):
			cn, err = s.repeat(err)
		case s.resumable(err):
			cn, err = s.again(err)
		}
	}
	if err != errLeft {
		s.yield(nil, orCause(outer, err))
	}
}

// first makes the first connection. Its failure is returned to the caller.
func (s *stream) first() (*conn, error) {
	if s.sent != nil {
		last := ""
		if s.sent.After > 0 {
			last = dialect.FormatEventID(s.sent.After)
		}
		return s.c.connect(s.ctx, dialect.SendStreamingMessage, s.sent, last, 0)
	}
	return s.subscribe()
}

// unstreamable reports whether an error shows that the agent does not stream, in spite
// of its card. It has not taken the message then. If the message is for a task,
// UnsupportedOperation may be about that task.
func (s *stream) unstreamable(err error) bool {
	e := said(err)
	return s.sent != nil && e != nil && e.Peer && (e.Code == a2a.CodeMethodNotFound && e.Cause == nil ||
		e.Code == a2a.CodeInvalidRequest && doubtful(s.c.face.Load(), dialect.SendStreamingMessage, err) ||
		e.Code == a2a.CodeUnsupportedOperation && s.taskID == "" && s.c.guessed)
}

// unstreamed sends the message and yields the answer. If at is given, it sends only to
// that face: if the agent turns out to speak another version, it reports true and has
// sent nothing in that version.
func (s *stream) unstreamed(at *face) (otherVersion bool) {
	answer, err := s.c.sendMessage(s.ctx, s.sent, at)
	if err == errOtherVersion {
		return true
	}
	yieldAnswer(answer, err, s.yield)
	return false
}

var errOtherVersion = errors.New("the agent speaks another version")

// chosen sets the task's id if the version lets the client choose it.
func (s *stream) chosen(cn *conn) {
	f := s.c.face.Load()
	if cn != nil {
		f = cn.call.face
	}
	if s.sent != nil && s.taskID == "" && f.dialect == dialect.V01 {
		s.taskID = s.sent.taskID
	}
}

// subscribe connects after the cursor, if there is one.
func (s *stream) subscribe() (*conn, error) {
	last := ""
	req := &a2a.SubscribeToTaskRequest{Tenant: s.c.tenant, ID: s.taskID}
	if s.at.known() {
		last = dialect.FormatEventID(s.at.last)
		if s.at.inside && s.c.offersMarks() {
			req.After = s.at.last // a server that drops the ids may drop the header, too
		}
	}
	return s.c.connect(s.ctx, dialect.SubscribeToTask, req, last, silence)
}

// read yields the elements of a connection. It returns nil at a proper end, errLeft if
// the caller has left, and otherwise the error.
func (s *stream) read(cn *conn) error {
	for first := true; ; first = false {
		el, id, err := cn.next()
		if err != nil {
			return s.end(cn, err)
		}
		before := s.at.last
		s.at.move(cn, el, id, first && el.Task != nil)
		if first && s.resumed {
			known, err := s.joined(cn, el, before)
			if err != nil {
				return err
			}
			if known {
				continue
			}
		}
		if empty(el) || s.ended && el.Task == nil && !cn.old() {
			continue // after the end only the final Task may follow (§11.7)
		}
		if !s.give(el) {
			return errLeft
		}
		if s.ended {
			cn.finish()
		} else if s.resumed && s.sent != nil && s.asked && s.status.State == a2a.TaskStateInputRequired {
			return nil // here a send stream ends, while a subscription goes on
		}
	}
}

// joined checks the first element of a resumed connection. It returns true if the
// caller has it already, and an error if elements may be missing before it.
func (s *stream) joined(cn *conn, el *a2a.StreamResponse, before int64) (known bool, err error) {
	switch {
	case el.Task != nil && s.begun && el.Seq > 0 && el.Seq == before:
		if s.told == none || s.told == visible(el) {
			return true, nil
		}
		// The same id stands for another state: the server counts within connections,
		// and the caller had only the first element.
		s.at.useless, el.Seq = true, 0
		return false, nil
	case el.Task != nil:
		return false, nil
	case el.Seq > 0 && before > 0:
		return false, nil // it follows the cursor directly
	case s.fetched != nil:
		// Not as §3.1.6 says: the task as just fetched takes its place.
		if !s.giveFetched() {
			return false, errLeft
		}
		s.unsure = cn.old() // from 1.0 on nothing can be missing (§3.1.6)
		return false, nil
	}
	s.at.useless = true
	return false, &TransportError{Host: cn.host, Err: errors.New("the stream does not continue where it was cut")}
}

// give yields an element to the caller, unless it adds nothing. It returns false if the
// caller leaves.
func (s *stream) give(el *a2a.StreamResponse) bool {
	sum, status, bare := none, s.status, false
	switch {
	case el.Task != nil:
		s.fetched = nil
		sum, status, bare = visible(el), el.Task.Status, len(el.Task.Artifacts) == 0
	case el.StatusUpdate != nil:
		status, bare = el.StatusUpdate.Status, len(el.StatusUpdate.Metadata) == 0
	}
	if s.resumed && el.Seq == 0 {
		if sum != none && sum == s.told {
			return true
		}
		if s.begun && !s.ended && bare && reflect.DeepEqual(status, s.status) {
			s.failures = 0 // an old server that closes each stream after a status
			return true
		}
	}
	s.told = sum
	if status.State.Valid() {
		s.status = status
		s.asked = status.State.Interrupted() && (el.Task == nil || s.begun)
	}
	if s.taskID == "" {
		s.taskID = el.TaskID()
	}
	s.begun = true
	s.ended = s.ended || el.Message != nil || s.status.State.Terminal()
	s.failures = 0
	return s.yield(el, nil)
}

func (s *stream) giveFetched() bool { return s.give(&a2a.StreamResponse{Task: s.fetched}) }

// end interprets the end of a connection: nil if the stream has ended with it.
func (s *stream) end(cn *conn, err error) error {
	e := said(err)
	if s.ended {
		if e != nil && e.Peer {
			return err // such as: the task ended before the message was read
		}
		return s.lookAgain()
	}
	if err != io.EOF {
		if s.sent != nil && s.asked && s.status.State == a2a.TaskStateInputRequired && e == nil {
			return nil
		}
		return err
	}
	// A server that closes the stream while the task waits for its client does so on
	// purpose. A server with a cursor keeps subscriptions open, so its end is a cut,
	// unless streams end there in its version.
	if s.status.State.Interrupted() && (s.sent != nil || !s.at.known() || cn.old()) {
		return nil
	}
	return &TransportError{Host: cn.host, Err: errors.New("the agent closed the stream before the task was finished")}
}

// lookAgain ends a stream that was resumed without a Task: it makes up for elements
// between the last look at the task and the resumption.
func (s *stream) lookAgain() error {
	if !s.unsure {
		return nil
	}
	s.unsure = false
	task, err := s.c.GetTask(s.ctx, &a2a.GetTaskRequest{ID: s.taskID})
	if err != nil {
		return err
	}
	if !s.give(&a2a.StreamResponse{Task: task}) {
		return errLeft
	}
	return nil
}
