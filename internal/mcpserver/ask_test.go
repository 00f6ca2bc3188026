package mcpserver

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// A form that clients do not take is asked for as a text.
func TestFormThatClientsDoNotTake(t *testing.T) {
	ag := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		m, err := t.AskParts(ctx, a2a.TextPart("What?"), a2a.DataPart(a2a.JSON(
			`{"elicitation":{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[null]}}}}}`)))
		if err != nil {
			return err
		}
		return t.Complete("you said " + m.Text())
	}), a2a.AgentCard{Name: "odd"})
	each(t, func(t *testing.T, o over) {
		w := connect(t, o, ag, ag.Card(), nil, func(q *mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "that"}}
		})
		got, _ := w.call("send_message", `{"message":"go"}`)
		contains(t, got, "you said that|")
	})
}

// Whatever an agent asks, the form is one that the SDK's client takes.
func FuzzForm(f *testing.F) {
	f.Add(`{"elicitation":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"integer","minimum":1}},"required":["a","zz"]}}}`)
	f.Add(`{"elicitation":{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[null]}}}}}`)
	f.Add(`{"elicitation":{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x"}],"minLength":-1},"b":null}}}}`)
	f.Add(`{"elicitation":{"requestedSchema":{"type":"object","properties":{"a":{"type":"number","minimum":2,"maximum":1}}}}}`)
	var asked *mcp.ElicitParams
	srv := mcp.NewServer(&mcp.Implementation{Name: "x"}, nil)
	srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, asked)
		return &mcp.CallToolResult{}, err
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := srv.Connect(f.Context(), here, nil); err != nil {
		f.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "x"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	session, err := client.Connect(f.Context(), there, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if !json.Valid([]byte(data)) {
			return
		}
		asked = question(&a2a.Task{Status: a2a.TaskStatus{Message: &a2a.Message{Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(data))}}}})
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}); err != nil {
			t.Fatalf("%v: %v", asked.RequestedSchema, err)
		}
	})
}
