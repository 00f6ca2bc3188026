package agent

import "github.com/parley-a2a/parley/a2a"

// Tool is something that a model may call. An agent that drives a model is given tools;
// an agent that has tools can offer them.
type Tool struct {
	Name        string
	Description string
	Parameters  a2a.JSON // a JSON Schema of an object; empty: none
	// Once says that a call must not be repeated after a process died in the middle of
	// it: it is then unknown whether the call took effect, and the model is told so.
	Once bool
}

// ToolResult is the result of a call: text for the model, which also sees failures.
type ToolResult struct {
	Text   string
	Failed bool
}
