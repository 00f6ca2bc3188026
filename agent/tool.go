package agent

import "github.com/parley-a2a/parley/a2a"

// Tool is something that a model may call: what an agent that drives a model is
// given, and what an agent that has tools can give away.
type Tool struct {
	Name        string
	Description string
	Parameters  a2a.JSON // a JSON Schema of an object; empty: none
	// Once says that a call must not be made again after a process died in the
	// middle of it: nobody knows then whether it took effect, and the model is
	// told so.
	Once bool
}

// ToolResult is the result of a call: text for the model, which sees failures, too.
type ToolResult struct {
	Text   string
	Failed bool
}
