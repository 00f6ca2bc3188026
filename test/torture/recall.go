package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// settled lists all tasks, once none is at work any more.
func (w *world) settled(ctx context.Context, cl *a2aclient.Client) ([]*a2a.Task, error) {
	limit := time.Now().Add(quietWithin)
	for {
		busy := 0
		for _, s := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking} {
			res, err := cl.ListTasks(ctx, &a2a.ListTasksRequest{Status: s, PageSize: new(int32(1))})
			if err != nil {
				return nil, fmt.Errorf("list what is %v: %w", s, err)
			}
			busy += int(res.TotalSize)
		}
		if busy == 0 || time.Now().After(limit) {
			return list(ctx, cl) // what is still at work shows in the audit
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func list(ctx context.Context, cl *a2aclient.Client) ([]*a2a.Task, error) {
	var all []*a2a.Task
	for token := ""; ; {
		req := &a2a.ListTasksRequest{PageSize: new(int32(100)), PageToken: token, IncludeArtifacts: true}
		res, err := cl.ListTasks(ctx, req)
		if err != nil {
			// The first list of several pages writes a secret, and a store that
			// is made to fail may do so even now. Not twice, though.
			res, err = cl.ListTasks(ctx, req)
		}
		if err != nil {
			return nil, fmt.Errorf("list all tasks: %w", err)
		}
		all = append(all, res.Tasks...)
		if token = res.NextPageToken; token == "" {
			if int(res.TotalSize) != len(all) {
				return nil, fmt.Errorf("the list of tasks has %d of %d", len(all), res.TotalSize)
			}
			return all, nil
		}
	}
}

// recall reads a task's history: the stream behind its first entry.
func recall(ctx context.Context, cl *a2aclient.Client, listed *a2a.Task) (*history, error) {
	task, err := cl.GetTask(ctx, &a2a.GetTaskRequest{ID: listed.ID})
	if err != nil {
		return nil, fmt.Errorf("get task %s: %w", listed.ID, err)
	}
	h := &history{task: task}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for el, err := range cl.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID, After: 1}) {
		if err != nil {
			return nil, fmt.Errorf("replay task %s: %w", task.ID, err)
		}
		switch {
		case el.Task != nil:
			h.first = el.Task
		case el.MessageUpdate != nil:
			h.said = append(h.said, el)
		default:
			h.events = append(h.events, el)
		}
		if h.changes() >= task.Generation-1 && !task.Status.State.Terminal() {
			break // it waits, and so would we
		}
	}
	if h.first == nil {
		return nil, fmt.Errorf("replay task %s: it does not begin with the task", task.ID)
	}
	if task.Status.State.Terminal() {
		h.goesOn, err = beyond(ctx, cl, task.ID, h.last())
	}
	return h, err
}

// beyond reports whether a task's log has a position behind its last event. No
// stream would show it where that is an end.
func beyond(ctx context.Context, cl *a2aclient.Client, id string, last int64) (bool, error) {
	for _, err := range cl.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id, After: last + 1}) {
		if errors.Is(err, a2a.ErrInvalidParams) {
			return false, nil // there is no such position
		}
		if err != nil {
			return false, fmt.Errorf("look behind the end of task %s: %w", id, err)
		}
		break
	}
	return true, nil
}

// String is the history as one reads it.
func (h *history) String() string {
	var b strings.Builder
	for _, el := range h.events {
		switch {
		case el.StatusUpdate != nil:
			fmt.Fprintf(&b, "\t%d %v %q\n", el.Seq, el.State(), el.StatusUpdate.Status.Message.Text())
		case el.ArtifactUpdate != nil:
			u := el.ArtifactUpdate
			fmt.Fprintf(&b, "\t%d artifact %s append=%v last=%v", el.Seq, u.Artifact.Name, u.Append, u.LastChunk)
			for _, p := range u.Artifact.Parts {
				fmt.Fprintf(&b, " %q", p.Text)
			}
			b.WriteByte('\n')
		}
	}
	for _, m := range h.task.History {
		fmt.Fprintf(&b, "\tmessage %s %v %q\n", m.MessageID, m.Role, m.Text())
	}
	return b.String()
}
