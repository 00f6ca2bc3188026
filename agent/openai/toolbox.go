package openai

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// Toolbox is where the model's tools come from, such as an MCP server. It is used
// by many turns at once.
type Toolbox interface {
	// Tools lists them. It is asked in each turn, and had better remember. The
	// receiver does not change the slice.
	Tools(ctx context.Context) ([]agent.Tool, error)
	// Call calls one of them by its name. args is valid JSON, but not checked
	// against the tool's parameters. An error is for what went wrong between here
	// and the tool: its text goes to the log, and the model learns only that the
	// call failed, unless it is an agent.Public. A failure that the tool itself
	// reports is a result. Once ctx has ended, a result still counts; an error whose
	// method Unsent() bool returns true says that the tool never heard of the call.
	Call(ctx context.Context, name string, args a2a.JSON) (agent.ToolResult, error)
}
