package mcpserver

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

const (
	firstPoll = 100 * time.Millisecond // which then doubles up to Options.Poll
	maxFailed = 5                      // polls in a row
)

// events hands out what happens to the task of a message, or to a task that is there
// already, until it rests or yield says so. It streams where the agent does, and
// polls otherwise and where a stream was lost.
func (s *Server) events(ctx context.Context, req *a2a.SendMessageRequest, id string, yield func(*a2a.StreamResponse) bool) error {
	streams := s.card.Capabilities.Streaming != nil && *s.card.Capabilities.Streaming
	switch {
	case req == nil && streams:
		seen, more, err := relay(s.agent.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}), false, yield)
		if !more || seen == "" && err != nil && !lost(err) && !refused(err) {
			return err
		}
	case req != nil && streams:
		seen, more, err := relay(s.agent.SendStreamingMessage(ctx, req), req.Message.TaskID != "", yield)
		switch {
		case !more:
			return err
		case seen != "" && (err == nil || lost(err)):
			return s.poll(ctx, seen, yield)
		case seen != "" || err != nil && !refused(err):
			// Whether the message arrived may not be known. To send it again
			// could do the work twice.
			return err
		case err == nil:
			return a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent ended the stream before its first event")
		}
		fallthrough
	case req != nil:
		now := *req
		now.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		resp, err := s.agent.SendMessage(ctx, &now)
		switch {
		case err != nil:
			return err
		case resp.Task == nil:
			yield(&a2a.StreamResponse{Message: resp.Message})
			return nil
		}
		id = resp.Task.ID
		if !yield(&a2a.StreamResponse{Task: resp.Task}) || rests(resp.Task) {
			return nil
		}
	}
	return s.poll(ctx, id, yield)
}

// relay yields a stream's events. more says that the task does not rest yet, seen
// is its id if that is known. A stream that answers a question may open with the
// task as it was when it asked: its artifacts count, its state does not.
func relay(stream iter.Seq2[*a2a.StreamResponse, error], answers bool, yield func(*a2a.StreamResponse) bool) (seen string, more bool, err error) {
	for ev, err := range stream {
		if err != nil {
			return seen, true, err
		}
		if answers && seen == "" && ev.Task != nil && ev.State().Interrupted() {
			before := *ev.Task
			before.Status = a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: before.Status.Timestamp}
			ev = &a2a.StreamResponse{Task: &before}
		}
		if !yield(ev) || ev.Message != nil || ev.State().Terminal() || ev.State().Interrupted() {
			return seen, false, nil
		}
		if seen == "" {
			seen = ev.TaskID()
		}
	}
	return seen, true, nil
}

// poll looks at the task again and again until it rests.
func (s *Server) poll(ctx context.Context, id string, yield func(*a2a.StreamResponse) bool) error {
	pause, failed := min(firstPoll, s.opts.poll()), 0
	for {
		if err := wake.Pause(ctx, pause); err != nil {
			return err
		}
		t, err := s.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err != nil {
			if failed++; failed == maxFailed || !lost(err) {
				return err
			}
			pause = s.opts.poll()
			continue
		}
		failed, pause = 0, min(2*pause, s.opts.poll())
		if !yield(&a2a.StreamResponse{Task: t}) || rests(t) {
			return nil
		}
	}
}

// refused reports whether the agent said that it does not stream.
func refused(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, &a2a.Error{Code: a2a.CodeMethodNotFound})
}

// lost reports whether asking again may help.
func lost(err error) bool {
	var e *a2a.Error
	if !errors.As(err, &e) {
		return !errors.Is(err, context.Canceled)
	}
	return e.Code == a2a.CodeUnavailable || e.Code == a2a.CodeRateLimited || e.Code == a2a.CodeInternal
}
