package a2aclient

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"reflect"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Follower yields what happens to a task until waiting for it ends: at a terminal or
// interrupted state, or with a direct message. It streams if the agent does, and
// otherwise, or if a stream is lost and cannot be resumed, it polls (a2a-cli §9.3).
//
// A Follower may be used by many goroutines. Elements may be shared and must not be
// changed. A sequence ends after its first error; ranging over it again starts again.
type Follower struct {
	// Agent is the agent, such as a Client.
	Agent a2a.Service
	// Streams says that the agent's card offers streams.
	Streams bool
	// Poll is the longest pause between two polls that succeed. Zero means 2 s.
	Poll time.Duration
	// Lost is called for polls that fail, as Options.Lost is for streams;
	// Client.Follower sets it to Options.Lost.
	Lost func(taskID string, err error)
	// Logger gets a debug record for each lost stream and failed poll. Nil discards.
	Logger *slog.Logger
}

// Follower returns a Follower of the client's agent that polls every 2 s.
func (c *Client) Follower() *Follower {
	return &Follower{Agent: c, Streams: offered(c.Card().Capabilities.Streaming), Lost: c.opts.Lost}
}

func (f *Follower) poll() time.Duration { return cmp.Or(max(f.Poll, 0), 2*time.Second) }

func (f *Follower) logger() *slog.Logger { return cmp.Or(f.Logger, slog.New(slog.DiscardHandler)) }

const (
	// firstPoll is the first pause between polls, which then doubles up to
	// Follower.Poll: most tasks are quick.
	firstPoll = 250 * time.Millisecond
	// maxPollPause caps the pauses after failures.
	maxPollPause = 30 * time.Second
	// maxPollFailures is how many polls in a row may fail.
	maxPollFailures = 5
	// answerTime is how long a task may still show the question that was just answered.
	// authTime is the same for a request for authorization, which a message need not end
	// (§7.6.1).
	answerTime, authTime = time.Minute, 5 * time.Second
)

// rests reports whether waiting ends in this state. It does not end in the unspecified
// state, which says nothing (a2a-cli §9.1).
func rests(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// Send sends a message once and follows its task. If the stream is cut before its
// first element, that is the error: the agent may have taken the message.
func (f *Follower) Send(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if f.Streams {
			id, over, err := relay(f.Agent.SendStreamingMessage(ctx, req), req.Message.TaskID != "", yield)
			switch {
			case over:
				return
			case id != "":
				f.recover(ctx, id, err, yield)
				return
			case !noStreams(err):
				// It is unknown whether the message arrived. Sending it again could do
				// the work twice.
				if err == nil {
					err = a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent ended the stream before its first event")
				}
				yield(nil, err)
				return
			}
			f.logger().Debug("the agent does not stream after all: sending without", "err", err)
		}
		var asked *a2a.Task
		if id := req.Message.TaskID; id != "" {
			// An agent that returns at once may return the question that the message
			// answers. If the task cannot be read, SendMessage reports why, or begins
			// it.
			asked, _ = f.Agent.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32(0))})
		}
		resp, err := f.Agent.SendMessage(ctx, immediately(req))
		switch {
		case err != nil:
			yield(nil, err)
		case resp.Task == nil:
			yield(&a2a.StreamResponse{Message: resp.Message}, nil)
		case yield(&a2a.StreamResponse{Task: resp.Task}, nil):
			f.watch(ctx, resp.Task, asked, &a2a.GetTaskRequest{ID: resp.Task.ID}, yield)
		}
	}
}

// Subscribe follows an existing task by its stream. It is an error if the agent refuses
// the subscription.
func (f *Follower) Subscribe(ctx context.Context, id string) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		seen, over, err := relay(f.Agent.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}), false, yield)
		switch {
		case over:
		case seen == "" && err != nil:
			yield(nil, err)
		default:
			f.recover(ctx, id, err, yield)
		}
	}
}

// Watch polls an existing task. It yields the task at once, and again each time it has
// changed.
func (f *Follower) Watch(ctx context.Context, req *a2a.GetTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		t, err := f.Agent.GetTask(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if yield(&a2a.StreamResponse{Task: t}, nil) {
			f.watch(ctx, t, nil, req, yield)
		}
	}
}

// relay yields a stream's elements. It returns the task's id if it is known, whether
// waiting is over, and otherwise the error that broke the stream, which is nil if the
// stream just ended. A stream that answers a task's question may open with the task in
// the state of that question, which does not end the wait.
func relay(stream iter.Seq2[*a2a.StreamResponse, error], answers bool, yield func(*a2a.StreamResponse, error) bool) (id string, over bool, err error) {
	for r, err := range stream {
		if err != nil {
			return id, false, err
		}
		asked := answers && id == "" && r.Task != nil && r.State().Interrupted()
		if !yield(r, nil) || r.Message != nil || rests(r.State()) && !asked {
			return id, true, nil
		}
		if id == "" {
			id = r.TaskID()
		}
	}
	return id, false, nil
}

// recover goes on by polling after a stream was lost. An error by which the agent ended
// the stream is final.
func (f *Follower) recover(ctx context.Context, id string, lost error, yield func(*a2a.StreamResponse, error) bool) {
	if lost != nil && !transient(ctx, lost) {
		yield(nil, lost)
		return
	}
	f.logger().Debug("the stream is lost: polling", "task", id, "err", lost)
	f.watch(ctx, &a2a.Task{ID: id}, nil, &a2a.GetTaskRequest{ID: id}, yield)
}

// watch polls until waiting ends. A status equal to that of asked, if not nil, does not
// end it for answerTime.
func (f *Follower) watch(ctx context.Context, last, asked *a2a.Task, req *a2a.GetTaskRequest, yield func(*a2a.StreamResponse, error) bool) {
	wait, failures, began := min(firstPoll, f.poll()), 0, time.Now()
	old := func() bool {
		within := answerTime
		if last.Status.State == a2a.TaskStateAuthRequired {
			within = authTime
		}
		return asked != nil && reflect.DeepEqual(last.Status, asked.Status) && time.Since(began) < within
	}
	for !rests(last.Status.State) || old() {
		if err := wake.Pause(ctx, wait); err != nil {
			yield(nil, err)
			return
		}
		t, err := f.Agent.GetTask(ctx, req)
		if err != nil {
			failures++
			asked := askedToWait(err)
			if failures == maxPollFailures || !transient(ctx, err) || asked > longestWait {
				yield(nil, err)
				return
			}
			wait = max(min(2*max(wait, f.poll()), max(maxPollPause, f.poll())), asked)
			if f.Lost != nil {
				f.Lost(req.ID, err)
			}
			f.logger().Debug("a poll failed", "task", req.ID, "err", err, "pause", wait)
			continue
		}
		if failures > 0 && f.Lost != nil {
			f.Lost(req.ID, nil)
		}
		failures, wait = 0, min(2*wait, f.poll())
		changed := !sameProgress(last, t)
		last = t
		if changed && !yield(&a2a.StreamResponse{Task: t}, nil) {
			return
		}
	}
}

// sameProgress reports whether two readings of a task would look the same.
func sameProgress(a, b *a2a.Task) bool {
	if !reflect.DeepEqual(a.Status, b.Status) || len(a.Artifacts) != len(b.Artifacts) {
		return false
	}
	for i := range a.Artifacts {
		if len(a.Artifacts[i].Parts) != len(b.Artifacts[i].Parts) {
			return false
		}
	}
	return true
}

// immediately returns a copy of the request with ReturnImmediately.
func immediately(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	r := *req
	conf := a2a.SendMessageConfiguration{}
	if r.Configuration != nil {
		conf = *r.Configuration
	}
	conf.ReturnImmediately = true
	r.Configuration = &conf
	return &r
}

// noStreams reports whether the agent said that it does not stream. Nothing has
// happened then.
func noStreams(err error) bool {
	e := said(err)
	return e != nil && (e.Code == a2a.CodeUnsupportedOperation || e.Code == a2a.CodeMethodNotFound)
}

// transient reports whether asking again may help.
func transient(ctx context.Context, err error) bool {
	e := said(err) // nil: an error of the network
	return ctx.Err() == nil && (e == nil || e.Code == a2a.CodeUnavailable || e.Code == a2a.CodeRateLimited || e.Code == a2a.CodeInternal)
}
