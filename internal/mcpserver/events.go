package mcpserver

import (
	"context"
	"errors"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// events passes the events of a message's task, or of an existing task, to yield, until
// the task rests or yield returns false.
func (s *Server) events(ctx context.Context, req *a2a.SendMessageRequest, id string, yield func(*a2a.StreamResponse) bool) error {
	streams := s.card.Capabilities.Streaming
	f := &a2aclient.Follower{Agent: s.agent, Streams: streams != nil && *streams, Poll: s.opts.poll(), Logger: s.log}
	if req != nil {
		return forward(f.Send(ctx, req), yield)
	}
	if f.Streams {
		if err := forward(f.Subscribe(ctx, id), yield); !refused(err) {
			return err
		}
	}
	return forward(f.Watch(ctx, &a2a.GetTaskRequest{ID: id}), yield)
}

func forward(events iter.Seq2[*a2a.StreamResponse, error], yield func(*a2a.StreamResponse) bool) error {
	for ev, err := range events {
		if err != nil || !yield(ev) {
			return err
		}
	}
	return nil
}

// refused reports whether the agent has no stream of the task: it may have no streams,
// or the task has ended.
func refused(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, &a2a.Error{Code: a2a.CodeMethodNotFound})
}
