package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// inference is the span of one request to the model. A nil *inference records nothing.
type inference struct {
	span    trace.Span
	content bool // the span may contain the messages
	begun   time.Time
	heard   bool // a first chunk came
}

// trace begins the span of a request. Its attributes follow the OpenTelemetry
// convention.
func (r *run) trace(ctx context.Context) (context.Context, *inference) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanChat+" "+r.a.model, trace.SpanKindClient)
	if !span.IsRecording() {
		span.End()
		return ctx, nil
	}
	i := &inference{span: span, content: telemetry.Content(ctx), begun: time.Now()}
	at, _ := url.Parse(r.a.endpoint) // New has parsed it
	span.SetAttributes(telemetry.Server(at)...)
	span.SetAttributes(
		telemetry.GenAIOperationName.String("chat"), telemetry.GenAIProviderName.String(provider(at.Hostname())),
		telemetry.GenAIRequestModel.String(r.a.model), telemetry.GenAIRequestStream.Bool(true),
		telemetry.Text(telemetry.GenAIConversationID, r.t.Task().ContextID),
	)
	if t := r.a.opts.Temperature; t != nil {
		span.SetAttributes(telemetry.GenAITemperature.Float64(*t))
	}
	if n := r.a.opts.MaxTokens; n > 0 {
		span.SetAttributes(telemetry.GenAIMaxTokens.Int(n))
	}
	if r.shape() != "" {
		span.SetAttributes(telemetry.GenAIOutputType.String("json"))
	}
	if i.content {
		span.SetAttributes(asJSON(telemetry.GenAIInputMessages, toldMessages(r.messages)))
	}
	return ctx, i
}

// chunk notes that a piece of a stream came.
func (i *inference) chunk() {
	if i != nil && !i.heard {
		i.heard = true
		i.span.SetAttributes(telemetry.GenAIFirstChunk.Float64(time.Since(i.begun).Seconds()))
	}
}

func (i *inference) end(ans *answer, err error) {
	if i == nil {
		return
	}
	if ans != nil {
		i.answered(ans)
	}
	if err != nil {
		telemetry.Fail(i.span, err)
		i.span.SetAttributes(telemetry.ErrorType.String(errorType(err)))
	}
	i.span.End()
}

func (i *inference) answered(ans *answer) {
	set := i.span.SetAttributes
	if ans.id != "" {
		set(telemetry.GenAIResponseID.String(ans.id))
	}
	if ans.Model != "" {
		set(telemetry.GenAIResponseModel.String(ans.Model))
	}
	if ans.finish != "" {
		set(telemetry.GenAIFinishReasons.StringSlice([]string{ans.finish}))
	}
	if ans.Usage != (usage{}) {
		set(telemetry.GenAIInputTokens.Int64(int64(ans.Usage.Prompt)), telemetry.GenAIOutputTokens.Int64(int64(ans.Usage.Completion)))
	}
	if i.content {
		said := message{Role: "assistant", Content: ans.Text}
		for _, c := range ans.Calls {
			said.ToolCalls = append(said.ToolCalls, c.toolCall)
		}
		told := toldMessages([]message{said})
		told[0].Finish = ans.finish
		set(asJSON(telemetry.GenAIOutputMessages, told))
	}
}

// errorType classifies the error of a request.
func errorType(err error) string {
	f, _ := errors.AsType[fault](err)
	switch {
	case errors.Is(err, errSilent), errors.Is(err, errLate):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case f.status != 0:
		return strconv.Itoa(f.status)
	}
	return "_OTHER"
}

// providers are the convention's names for endpoints, by their host names or suffixes
// of them.
var providers = []struct{ host, name string }{
	{"openai.azure.com", "azure.ai.openai"}, {"services.ai.azure.com", "azure.ai.inference"}, {"api.anthropic.com", "anthropic"},
	{"api.cohere.com", "cohere"}, {"api.deepseek.com", "deepseek"}, {"api.groq.com", "groq"}, {"api.mistral.ai", "mistral_ai"},
	{"api.moonshot.ai", "moonshot_ai"}, {"api.perplexity.ai", "perplexity"}, {"api.x.ai", "x_ai"},
	{"generativelanguage.googleapis.com", "gcp.gemini"}, {"aiplatform.googleapis.com", "gcp.vertex_ai"},
	{"amazonaws.com", "aws.bedrock"},
}

// provider returns the provider of an endpoint, according to its host: openai, whose
// API it speaks, if the host is not known.
func provider(host string) string {
	for _, p := range providers {
		if host == p.host || strings.HasSuffix(host, "."+p.host) || strings.HasSuffix(host, "-"+p.host) {
			return p.name
		}
	}
	return "openai"
}

// toldMessage is a message in the convention's form for content.
type toldMessage struct {
	Role   string     `json:"role"`
	Parts  []toldPart `json:"parts"`
	Finish string     `json:"finish_reason,omitempty"`
}

type toldPart struct {
	Type      string          `json:"type"` // text, tool_call, tool_call_response, or the API's own name
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// toldMessages converts messages to the convention's form. Images and files are reduced
// to their type.
func toldMessages(list []message) []toldMessage {
	told := make([]toldMessage, 0, len(list))
	for _, m := range list {
		t := toldMessage{Role: m.Role, Parts: []toldPart{}}
		switch c := m.Content.(type) {
		case string:
			if m.Role == "tool" {
				t.Parts = append(t.Parts, toldPart{Type: "tool_call_response", ID: m.ToolCallID, Response: c})
			} else if c != "" {
				t.Parts = append(t.Parts, toldPart{Type: "text", Content: c})
			}
		case []content:
			for _, p := range c {
				t.Parts = append(t.Parts, toldPart{Type: p.Type, Content: p.Text})
			}
		}
		for _, c := range m.ToolCalls {
			part := toldPart{Type: "tool_call", ID: c.ID, Name: c.Function.Name}
			if json.Valid([]byte(c.Function.Arguments)) {
				part.Arguments = json.RawMessage(c.Function.Arguments)
			}
			t.Parts = append(t.Parts, part)
		}
		told = append(told, t)
	}
	return told
}

func asJSON(key attribute.Key, v any) attribute.KeyValue {
	doc, _ := json.Marshal(v) // marshals strings and valid JSON only
	return key.String(string(doc))
}

// callTool calls a tool in a span below that of the model's call. A toolbox may add a
// span of its own inside it, for the request that it makes.
func callTool(ctx context.Context, tool source, c call) (agent.ToolResult, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanExecuteTool+" "+short(tool.Name, 100), trace.SpanKindInternal)
	defer span.End()
	args := a2a.JSON(strings.TrimSpace(c.Function.Arguments))
	res, err := tool.box.Call(ctx, tool.Name, args)
	if !span.IsRecording() {
		return res, err
	}
	span.SetAttributes(
		telemetry.GenAIOperationName.String("execute_tool"), telemetry.GenAIToolName.String(tool.Name),
		telemetry.GenAIToolType.String("function"), telemetry.GenAIToolCallID.String(c.ID),
	)
	if telemetry.Content(ctx) {
		span.SetAttributes(telemetry.GenAIToolArguments.String(string(args)), telemetry.GenAIToolResult.String(res.Text))
	}
	switch {
	case err != nil:
		telemetry.Fail(span, err)
	case res.Failed:
		span.SetAttributes(telemetry.ErrorType.String("tool_error"))
		span.SetStatus(codes.Error, "")
	}
	return res, err
}
