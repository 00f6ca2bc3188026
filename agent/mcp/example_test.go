package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/agent/mcp"
)

// A server with one tool, whose card says what it can do.
func ExampleNew() {
	server := sdk.NewServer(&sdk.Implementation{Name: "Greeter", Version: "1.0"}, nil)
	type who struct {
		Name string `json:"name"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *sdk.CallToolRequest, in who) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + in.Name}}}, nil, nil
		})
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer at.Close()

	a, err := mcp.New(mcp.Server{URL: at.URL}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	card, err := a.Card(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(card.Name, card.Version)
	for _, s := range card.Skills {
		fmt.Println(s.ID, s.Description, s.Examples)
	}
	// Output:
	// Greeter 1.0
	// greet Greets somebody. [{"arguments":{"name":"…"},"tool":"greet"}]
}
