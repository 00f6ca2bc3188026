package openai_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

// weather is a toolbox with one tool.
type weather struct {
	once bool
	fn   func(ctx context.Context, args string) (agent.ToolResult, error) // nil: sun

	mu    sync.Mutex // protects calls
	calls []string
}

func (b *weather) Tools(context.Context) ([]agent.Tool, error) {
	return []agent.Tool{{
		Name: "get_weather", Description: "The weather of a city.", Once: b.once,
		Parameters: a2a.JSON(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}, nil
}

func (b *weather) Call(ctx context.Context, name string, args a2a.JSON) (agent.ToolResult, error) {
	b.mu.Lock()
	b.calls = append(b.calls, strings.ReplaceAll(string(args), " ", ""))
	b.mu.Unlock()
	if name != "get_weather" {
		return agent.ToolResult{}, fmt.Errorf("tool %q", name)
	}
	if b.fn != nil {
		return b.fn(ctx, string(args))
	}
	return agent.ToolResult{Text: "sun"}, nil
}

func (b *weather) made() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, " ")
}

// Each vendor's stream means the same, in one piece and byte by byte.
func TestStreamsOfVendors(t *testing.T) {
	ends := map[string]struct {
		state a2a.TaskState
		text  string
		words string
		asked int // requests
	}{
		"openai-refusal":     {a2a.TaskStateRejected, "", "I'm sorry, I can't help with that.", 1},
		"azure-filter":       {a2a.TaskStateFailed, "First,", "stopped the answer for its content", 1},
		"openrouter-error":   {a2a.TaskStateFailed, "Hello", "the model's endpoint has a problem", 1},
		"deepseek-busy":      {a2a.TaskStateCompleted, "again", "tokens", 2},
		"openrouter-limited": {a2a.TaskStateCompleted, "again", "tokens", 2},
		"vllm-error":         {a2a.TaskStateCompleted, "again", "tokens", 2},
	}
	uncounted := map[string]bool{"small-bare": true, "small-lines": true, "small-cr": true}
	for _, name := range openaitest.Fixtures() {
		for _, bytewise := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, bytewise), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first := openaitest.Fixture(name)
					if bytewise {
						first.Pieces = strings.Split(first.Pieces[0], "")
					}
					fake := openaitest.New(first, openaitest.Text("again"))
					box := &weather{}
					w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{box}})
					task := w.say("hello")
					end, odd := ends[name]
					switch {
					case odd:
						want(t, task, end.state, end.text, end.words)
					case strings.HasSuffix(name, "-tools"), name == "gateway-glued", name == "bridge-object":
						want(t, task, a2a.TaskStateCompleted, "again", "tokens")
						if box.made() != `{"city":"Paris"} {"city":"Rome"}` {
							t.Errorf("calls: %s", box.made())
						}
						end.asked = 2
					case uncounted[name]:
						want(t, task, a2a.TaskStateCompleted, "Hello there", "done")
					default:
						want(t, task, a2a.TaskStateCompleted, "Hello there", "19 tokens in, 10 out")
					}
					if n := len(fake.Requests()); n != max(end.asked, 1) {
						t.Errorf("%d requests were valid: %s", n, w.log)
					}
				})
			})
		}
	}
}

// Fields that a vendor wants back are sent back.
func TestVendorsGetBackWhatIsTheirs(t *testing.T) {
	for name, wants := range map[string]string{
		"gemini-tools":   "thought_signature:c2lnbmF0dXJl",
		"deepseek-tools": "reasoning_content:I need the weather.",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Fixture(name))
				w := newWorld(t, fake, &openai.Options{Tools: []openai.Toolbox{&weather{}}})
				w.say("hello")
				if got := fmt.Sprint(fake.Requests()[1].Body["messages"]); !strings.Contains(got, wants) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}
