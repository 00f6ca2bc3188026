package a2aclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
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
	cursor int64  // id of the last event; 0 if none
	noIDs  bool   // the events have no ids that could be a cursor
	inside bool   // ids come in the elements, where those of the events do not, or may not
	within bool   // the last element came without the id of its event
	unsure bool   // something may be missing in front of a resumed connection

	begun  bool           // the caller has got an element
	status a2a.TaskStatus // as the caller knows it
	asked  bool           // the agent has asked in this stream, not before it
	ended  bool           // a Message or a terminal state: nothing more is to come

	resumed  bool
	failures failures  // attempts in a row without progress
	hasty    failures  // connections in a row that ended soon, where no cursor tells what is new
	renewed  bool      // a token expired, and no connection has lasted since
	fetched  *a2a.Task // by the last GetTask, not yet handed on
	told     digest    // of the Task that was the last element; none if it was another
}

type digest [sha256.Size]byte

var none digest

// visible returns a digest of a Task element. Where there is a cursor, the
// history does not count: how much of it there is depends on the request.
func visible(el *a2a.StreamResponse) digest {
	t := *el.Task
	if el.Seq > 0 {
		t.History = nil
	}
	return sha256.Sum256(t.AppendJSON(nil))
}

// errLeft means that the caller has left the loop, or has got all there is.
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
		// It may not stream, or not in this version, which shows where it is
		// asked for no stream.
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
		if s.hasty++; lasted || s.hasCursor() {
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

// first makes the first connection. That it fails is for the caller to know.
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

// unstreamable reports whether an agent shows that it does not stream, whatever
// its card says. It has not taken the message then. Where the message is for a
// task, UnsupportedOperation may be about that.
func (s *stream) unstreamable(err error) bool {
	e := said(err)
	return s.sent != nil && e != nil && e.Peer && (e.Code == a2a.CodeMethodNotFound && e.Cause == nil ||
		e.Code == a2a.CodeInvalidRequest && doubtful(s.c.face.Load(), dialect.SendStreamingMessage, err) ||
		e.Code == a2a.CodeUnsupportedOperation && s.taskID == "" && s.c.guessed)
}

// unstreamed sends the message and yields the answer. If at is given, the message
// goes there and nowhere else: where the agent turns out to speak another version, it
// reports true and has sent nothing.
func (s *stream) unstreamed(at *face) (otherVersion bool) {
	answer, err := s.c.sendMessage(s.ctx, s.sent, at)
	if err == errOtherVersion {
		return true
	}
	yieldAnswer(answer, err, s.yield)
	return false
}

var errOtherVersion = errors.New("the agent speaks another version")

// chosen takes the task's id over where the version lets the client choose it.
func (s *stream) chosen(cn *conn) {
	f := s.c.face.Load()
	if cn != nil {
		f = cn.call.face
	}
	if s.sent != nil && s.taskID == "" && f.dialect == dialect.V01 {
		s.taskID = s.sent.taskID
	}
}

// subscribe connects behind the cursor, if there is one.
func (s *stream) subscribe() (*conn, error) {
	last := ""
	if s.hasCursor() {
		last = dialect.FormatEventID(s.cursor)
	}
	req := &a2a.SubscribeToTaskRequest{Tenant: s.c.tenant, ID: s.taskID}
	if s.inside && last != "" && s.c.offersMarks() {
		req.After = s.cursor // a server that drops the ids may drop the header, too
	}
	return s.c.connect(s.ctx, dialect.SubscribeToTask, req, last, silence)
}

func (s *stream) hasCursor() bool { return s.cursor > 0 && !s.noIDs }

// read hands on the elements of a connection. It returns nil at a proper end,
// errLeft if the caller has left, and otherwise why there is no more.
func (s *stream) read(cn *conn) error {
	for first := true; ; first = false {
		el, id, err := cn.next()
		if err != nil {
			return s.end(cn, err)
		}
		before := s.cursor
		if own := cn.eventID(el); own != "" && own != id {
			id, s.inside = own, true
		}
		// An event may be several elements, and in old versions an element
		// several events, of which the last has the id.
		s.within = id == "" && (cn.within() || cn.old())
		if s.within {
			el.Seq = 0
		} else {
			el.Seq = s.position(id, first && el.Task != nil)
		}
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
			continue // after the end only a last look at the task may follow (§11.7)
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

// position moves the cursor to an event's id and returns it, or 0 if the ids
// are of no use: some servers make them at random. Only canonical decimals
// that grow count. The Task that begins a resumed stream has the id of the
// cursor.
func (s *stream) position(id string, again bool) int64 {
	n, ok := dialect.ParseEventID(id)
	if s.noIDs || !ok || n < s.cursor || n == s.cursor && !again {
		s.noIDs = true
		return 0
	}
	s.cursor = n
	return n
}

// joined looks at the first element of a resumed connection. It returns true
// if the caller has it already, and an error if something may be missing in
// front of it.
func (s *stream) joined(cn *conn, el *a2a.StreamResponse, before int64) (known bool, err error) {
	switch {
	case el.Task != nil && s.begun && el.Seq > 0 && el.Seq == before:
		if s.told == none || s.told == visible(el) {
			return true, nil
		}
		// The same id for another state: it counts within connections, and we
		// had but the first element.
		s.noIDs, el.Seq = true, 0
		return false, nil
	case el.Task != nil:
		return false, nil
	case el.Seq > 0 && before > 0:
		return false, nil // it goes on right behind the cursor
	case s.fetched != nil:
		// Not what §3.1.6 says: the task as it was a moment ago stands in.
		if !s.giveFetched() {
			return false, errLeft
		}
		s.unsure = cn.old() // from 1.0 on nothing can be missing (§3.1.6)
		return false, nil
	}
	s.noIDs = true
	return false, &TransportError{Host: cn.host, Err: errors.New("the stream does not go on where it was cut")}
}

// give hands an element to the caller, unless it adds nothing. It returns false if the
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
			s.failures = 0 // a server of old that closes each stream behind a status
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

// end judges the end of a connection: nil if it is that of the stream.
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
	// A server that closes where the task waits for its client means it. One
	// with a cursor keeps subscriptions open, so that its end is a cut, unless
	// it speaks a version in which streams end there.
	if s.status.State.Interrupted() && (s.sent != nil || !s.hasCursor() || cn.old()) {
		return nil
	}
	return &TransportError{Host: cn.host, Err: errors.New("the agent closed the stream before the task was finished")}
}

// lookAgain ends a stream that was resumed where the agent just went on: what
// was between the last look at the task and that is made up for.
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

// A stream's cursor travels as server-sent events have it, as id and
// Last-Event-ID. Intermediaries may drop either. Agents that offer the resume
// extension (docs/extensions/resume-v1.md) put it into the messages, too; they
// are asked to for each stream, since after a cut it is too late.

// offersMarks reports whether the agent's card has the extension.
func (c *Client) offersMarks() bool {
	return slices.ContainsFunc(c.Card().Capabilities.Extensions, func(e *a2a.AgentExtension) bool {
		return e != nil && e.URI == dialect.ResumeURI
	})
}

// marks reports whether the elements of a call's stream are to have their
// positions in them.
func (c *Client) marks(k *call) bool {
	return dialect.Get(k.op).Streams && dialect.HasExtensions(k.face.dialect) && c.offersMarks()
}

// askForMarks activates the extension for a call, besides those of the caller.
func (k *call) askForMarks(h http.Header) {
	name := dialect.ExtensionsHeader(k.face.dialect)
	if list := h.Get(name); list != "" {
		h.Set(name, list+","+dialect.ResumeURI)
	} else {
		h.Set(name, dialect.ResumeURI)
	}
}

// eventID takes the position out of an element, if it is there; the last one's
// of an event is that of all of them.
func (cn *conn) eventID(el *a2a.StreamResponse) string {
	if !cn.call.marked {
		return ""
	}
	id := dialect.TakeEventID(el)
	if cn.within() {
		return ""
	}
	return id
}

// cursorOf returns where a subscription goes on, if that is to be said in the
// request itself; 0 if not.
func cursorOf(d dialect.Dialect, req any) int64 {
	if r, ok := req.(*a2a.SubscribeToTaskRequest); ok && dialect.HasExtensions(d) {
		return r.After
	}
	return 0
}
