package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"reflect"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// follower turns whatever an agent offers into one sequence of events that
// ends where waiting ends: at a terminal or interrupted state, or a direct
// message. It streams where it can and polls where it must (a2a-cli §9.3).
type follower struct {
	svc       a2a.Service
	streaming bool          // the card offers streams
	interval  time.Duration // between polls, at most
	log       *slog.Logger
}

const (
	// firstPoll is the first pause between polls, which then doubles up to the
	// interval: most tasks are quick.
	firstPoll = 250 * time.Millisecond
	// maxPollPause caps the pauses after failures.
	maxPollPause = 30 * time.Second
	// maxPollFailures is how many polls in a row may fail.
	maxPollFailures = 5
)

// stops reports whether waiting ends in this state. Unspecified does not: it
// says nothing (a2a-cli §9.1).
func stops(s a2a.TaskState) bool { return s.Terminal() || s.Interrupted() }

// events is the sequence of a task; the yielded values may be shared.
type events = iter.Seq2[*a2a.StreamResponse, error]

// send delivers the message once and follows what becomes of it.
func (f *follower) send(ctx context.Context, req *a2a.SendMessageRequest) events {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if f.streaming {
			id, over, err := relay(f.svc.SendStreamingMessage(ctx, req), req.Message.TaskID != "", yield)
			switch {
			case over:
				return
			case id != "":
				f.recover(ctx, id, err, yield)
				return
			case !refused(err):
				// Whether the message arrived is not known. Sending it again
				// could do the work twice.
				if err == nil {
					err = a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent ended the stream before its first event")
				}
				yield(nil, err)
				return
			}
			f.log.Debug("the agent does not stream after all: sending without", "err", err)
		}
		resp, err := f.svc.SendMessage(ctx, immediately(req))
		switch {
		case err != nil:
			yield(nil, err)
		case resp.Task == nil:
			yield(&a2a.StreamResponse{Message: resp.Message}, nil)
		case yield(&a2a.StreamResponse{Task: resp.Task}, nil):
			f.poll(ctx, resp.Task, &a2a.GetTaskRequest{ID: resp.Task.ID}, yield)
		}
	}
}

// subscribe follows a task that is there already.
func (f *follower) subscribe(ctx context.Context, id string) events {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		seen, over, err := relay(f.svc.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}), false, yield)
		switch {
		case over:
		case seen == "" && err != nil:
			yield(nil, err)
		default:
			f.recover(ctx, id, err, yield)
		}
	}
}

// watch polls a task that is there already (task get --wait). It yields the
// task as it is first, and then when it has changed.
func (f *follower) watch(ctx context.Context, req *a2a.GetTaskRequest) events {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		t, err := f.svc.GetTask(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if yield(&a2a.StreamResponse{Task: t}, nil) {
			f.poll(ctx, t, req, yield)
		}
	}
}

// relay yields a stream's elements. It returns the task's id as far as it is
// known, whether that was all, and what broke the stream otherwise; nil if it
// just ended. A stream that answers a task's question may open with the task as
// it was when it asked, which ends nothing.
func relay(stream events, answers bool, yield func(*a2a.StreamResponse, error) bool) (id string, over bool, err error) {
	for r, err := range stream {
		if err != nil {
			return id, false, err
		}
		asked := answers && id == "" && r.Task != nil && r.State().Interrupted()
		if !yield(r, nil) || r.Message != nil || stops(r.State()) && !asked {
			return id, true, nil
		}
		if id == "" {
			id = r.TaskID()
		}
	}
	return id, false, nil
}

// recover goes on by polling where a stream was lost. What the agent said to
// end it counts.
func (f *follower) recover(ctx context.Context, id string, lost error, yield func(*a2a.StreamResponse, error) bool) {
	if lost != nil && !transient(ctx, lost) {
		yield(nil, lost)
		return
	}
	f.log.Debug("the stream is lost: polling", "task", id, "err", lost)
	f.poll(ctx, &a2a.Task{ID: id}, &a2a.GetTaskRequest{ID: id}, yield)
}

// poll asks for the task again and again until waiting ends.
func (f *follower) poll(ctx context.Context, last *a2a.Task, req *a2a.GetTaskRequest, yield func(*a2a.StreamResponse, error) bool) {
	pause, failures := min(firstPoll, f.interval), 0
	for !stops(last.Status.State) {
		if err := sleep(ctx, pause); err != nil {
			yield(nil, err)
			return
		}
		t, err := f.svc.GetTask(ctx, req)
		if err != nil {
			failures++
			if failures == maxPollFailures || !transient(ctx, err) {
				yield(nil, err)
				return
			}
			pause = min(2*max(pause, f.interval), max(maxPollPause, f.interval))
			f.log.Debug("a poll failed", "task", req.ID, "err", err, "pause", pause)
			continue
		}
		failures, pause = 0, min(2*pause, f.interval)
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

// immediately returns the request with ReturnImmediately, leaving req alone.
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

// refused reports whether the agent said that it does not stream, so that
// nothing has happened yet.
func refused(err error) bool {
	var e *a2a.Error
	return errors.As(err, &e) && (e.Code == a2a.CodeUnsupportedOperation || e.Code == a2a.CodeMethodNotFound)
}

// transient reports whether asking again may help.
func transient(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var e *a2a.Error
	if !errors.As(err, &e) {
		return true // of the network
	}
	switch e.Code {
	case a2a.CodeUnavailable, a2a.CodeRateLimited, a2a.CodeInternal:
		return true
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
