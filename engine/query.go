package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// GetTask implements a2a.Service (specification §3.1.3).
func (s *service) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	e := s.e
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll)
	if err != nil {
		return nil, err
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	key, err := e.visible(ctx, a, req.ID)
	if err != nil {
		return nil, err
	}
	if req.CurrentGeneration == nil && req.TimelineLength == nil {
		if task, err := e.topics.Peek(ctx, key, req); task != nil || err != nil {
			return task, err
		}
	}
	t := e.topics.Join(key)
	defer e.topics.Leave(t)
	task, last, err := e.topics.LoadAt(ctx, t)
	if err == nil && req.CurrentGeneration != nil {
		task, last, err = e.topics.LongPoll(ctx, t, task, last, *req.CurrentGeneration)
	}
	if err == nil {
		task, err = e.timeline(ctx, key, task, last, req.TimelineLength)
	}
	if err != nil {
		return nil, err
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// defaultPageSize is the page size of a list without pageSize (specification §3.1.4).
const defaultPageSize = 50

// ListTasks implements a2a.Service (specification §3.1.4).
func (s *service) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	e := s.e
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll)
	if err != nil {
		return nil, err
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	size := int32(defaultPageSize)
	if req.PageSize != nil {
		size = *req.PageSize
	}
	q := store.Query{
		Tenant:   a.scope.Tenant,
		Owner:    a.scope.Owner,
		AnyOwner: a.shared,
		Context:  req.ContextID,
		State:    int32(req.Status),
		Since:    req.StatusTimestampAfter,
		Limit:    int(size),
		Body:     req.IncludeArtifacts,
	}
	if q.Before, err = e.parseToken(ctx, &q, req.PageToken); err != nil {
		return nil, err
	}
	page, err := e.read.Page(ctx, &q)
	if err != nil {
		return nil, stored.Failed(err, "list tasks")
	}
	resp := &a2a.ListTasksResponse{Tasks: make([]*a2a.Task, 0, len(page.Records)), PageSize: size, TotalSize: int32(page.Total)}
	bytes := int64(0) // of the tasks, with the content that is stored apart from their records
	for i := range page.Records {
		if bytes > stored.PageBytes {
			page.Records, page.More = page.Records[:i], true
			break
		}
		task, err := e.listed(ctx, &page.Records[i], req)
		if errors.Is(err, a2a.ErrTaskNotFound) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		bytes += int64(task.Size())
		if err := stored.MakeRoom(ctx, bytes); err != nil {
			return nil, err
		}
		resp.Tasks = append(resp.Tasks, task)
	}
	if n := len(page.Records); page.More && n > 0 {
		// Only if needed, because the first use writes: a list of one page can be had from a
		// store that cannot be written.
		last := &page.Records[n-1]
		resp.NextPageToken, err = e.formatToken(ctx, &q, store.Position{Updated: last.Updated, ID: last.ID, Owner: last.Owner})
		if err != nil {
			return nil, err
		}
	}
	return resp, nil
}
