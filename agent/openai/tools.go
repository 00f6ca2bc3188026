package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// tools are the tools that the model may call in a turn, by the names given to it.
type tools struct {
	list []tool
	by   map[string]source
}

// source is a tool and the toolbox that it comes from.
type source struct {
	box Toolbox
	agent.Tool
}

// toolbox lists the tools of all toolboxes.
func (a *Agent) toolbox(ctx context.Context) (tools, error) {
	ts := tools{by: map[string]source{}}
	for _, box := range a.opts.Tools {
		list, err := box.Tools(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return ts, context.Cause(ctx)
			}
			return ts, agent.Public("the tools of this agent cannot be reached; try again later", err)
		}
		for _, t := range list {
			if len(ts.list) == maxTools {
				a.opts.logger().Warn("some tools are not offered to the model: there are too many", "most", maxTools)
				return ts, nil
			}
			if err := ts.add(box, t); err != nil {
				a.opts.logger().Warn("a tool is left out", "tool", short(t.Name, 100), "error", err)
			}
		}
	}
	return ts, nil
}

func (ts *tools) add(box Toolbox, t agent.Tool) error {
	params := t.Parameters
	if len(params) == 0 {
		params = a2a.JSON(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(params) {
		return errors.New("its parameters are not JSON")
	}
	one := tool{Type: "function"}
	one.Function.Name = ts.free(known(t.Name))
	one.Function.Description = t.Description
	one.Function.Parameters = params
	ts.by[one.Function.Name] = source{box, t}
	ts.list = append(ts.list, one)
	return nil
}

// maxName is the API's limit on the length of a function's name.
const maxName = 64

// known turns a tool's name into one that the API accepts: letters, digits, _ and -.
func known(name string) string {
	name = strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, name)
	name = cmp.Or(name, "tool")
	return name[:min(len(name), maxName)]
}

// free returns name, with a number appended if a tool has it already.
func (ts *tools) free(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, taken := ts.by[free]; !taken {
			return free
		}
		number := fmt.Sprintf("_%d", n)
		free = name[:min(len(name), maxName-len(number))] + number
	}
}

// mark notes which calls must not be repeated, before they are recorded.
func (ts *tools) mark(ans *answer) {
	for i := range ans.Calls {
		c := &ans.Calls[i]
		c.Once = ts.by[c.Function.Name].Once
	}
}

// calls makes the calls of an answer, one after another, and adds their results to the
// messages. made counts the calls of the turn.
func (r *run) calls(ctx context.Context, ans *answer, made *int) error {
	said := message{Role: "assistant", Reasoning: ans.Reasoning}
	if ans.Text != "" {
		said.Content = ans.Text
	}
	for _, c := range ans.Calls {
		if !isObject(c.Function.Arguments) {
			c.Function.Arguments = "{}" // some endpoints parse them; the result says what is wrong
		}
		said.ToolCalls = append(said.ToolCalls, c.toolCall)
	}
	r.messages = append(r.messages, said)
	for _, c := range ans.Calls {
		res := agent.ToolResult{Failed: true, Text: "not called: there have been too many calls; answer with what you have"}
		if *made < r.a.opts.maxToolCalls() {
			*made++
			var err error
			if res, err = r.call(ctx, c); err != nil {
				return err
			}
		}
		text := res.Text
		if res.Failed {
			text = "Error: " + text
		}
		r.messages = append(r.messages, message{Role: "tool", ToolCallID: c.ID, Content: text})
	}
	return nil
}

// called is the record of a call.
type called struct {
	agent.ToolResult
	Unsent bool `json:"unsent,omitempty"` // the server stopped before the call reached the tool
}

// unsent is an error that may report an unsent call: see Toolbox.
type unsent interface {
	error
	Unsent() bool
}

// call makes one call, or takes its result from the record.
func (r *run) call(ctx context.Context, c call) (agent.ToolResult, error) {
	for {
		if ctx.Err() != nil {
			return agent.ToolResult{}, context.Cause(ctx) // no new call once ctx has ended
		}
		begun := r.t.Attempt()
		if c.Once {
			var err error
			begun, err = agent.Step(ctx, r.t, "begin", func(context.Context) (int, error) { return r.t.Attempt(), nil })
			if err == nil {
				err = r.t.Sync(ctx) // before the tool is called
			}
			if err != nil {
				return agent.ToolResult{}, err
			}
		}
		res, err := agent.Step(ctx, r.t, "call", func(ctx context.Context) (called, error) {
			if begun != r.t.Attempt() {
				return failed("the call was interrupted, and nobody knows whether it took effect; it was not made again"), nil
			}
			return r.make(ctx, c)
		})
		if err != nil || !res.Unsent {
			return res.ToolResult, err
		}
	}
}

func isObject(doc string) bool {
	return strings.HasPrefix(strings.TrimSpace(doc), "{") && json.Valid([]byte(doc))
}

func failed(text string) called {
	return called{ToolResult: agent.ToolResult{Failed: true, Text: text}}
}

func (r *run) make(ctx context.Context, c call) (called, error) {
	name := c.Function.Name
	tool, known := r.tools.by[name]
	if !known {
		return failed("there is no tool of this name"), nil
	}
	if !isObject(c.Function.Arguments) {
		return failed("the arguments are not a JSON object"), nil
	}
	if err := r.t.Status("calling " + name); err != nil {
		return called{}, err
	}
	telemetry.Calls(ctx, tool.Name)
	res, err := callTool(ctx, tool, c)
	public, answered := errors.AsType[*agent.PublicError](err)
	if err != nil && !answered && ctx.Err() != nil {
		if e, ok := errors.AsType[unsent](err); ok && e.Unsent() {
			return called{Unsent: true}, nil
		}
		return called{}, context.Cause(ctx) // not recorded: the outcome is unknown
	}
	if err != nil {
		r.t.Log(r.a.opts.logger()).Warn("a tool's call failed", "tool", tool.Name, "error", r.a.without(err.Error()))
		if answered {
			return failed(public.Reason), nil
		}
		return failed("the call failed"), nil
	}
	res.Text = strings.ToValidUTF8(res.Text, "\ufffd")
	if len(res.Text) > maxResult {
		res.Text = strings.ToValidUTF8(res.Text[:maxResult], "") + "\n[cut off: the result is too long]"
	}
	return called{ToolResult: res}, nil
}
