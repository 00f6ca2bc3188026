package openai_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
)

// traced runs the agent in a span, and returns the spans below it: name, kind and
// some attributes. Times depend on the machine and are left out.
func traced(t *testing.T, fake *openaitest.Server, content bool, o openai.Options) (lines []string) {
	t.Helper()
	o.Client = fake.Client()
	ag, err := openai.New("http://model.test/v1", "fake-1", &o)
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	card := openai.Card("fake-1", &o)
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	w := &world{t: t, fake: fake}
	w.Engine = engine.New(st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if content {
			ctx = telemetry.WithContent(ctx)
		}
		ctx, span := tracer.Start(ctx, "run")
		defer span.End()
		return ag.Run(ctx, turn)
	}), &card, nil)
	defer w.start()()
	w.say("weather?")
	for _, s := range spans.GetSpans().Snapshots() {
		if s.Name() == "run" {
			continue
		}
		set := attribute.NewSet(s.Attributes()...)
		var attrs []string
		for _, kv := range set.ToSlice() {
			switch kv.Key {
			case telemetry.GenAIFirstChunk, telemetry.GenAIConversationID:
				attrs = append(attrs, string(kv.Key))
			default:
				attrs = append(attrs, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", s.Name(), s.SpanKind(), s.Status().Code, strings.Join(attrs, " ")))
		if h := fake.Requests(); s.SpanKind() == trace.SpanKindClient && len(h) > 0 && !strings.Contains(fmt.Sprint(headersOf(h)), s.SpanContext().SpanID().String()) {
			t.Errorf("no request names the span %s", s.Name())
		}
	}
	return lines
}

func headersOf(list []openaitest.Request) (all []string) {
	for _, r := range list {
		all = append(all, r.Header.Get("Traceparent"))
	}
	return all
}

func TestSpansOfAModel(t *testing.T) {
	const common = "gen_ai.conversation.id gen_ai.operation.name=chat gen_ai.provider.name=openai"
	const server = "server.address=model.test server.port=80"
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.Call("id1", "get_weather", `{"city":"Paris"}`), openaitest.Error(503, "busy", "later"), openaitest.Text("Sun"))
		got := traced(t, fake, false, openai.Options{Tools: []openai.Toolbox{&weather{}}, MaxTokens: 100})
		want := []string{
			"chat fake-1 client Unset: " + common + " gen_ai.request.max_tokens=100 gen_ai.request.model=fake-1 gen_ai.request.stream=true" +
				` gen_ai.response.finish_reasons=["tool_calls"] gen_ai.response.id=chatcmpl-fake gen_ai.response.model=fake-1 gen_ai.response.time_to_first_chunk` +
				" gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=10 " + server,
			"execute_tool get_weather internal Unset: gen_ai.operation.name=execute_tool gen_ai.tool.call.id=id1 gen_ai.tool.name=get_weather gen_ai.tool.type=function",
			"chat fake-1 client Error: error.type=503 " + common + " gen_ai.request.max_tokens=100 gen_ai.request.model=fake-1 gen_ai.request.stream=true " + server,
			"chat fake-1 client Unset: " + common + " gen_ai.request.max_tokens=100 gen_ai.request.model=fake-1 gen_ai.request.stream=true" +
				` gen_ai.response.finish_reasons=["stop"] gen_ai.response.id=chatcmpl-fake gen_ai.response.model=fake-1 gen_ai.response.time_to_first_chunk` +
				" gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=1 " + server,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// Spans hold the words of people and models only if the operator wants them to.
func TestContentIsOptIn(t *testing.T) {
	for _, content := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fake := openaitest.New(openaitest.Call("id1", "get_weather", `{"city":"Paris"}`), openaitest.Text("Sun"))
			all := strings.Join(traced(t, fake, content, openai.Options{Tools: []openai.Toolbox{&weather{}}}), "\n")
			for _, part := range []string{
				`gen_ai.input.messages=[{"role":"user","parts":[{"type":"text","content":"weather?"}]}]`,
				`gen_ai.output.messages=[{"role":"assistant","parts":[{"type":"tool_call","id":"id1","name":"get_weather","arguments":{"city":"Paris"}}],"finish_reason":"tool_calls"}]`,
				`{"role":"tool","parts":[{"type":"tool_call_response","id":"id1","response":"sun"}]}`,
				`gen_ai.tool.call.arguments={"city":"Paris"}`, "gen_ai.tool.call.result=sun",
			} {
				if strings.Contains(all, part) != content {
					t.Errorf("content is %v: %s\nin %s", content, part, all)
				}
			}
		})
	}
}

func TestToolErrorsAreInSpans(t *testing.T) {
	for want, fn := range map[string]func(context.Context, string) (agent.ToolResult, error){
		"error.type=tool_error": func(context.Context, string) (agent.ToolResult, error) {
			return agent.ToolResult{Text: "no such city", Failed: true}, nil
		},
		"error.type=_OTHER": func(context.Context, string) (agent.ToolResult, error) {
			return agent.ToolResult{}, errors.New("dial 10.0.0.7")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := openaitest.New(openaitest.Call("id1", "get_weather", "{}"), openaitest.Text("fine"))
			all := traced(t, fake, false, openai.Options{Tools: []openai.Toolbox{&weather{fn: fn}}})
			if len(all) != 3 || !strings.HasPrefix(all[1], "execute_tool get_weather internal Error: "+want) || strings.Contains(all[1], "10.0.0.7") {
				t.Errorf("want %s: %s", want, strings.Join(all, "\n"))
			}
		})
	}
}
