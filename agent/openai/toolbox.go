package openai

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// Toolbox provides tools for the model, such as those of an MCP server. It is used by
// many turns at once.
type Toolbox interface {
	// Tools lists them. It is called in each turn, so it should cache its answer. The
	// receiver does not change the slice.
	Tools(ctx context.Context) ([]agent.Tool, error)
	// Call calls a tool by its name. args is valid JSON, but not checked against the
	// tool's parameters. Return an error only for a failure on the way to the tool: its
	// text is logged, and the model learns only that the call failed, unless the error
	// is an agent.Public. A failure that the tool itself reports is a result. Once ctx
	// has ended, a result still counts; an error whose method Unsent() bool returns
	// true says that the call never reached the tool.
	Call(ctx context.Context, name string, args a2a.JSON) (agent.ToolResult, error)
}
