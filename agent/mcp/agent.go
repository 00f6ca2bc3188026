package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
)

// Agent is an agent whose skills are the tools of an MCP server.
type Agent struct{ tools *Tools }

// New returns an agent with a server's tools. The error says what is wrong with s. New
// does not contact the server; the first use does.
func New(s Server, o *Options) (*Agent, error) {
	t, err := NewTools(s, o)
	if err != nil {
		return nil, err
	}
	return &Agent{t}, nil
}

// Close ends all sessions and returns when their goroutines have ended. Call it after
// the last run.
func (a *Agent) Close() error { return a.tools.Close() }

// Refresh is Tools.Refresh. The result of Card may differ afterwards.
func (a *Agent) Refresh(ctx context.Context) error { return a.tools.Refresh(ctx) }

// Kind is for agent.KindOf.
func (a *Agent) Kind() string { return "mcp" }

// Run calls the tool that the message names.
func (a *Agent) Run(ctx context.Context, t *agent.Turn) error {
	l, err := a.tools.listed(ctx, false)
	if err != nil {
		return a.tools.public(ctx, err)
	}
	want, problem := choose(l.tools, t.Message(), t.Metadata())
	if problem != "" {
		return t.Reject(problem)
	}
	r := &run{tools: a.tools, turn: t, tool: find(l.tools, want.Tool), args: want.Arguments}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer r.leave()
	res, err := r.rounds(ctx)
	err = a.tools.public(ctx, err)
	public, said := errors.AsType[*agent.PublicError](err)
	switch {
	case said && context.Cause(ctx) == agent.ErrDraining: // an error would run the turn again
		return t.Fail(public.Reason)
	case err != nil:
		return err
	}
	return r.finish(ctx, res)
}

// run is one turn. It belongs to the goroutine of Run.
type run struct {
	tools *Tools
	turn  *agent.Turn
	tool  *mcp.Tool
	args  json.RawMessage
	place bool // it holds a slot of the queue
}

func (r *run) enter(ctx context.Context) error {
	err := r.tools.queue.Enter(ctx)
	r.place = err == nil
	return err
}

func (r *run) leave() {
	if r.place {
		r.place = false
		r.tools.queue.Leave()
	}
}

// maxRounds is how often a tool may answer with questions.
const maxRounds = 20

// round is the record of a call that was answered with questions.
type round struct {
	Requests mcp.InputRequestMap `json:"requests"`
	State    string              `json:"state,omitempty"`
	Anew     bool                `json:"anew,omitempty"` // the call is made again unchanged
}

// rounds calls the tool until it has a result. Servers of 2026-07-28 and later end a
// call with questions, and expect the call again with the answers and a state. The
// questions are recorded, so that only the outcome of the latest call can be in doubt.
func (r *run) rounds(ctx context.Context) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: r.tool.Name, Arguments: r.args, Meta: r.meta()}
	never, busy := once(r.tool), 0
	for n := 1; n <= maxRounds; n++ {
		// If this step is recorded, an earlier run may have made the call.
		fresh := false
		if _, err := agent.Step(ctx, r.turn, fmt.Sprintf("call %d", n), func(context.Context) (string, error) {
			fresh = true
			return r.tool.Name, nil
		}); err != nil {
			return nil, err
		}
		if never {
			if err := r.turn.Sync(ctx); err != nil {
				return nil, err
			}
		}
		var final *mcp.CallToolResult
		asked, err := agent.Step(ctx, r.turn, fmt.Sprintf("asked %d", n), func(ctx context.Context) (round, error) {
			if never && !fresh {
				return round{}, errUnknown
			}
			res, err := r.tools.call(ctx, p, never, r)
			first := goFirst(err)
			switch {
			case len(first) > 0:
				return round{Requests: first, Anew: true}, nil
			case never && ctx.Err() != nil && unsent(err): // as if the server had been busy: a later run makes the call
				return round{State: p.RequestState}, nil
			case err != nil:
				return round{}, err
			}
			if !res.NeedsInput() {
				final = res
				return round{}, errFinal
			}
			return round{Requests: res.InputRequests, State: res.RequestState}, nil
		})
		switch {
		case final != nil:
			return final, nil
		case err != nil:
			return nil, err
		}
		p.RequestState = asked.State
		if len(asked.Requests) == 0 { // the server is busy
			busy++
			if err := wake.Pause(ctx, time.Duration(busy)*time.Second); err != nil {
				return nil, err
			}
			continue
		}
		if p.InputResponses, err = r.respond(ctx, asked.Requests); err != nil {
			return nil, err
		}
		if asked.Anew {
			for _, a := range p.InputResponses {
				if a, ok := a.(*mcp.ElicitResult); !ok || a.Action != "accept" {
					return nil, agent.Public("the tool cannot be called without that", nil)
				}
			}
			p.InputResponses = nil
		}
	}
	return nil, errAsked
}

// goFirst returns the addresses that the client must visit before the call can be made,
// if that is the call's error. The tool has then done nothing.
func goFirst(err error) mcp.InputRequestMap {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code != mcp.CodeURLElicitationRequired || len(rpc.Data) > maxQuestion {
		return nil
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Elicitations) > maxRounds {
		return nil
	}
	all := mcp.InputRequestMap{}
	for i, e := range data.Elicitations {
		if e == nil || e.URL == "" {
			return nil
		}
		all[fmt.Sprintf("%02d", i)] = e
	}
	return all
}

// errFinal keeps a result from being recorded.
var errFinal = errors.New("mcp: the result is there")

// meta identifies the task and the attempt of the call, so that a server can recognize
// a repeated call.
func (r *run) meta() mcp.Meta {
	return mcp.Meta{metaTask: r.turn.Task().ID, metaAttempt: r.turn.Attempt()}
}

// Members of a call's _meta.
const (
	metaTask    = "parley-a2a/taskId"
	metaAttempt = "parley-a2a/attempt"
)

// moved turns progress into a status message.
func (r *run) moved(p *mcp.ProgressNotificationParams) error {
	text := cut(p.Message, maxReason)
	done := fmt.Sprintf("%.6g", p.Progress)
	if p.Total > 0 {
		done = fmt.Sprintf("%.6g of %.6g", p.Progress, p.Total)
	}
	text = cmp.Or(text, done)
	about, err := json.Marshal(map[string]any{"progress": finite(p.Progress), "total": finite(p.Total)})
	if err != nil {
		return err
	}
	return r.turn.StatusMessage(&a2a.Message{
		Parts:    []*a2a.Part{a2a.TextPart(text)},
		Metadata: a2a.JSON(about),
	})
}

func finite(f float64) float64 {
	if f != f || f > 1e300 || f < -1e300 {
		return 0
	}
	return f
}

// finish ends the task with a result.
func (r *run) finish(ctx context.Context, res *mcp.CallToolResult) error {
	if res.IsError {
		reason := cmp.Or(cut(strings.TrimSpace(textOf(res)), maxReason), "the tool reported an error")
		return r.turn.Fail(reason)
	}
	parts := r.parts(ctx, res)
	if len(parts) == 0 {
		return nil
	}
	w := r.turn.Artifact("result")
	w.Description = cut(title(r.tool), 200)
	return w.Last(parts...)
}
