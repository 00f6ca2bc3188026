package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/mcpserver"
	"github.com/parley-a2a/parley/store"
)

// Anything that is an a2a.Service can be the agent: here an engine, elsewhere an
// a2aclient.Client.
func ExampleServer_Serve() {
	yes := true
	card := a2a.AgentCard{Name: "Greeter", Capabilities: a2a.AgentCapabilities{Streaming: &yes}}
	e := engine.New(store.NewMemory(), agent.Func(func(_ context.Context, t *agent.Turn) error {
		return t.Complete("hello " + t.Text())
	}), &card, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go e.Run(ctx)

	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- mcpserver.New(e, &card, nil).Serve(ctx, toServer, fromServer) }()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send_message", Arguments: json.RawMessage(`{"message":"Ann"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	session.Close()
	fmt.Println(<-served)
	// Output:
	// hello Ann
	// <nil>
}
