package mcpserver

import (
	"context"
	"errors"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// events returns the events of a message's task, or of an existing task.
func (s *Server) events(ctx context.Context, req *a2a.SendMessageRequest, id string) iter.Seq2[*a2a.StreamResponse, error] {
	streams := s.card.Capabilities.Streaming
	f := &a2aclient.Follower{Agent: s.agent, Streams: streams != nil && *streams, Poll: s.opts.poll(), Logger: s.log}
	if req != nil {
		return f.Send(ctx, req)
	}
	polled := f.Watch(ctx, &a2a.GetTaskRequest{ID: id})
	if !f.Streams {
		return polled
	}
	return func(yield func(*a2a.StreamResponse, error) bool) {
		for ev, err := range f.Subscribe(ctx, id) {
			if refused(err) {
				polled(yield)
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// refused reports whether the agent has no stream of the task: it may have no streams,
// or the task has ended.
func refused(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, &a2a.Error{Code: a2a.CodeMethodNotFound})
}
