package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/queue"
)

// Tools are the tools of a server, for an agent that drives a model: an openai.Toolbox.
// A tool that asks a question is told that it was cancelled.
type Tools struct {
	server Server
	opts   *Options
	http   *http.Client // of sessions over HTTP
	log    *slog.Logger
	queue  *queue.Queue
	ctx    context.Context // ends when Close is called
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // one for each session
	// patience is drainPatience, pause is retryPause and farewell is the constant
	// farewell, except in tests.
	patience, pause time.Duration
	farewell        time.Duration
	last            context.Context // ends the requests that go on after farewell
	hangUp          context.CancelFunc

	listing chan struct{} // capacity 1: held while listing

	mu       sync.Mutex // protects the fields below
	closed   bool
	sessions []*session
	tokens   uint64 // progress tokens handed out
	list     *list
	old      bool // the list may have changed
}

// list is a server's description of itself and its tools.
type list struct {
	tools []*mcp.Tool
	about *mcp.InitializeResult
}

const (
	maxTools = 1000 // of a server
	maxIdle  = 4    // idle sessions that are kept

	// farewell is how long requests to a server may go on after Close; one of them ends
	// the session.
	farewell = 8 * time.Second
)

var (
	errClosed   = errors.New("mcp: closed")
	errNoServer = errors.New("mcp: a server needs either a command or a URL")
	errTooMany  = fmt.Errorf("mcp: the server has more than %d tools, or lists them in as many pages", maxTools)
	errLongList = errors.New("mcp: the server's list of tools has more bytes than one message may have")
)

// NewTools returns the tools of a server. The error says what is wrong with s. NewTools
// does not contact the server; the first use does.
func NewTools(s Server, o *Options) (*Tools, error) {
	if (len(s.Command) > 0) == (s.URL != "") || len(s.Command) > 0 && s.Command[0] == "" {
		return nil, errNoServer
	}
	o = cmp.Or(o, new(Options))
	s.Command, s.Env = slices.Clone(s.Command), slices.Clone(s.Env)
	t := &Tools{farewell: farewell, server: s, opts: o, log: o.logger(), queue: queue.New(o.concurrency()), listing: make(chan struct{}, 1), patience: drainPatience, pause: retryPause}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.last, t.hangUp = context.WithCancel(context.Background())
	if s.URL != "" {
		at := a2a.WebURL(s.URL)
		if at == nil {
			return nil, errors.New("mcp: the server's URL is not one of http or https")
		}
		if at.User != nil {
			return nil, errors.New("mcp: the server's URL holds credentials: give them as a header")
		}
		t.http = httpClient(t.last, &s, at, o)
	}
	return t, nil
}

// Close ends all sessions and returns when their goroutines have ended. Calls under way
// fail.
func (t *Tools) Close() error {
	t.mu.Lock()
	t.closed = true
	open := slices.Clone(t.sessions)
	t.mu.Unlock()
	t.cancel(errClosed)
	for _, s := range open {
		t.work.Go(s.close)
	}
	// A server that accepts requests without answering must not hold up Close.
	end := time.AfterFunc(t.farewell, t.hangUp)
	t.work.Wait()
	end.Stop()
	t.hangUp()
	if t.http != nil {
		t.http.CloseIdleConnections()
	}
	return nil
}

// take returns a session for a call. If the number of sessions is limited, the caller
// has called leave for its earlier ones.
func (t *Tools) take(ctx context.Context) (*session, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, errClosed
	}
	var best *session
	live, now := 0, time.Now()
	for _, s := range t.sessions {
		if s.retired {
			continue
		}
		live++
		if best == nil || s.loadAt(now) < best.loadAt(now) {
			best = s
		}
	}
	if best == nil || best.loadAt(now) > 0 && live < t.opts.sessions(&t.server) {
		best = &session{tools: t, ready: make(chan struct{}), calls: map[string]*call{}}
		t.sessions = append(t.sessions, best)
		t.work.Go(best.open)
	}
	best.busy++
	t.mu.Unlock()
	select {
	case <-best.ready:
	case <-ctx.Done():
		t.leave(best)
		return nil, &connectError{context.Cause(ctx)}
	}
	if best.err != nil {
		t.leave(best)
		return nil, &connectError{best.err}
	}
	return best, nil
}

// loadAt returns the load of a session. Tools.mu is held.
func (s *session) loadAt(now time.Time) int {
	if now.Before(s.orphans) {
		return s.busy + 1
	}
	return s.busy
}

func (t *Tools) leave(s *session) {
	t.mu.Lock()
	s.busy--
	idle := 0
	for _, other := range t.sessions {
		if other.busy == 0 && !other.retired {
			idle++
		}
	}
	if idle > maxIdle {
		s.retired = true
	}
	if s.retired && s.busy == 0 && !t.closed {
		t.work.Go(s.close) // before Close can wait
	}
	t.mu.Unlock()
}

// retire keeps further calls away from a session.
func (t *Tools) retire(s *session) {
	t.mu.Lock()
	s.retired = true
	t.mu.Unlock()
}

// drop removes a session that has ended.
func (t *Tools) drop(s *session) {
	t.mu.Lock()
	s.retired = true
	t.sessions = slices.DeleteFunc(t.sessions, func(other *session) bool { return other == s })
	t.mu.Unlock()
}

// stale makes the next use of the list fetch it again.
func (t *Tools) stale() {
	t.mu.Lock()
	t.old = true
	t.mu.Unlock()
}

// Refresh asks the server for its tools. Without it they are listed at first use, and
// again after the server said that they changed.
func (t *Tools) Refresh(ctx context.Context) error {
	t.stale()
	_, err := t.listed(ctx, true)
	return err
}

// listed returns the list. If it may have changed and cannot be fetched, listed returns
// the old one, unless fresh is true.
func (t *Tools) listed(ctx context.Context, fresh bool) (*list, error) {
	select {
	case t.listing <- struct{}{}:
		defer func() { <-t.listing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	have, old := t.list, t.old
	t.old = false // later changes count again
	t.mu.Unlock()
	if have != nil && !old {
		return have, nil
	}
	got, err := t.fetch(ctx)
	if err != nil {
		t.stale()
		if have != nil && !fresh {
			t.log.Warn("the tools of an MCP server cannot be listed again", "error", err)
			return have, nil
		}
		return nil, err
	}
	t.mu.Lock()
	t.list = got
	t.mu.Unlock()
	return got, nil
}

func (t *Tools) fetch(ctx context.Context) (*list, error) {
	s, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	defer t.leave(s)
	ctx, cancel := context.WithTimeout(ctx, t.opts.connectTimeout())
	defer cancel()
	got := &list{about: s.cs.InitializeResult()}
	only, names := t.opts.Tools, map[string]bool{}
	err = safely(func() error {
		n, size := 0, 0
		for p, page := new(mcp.ListToolsParams), 1; ; page++ {
			res, err := s.cs.ListTools(ctx, p)
			if err != nil {
				return err
			}
			doc, err := json.Marshal(res)
			if err != nil {
				return err
			}
			n, size = n+len(res.Tools), size+len(doc)
			switch {
			case n > maxTools || page > maxTools:
				return errTooMany
			case size > t.opts.maxMessage():
				return errLongList // this package and the session both keep the pages
			}
			for _, tool := range res.Tools {
				if tool != nil && !names[tool.Name] && (len(only) == 0 || slices.Contains(only, tool.Name)) {
					names[tool.Name] = true
					got.tools = append(got.tools, tool)
				}
			}
			if res.NextCursor == "" {
				return nil
			}
			p.Cursor = res.NextCursor
		}
	})
	if errors.Is(err, errTooMany) || errors.Is(err, errLongList) {
		t.retire(s) // its copy of the list is freed with it
	}
	if err != nil {
		return nil, err
	}
	for _, name := range only {
		if !names[name] {
			t.log.Warn("an MCP server has no such tool", "tool", name)
		}
	}
	return got, nil
}

// Tools lists the tools.
func (t *Tools) Tools(ctx context.Context) ([]agent.Tool, error) {
	l, err := t.listed(ctx, false)
	if err != nil {
		return nil, t.public(ctx, err)
	}
	tools := make([]agent.Tool, len(l.tools))
	for i, tool := range l.tools {
		parameters, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return nil, err
		}
		tools[i] = agent.Tool{Name: tool.Name, Description: describe(tool), Parameters: parameters, Once: once(tool)}
	}
	return tools, nil
}

// Call calls a tool. A failure that the tool reports is a result.
func (t *Tools) Call(ctx context.Context, name string, args a2a.JSON) (agent.ToolResult, error) {
	l, err := t.listed(ctx, false)
	switch {
	case err != nil && ctx.Err() != nil:
		return agent.ToolResult{}, &connectError{context.Cause(ctx)}
	case err != nil:
		return agent.ToolResult{}, t.public(ctx, err)
	}
	tool := find(l.tools, name)
	if tool == nil {
		return agent.ToolResult{Text: "there is no tool " + strconv.Quote(cut(name, 100)), Failed: true}, nil
	}
	if err := t.queue.Enter(ctx); err != nil {
		return agent.ToolResult{}, &connectError{err}
	}
	defer t.queue.Leave()
	res, err := t.call(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(orObject(args))}, once(tool), nil)
	if err != nil {
		return agent.ToolResult{}, t.public(ctx, err)
	}
	if res.NeedsInput() {
		return agent.ToolResult{Text: "the tool asked a question, which nobody could answer", Failed: true}, nil
	}
	return agent.ToolResult{Text: textOf(res), Failed: res.IsError}, nil
}

// once reports whether a call of the tool must not be repeated. A tool without any
// annotations does not forbid it; if there are annotations, a missing hint is false.
func once(tool *mcp.Tool) bool {
	a := tool.Annotations
	return a != nil && !a.ReadOnlyHint && !a.IdempotentHint
}

func describe(tool *mcp.Tool) string {
	if tool.Description != "" {
		return tool.Description
	}
	return title(tool)
}

func title(tool *mcp.Tool) string {
	switch {
	case tool.Title != "":
		return tool.Title
	case tool.Annotations != nil && tool.Annotations.Title != "":
		return tool.Annotations.Title
	}
	return tool.Name
}

func orObject(args []byte) []byte {
	if s := strings.TrimSpace(string(args)); s == "" || s == "null" {
		return []byte("{}")
	}
	return args
}
