package openai_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

func TestToolsAreCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := openaitest.Call("id1", "get_weather", `{"city":"Paris"}`)
		first.Pieces = append([]string{openaitest.Text("Let me see.").Pieces[1]}, first.Pieces...)
		fake := openaitest.New(first, openaitest.Text("Sun", " in Paris."))
		w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{&weather{}}})
		var said []string
		var last *a2a.Message
		w.stream("weather?", func(ev *a2a.StreamResponse) {
			if u := ev.StatusUpdate; u != nil {
				said = append(said, u.Status.Message.Text())
				last = u.Status.Message
			}
			if u := ev.ArtifactUpdate; u != nil {
				said = append(said, u.Artifact.Parts[0].Text)
			}
		})
		if d := cmp.Diff([]string{"Let me see.", "calling get_weather", "\n\nSun in Paris.", "14 tokens in, 12 out"}, said); d != "" {
			t.Error(d)
		}
		if got := string(last.Metadata); got != `{"finish_reason":"stop","model":"fake-1","usage":{"prompt_tokens":14,"completion_tokens":12,"total_tokens":26,"requests":2}}` {
			t.Errorf("metadata %s", got)
		}
		if d := cmp.Diff([]string{"user: weather?", "assistant: Let me see.", "tool: sun"}, messages(fake.Requests()[1])); d != "" {
			t.Error(d)
		}
	})
}

// A skill that the caller names is in what the model is told, as the caller's word.
func TestSkillIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.Text("Sun."))
		w := newWorld(t, fake, &openai.Options{System: "Be kind."})
		m := a2a.UserText("please")
		m.MessageID = "m1"
		if err := m.CallSkill("forecast", a2a.JSON(`{"city":"Paris"}`)); err != nil {
			t.Fatal(err)
		}
		w.send(&a2a.SendMessageRequest{Message: m})
		want := []string{"system: Be kind.", `user: I call your skill "forecast" with these arguments, in JSON: {"city":"Paris"}` + "\nIf you have a tool of this name, call it with them.", "user: please"}
		if d := cmp.Diff(want, messages(fake.Requests()[0])); d != "" {
			t.Error(d)
		}
	})
}

func TestWhatTheModelIsToldOfACall(t *testing.T) {
	ok := func(text string) func(context.Context, string) (agent.ToolResult, error) {
		return func(context.Context, string) (agent.ToolResult, error) { return agent.ToolResult{Text: text}, nil }
	}
	fails := func(err error) func(context.Context, string) (agent.ToolResult, error) {
		return func(context.Context, string) (agent.ToolResult, error) { return agent.ToolResult{}, err }
	}
	for name, tt := range map[string]struct {
		tool, args string
		fn         func(context.Context, string) (agent.ToolResult, error)
		want       string
		calls      string
	}{
		"result":       {"get_weather", `{"city":"Paris"}`, ok("rain"), "rain", `{"city":"Paris"}`},
		"no arguments": {"get_weather", "", ok("rain"), "rain", "{}"},
		"no such tool": {"get_time", "{}", nil, "Error: there is no tool of this name", ""},
		"no JSON":      {"get_weather", `{"city":`, nil, "Error: the arguments are not a JSON object", ""},
		"no object":    {"get_weather", `["Paris"]`, nil, "Error: the arguments are not a JSON object", ""},
		"it failed": {"get_weather", "{}", func(context.Context, string) (agent.ToolResult, error) {
			return agent.ToolResult{Text: "no such city", Failed: true}, nil
		}, "Error: no such city", "{}"},
		"a hidden why":  {"get_weather", "{}", fails(errors.New("dial 10.0.0.7")), "Error: the call failed", "{}"},
		"a public why":  {"get_weather", "{}", fails(agent.Public("the server is down", errors.New("dial 10.0.0.7"))), "Error: the server is down", "{}"},
		"not UTF-8":     {"get_weather", "{}", ok("a\xffb"), "a\ufffdb", "{}"},
		"a large one":   {"get_weather", "{}", ok(strings.Repeat("x", 200<<10)), strings.Repeat("x", 128<<10) + "\n[cut off: the result is too long]", "{}"},
		"a strange one": {"", "{}", nil, "Error: there is no tool of this name", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Call("id1", tt.tool, tt.args), openaitest.Text("fine"))
				box := &weather{fn: tt.fn}
				w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{box}})
				want(t, w.say("weather?"), a2a.TaskStateCompleted, "fine", "")
				got := messages(fake.Requests()[1])
				if got[2] != "tool: "+tt.want || box.made() != tt.calls {
					t.Errorf("told %.100q after the calls %s", got[2], box.made())
				}
				if tt.fn != nil && strings.Contains(fmt.Sprint(got), "10.0.0.7") {
					t.Error("an address got out")
				}
			})
		})
	}
}

func TestCallsAreBounded(t *testing.T) {
	call := func(id string) openaitest.Answer { return openaitest.Call(id, "get_weather", "{}") }
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(call("a"), call("b"), openaitest.Text("enough"))
		w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{&weather{}}, MaxToolCalls: 2})
		want(t, w.say("weather?"), a2a.TaskStateCompleted, "enough", "")
		for i, r := range fake.Requests() {
			if choice := r.Body["tool_choice"]; (choice == "none") != (i == 2) {
				t.Errorf("request %d: %v", i, choice)
			}
		}
		fake.Add(call("a"), call("b"), call("c"))
		want(t, w.say("weather?"), a2a.TaskStateFailed, "", "did not stop calling tools")

		box := &weather{}
		both := openaitest.Fixture("openai-tools") // two calls at once
		fake = openaitest.New(both, openaitest.Text("one"))
		w = newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{box}, MaxToolCalls: 1})
		want(t, w.say("weather?"), a2a.TaskStateCompleted, "one", "")
		if got := messages(fake.Requests()[1]); box.made() != `{"city":"Paris"}` || !strings.Contains(got[3], "too many calls") {
			t.Errorf("got %q after %s", got, box.made())
		}
	})
}

type boxOf []agent.Tool

func (b boxOf) Tools(context.Context) ([]agent.Tool, error) {
	if b == nil {
		return nil, errors.New("dial 10.0.0.7")
	}
	return b, nil
}

func (b boxOf) Call(_ context.Context, name string, _ a2a.JSON) (agent.ToolResult, error) {
	return agent.ToolResult{Text: "this is " + name}, nil
}

// Names are as the API has them, and each tool is found by its own.
func TestNamesOfTools(t *testing.T) {
	long := strings.Repeat("x", 100)
	one := boxOf{{Name: "files.read"}, {Name: "files/read"}, {Name: long}, {Name: "bad", Parameters: a2a.JSON("{")}}
	two := boxOf{{Name: "files.read", Description: "Another one."}, {Name: long + "y"}, {Name: ""}}
	for called, tool := range map[string]string{
		"files_read": "files.read", "files_read_2": "files/read", "files_read_3": "files.read",
		long[:64]: long, long[:62] + "_2": long + "y", "tool": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := openaitest.New(openaitest.Call("a", called, "{}"))
			w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{one, two}})
			want(t, w.say("do"), a2a.TaskStateCompleted, "this is "+tool, "")
			if n := len(fake.Requests()[0].Body["tools"].([]any)); n != 6 {
				t.Errorf("%d tools", n)
			}
		})
	}
}

func TestToolsThatAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, openaitest.New(), &openai.Options{Tools: []openai.Toolbox{boxOf(nil)}})
		task := w.say("do")
		want(t, task, a2a.TaskStateFailed, "", "tools of this agent cannot be reached")
		if strings.Contains(string(task.AppendJSON(nil)), "10.0.0.7") {
			t.Error("an address got out")
		}
	})
}

func TestTooManyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := boxOf{}
		for i := range 200 {
			box = append(box, agent.Tool{Name: fmt.Sprint("t", i)})
		}
		w := newWorld(t, openaitest.New(), &openai.Options{Tools: []openai.Toolbox{box}})
		want(t, w.say("do"), a2a.TaskStateCompleted, "do", "") // the fake takes 128
	})
}
