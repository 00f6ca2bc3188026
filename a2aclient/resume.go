package a2aclient

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
)

// steady is how long a connection must have lasted to count as progress even if it
// brought nothing: the agent may be thinking.
const steady = 5 * time.Second

// resumable reports whether the stream can go on after a cut.
func (s *stream) resumable(err error) bool {
	switch {
	case s.ctx.Err() != nil || s.c.opts.retries() == 0 || s.taskID == "" || !temporary(err) && !s.expired(err):
		return false
	case s.begun:
		return true
	}
	if s.sent == nil {
		return said(err) == nil // an error of the agent at the start is its answer
	}
	return s.maybeTaken(err)
}

// expired reports whether a token has expired during the stream, so that another one
// may help. It is not retried twice in a row: the agent may refuse every token.
func (s *stream) expired(err error) bool {
	return errors.Is(err, a2a.ErrUnauthenticated) && s.c.wantsToken() && !s.renewed
}

// maybeTaken reports whether a message whose stream was cut before the first element
// can be looked for in the task that it was sent to.
func (s *stream) maybeTaken(err error) bool {
	e, ok := errors.AsType[*TransportError](err)
	return s.sent != nil && s.taskID != "" && s.sent.Message.MessageID != "" && s.c.opts.retries() > 0 &&
		s.ctx.Err() == nil && ok && !e.Unreachable && temporary(err)
}

// repeatable reports whether the message of the stream may be sent again: before the
// first element, if the agent recognizes a repeated message.
func (s *stream) repeatable(err error) bool {
	return s.sent != nil && !s.begun && s.c.repeatable(s.ctx, s.sent, err)
}

// repeat sends the message again after a cut. If the agent took the first attempt, the
// repeat attaches to its stream. The error is final.
func (s *stream) repeat(cut error) (*conn, error) {
	s.c.opts.lost(s.taskID, cut)
	for err := cut; ; {
		if err := s.c.again(s.ctx, s.sent, dialect.SendStreamingMessage, s.failures, err); err != nil {
			return nil, err
		}
		s.failures++
		s.at = cursor{last: s.sent.After} // the caller has got no element yet
		var cn *conn
		if cn, err = s.first(); err == nil || !s.repeatable(err) {
			if err == nil {
				s.c.opts.lost(s.taskID, nil)
			}
			s.chosen(cn)
			return cn, err
		}
	}
}

// again resumes the stream after a cut. The error is final.
func (s *stream) again(cut error) (*conn, error) {
	s.resumed = true
	s.renewed = s.renewed || s.expired(cut)
	s.c.opts.lost(s.taskID, cut)
	for err := cut; ; {
		if int(s.failures) >= s.c.opts.retries() {
			return nil, fmt.Errorf("the stream of task %s was cut and could not be resumed in %d attempts: %w", s.taskID, s.failures, err)
		}
		s.failures++
		s.span.event(telemetry.EventResume, err, telemetry.ResumedFrom.Int64(s.at.last))
		asked := askedToWait(err)
		if asked > longestWait {
			return nil, err
		}
		if err := wake.Pause(s.ctx, max(max(s.failures, s.hasty).wait(), asked)); err != nil {
			return nil, err
		}
		var cn *conn
		var final bool
		cn, final, err = s.reopen(cut)
		if err == nil || final || !temporary(err) {
			if err == nil || err == errLeft {
				s.c.opts.lost(s.taskID, nil)
			}
			return cn, err
		}
	}
}

// reopen makes one attempt to resume. final says that it is the last.
func (s *stream) reopen(cut error) (cn *conn, final bool, err error) {
	// There is no position to resume from in the middle of an element, and in version
	// 0.1, which begins again with events in place of a Task.
	if s.at.within || s.c.face.Load().dialect == dialect.V01 {
		s.at.useless = true
	}
	if s.at.known() {
		cn, err = s.subscribe()
		if err == nil || !refused(err) {
			return cn, false, err
		}
		s.at.useless = true // the agent no longer knows the cursor, or never did
	}
	task, err := s.c.GetTask(s.ctx, &a2a.GetTaskRequest{ID: s.taskID})
	if err != nil {
		if s.own() && !s.begun && errors.Is(err, a2a.ErrTaskNotFound) {
			return nil, true, cut // the message did not arrive, or has not yet
		}
		return nil, false, err
	}
	if s.sent != nil && !s.begun && !s.own() && !has(task, s.sent.Message.MessageID) {
		return nil, true, cut
	}
	s.fetched = task
	st := task.Status.State
	if st.Terminal() || s.sent != nil && st.Interrupted() && visible(&a2a.StreamResponse{Task: task}) != s.told {
		s.giveFetched()
		return nil, true, errLeft
	}
	cn, err = s.subscribe()
	if err == nil || !refused(err) {
		return cn, false, err
	}
	// The task goes on, but cannot be subscribed to: it has just ended, or the server
	// lost its stream. The caller gets the task as fetched.
	if !s.giveFetched() {
		return nil, true, errLeft
	}
	return nil, false, &a2a.Error{Code: a2a.CodeUnavailable, Message: "the task goes on but cannot be subscribed to", Cause: err}
}

// own reports whether the client chose the task's id, so that the message has arrived
// if the task exists.
func (s *stream) own() bool { return s.sent != nil && s.taskID == s.sent.taskID }

// refused reports whether the agent refused a subscription.
func refused(err error) bool {
	e := said(err)
	return e != nil && e.Peer && !temporary(err) &&
		e.Code != a2a.CodeUnauthenticated && e.Code != a2a.CodePermissionDenied
}

// has reports whether a task's history has a message.
func has(t *a2a.Task, messageID string) bool {
	return slices.ContainsFunc(t.History, func(m *a2a.Message) bool { return m.MessageID == messageID })
}
