package a2a

import (
	"encoding/json"
	"time"
)

// The traceability extension of a2a-samples (extensions/traceability/v1): a client that
// names it in A2A-Extensions learns with the answer which tools and agents were called
// for it. docs/observability.md lists what Parley reports.
const (
	// TraceabilityURI identifies the extension.
	TraceabilityURI = "https://github.com/a2aproject/a2a-samples/extensions/traceability/v1"
	// TraceabilityKey is the member of a message's metadata that has a [ResponseTrace],
	// and the id of the artifact that has one.
	TraceabilityKey = "github.com/a2aproject/a2a-samples/extensions/traceability/v1/traceability"
)

// TraceabilityExtension returns a card's declaration of the extension.
func TraceabilityExtension() *AgentExtension {
	return &AgentExtension{URI: TraceabilityURI, Description: "An answer says which tools and agents were called for it, and how long that took, if the client asks for the extension."}
}

// ResponseTrace says what an agent did for an answer. Its JSON has the names of the
// extension's page.
type ResponseTrace struct {
	TraceID string      `json:"trace_id"`
	Steps   []TraceStep `json:"steps"`
}

// TraceStep is one call of a tool or of another agent.
type TraceStep struct {
	StepID       string            `json:"step_id"`
	TraceID      string            `json:"trace_id"`
	ParentStepID string            `json:"parent_step_id,omitempty"` // empty for a step outside of any other
	CallType     string            `json:"call_type"`                // AGENT or TOOL
	Action       TraceAction       `json:"step_action"`
	TotalTokens  int64             `json:"total_tokens,omitempty"`
	Attributes   map[string]string `json:"additional_attributes,omitempty"`
	Latency      int64             `json:"latency"` // milliseconds
	Start        time.Time         `json:"start_time"`
	End          time.Time         `json:"end_time"`
}

// TraceAction says what was called: one of the two is set.
type TraceAction struct {
	Tool  *TracedTool  `json:"tool_invocation,omitempty"`
	Agent *TracedAgent `json:"agent_invocation,omitempty"`
}

// TracedTool is a tool that was called.
type TracedTool struct {
	Name string `json:"tool_name"`
}

// TracedAgent is an agent that was called.
type TracedAgent struct {
	Name string `json:"agent_name"`
}

// JSON returns the trace in its form in metadata and data parts.
func (t *ResponseTrace) JSON() JSON {
	doc, err := json.Marshal(t)
	if err != nil {
		panic(err) // it has only texts, numbers and times within the year 9999
	}
	return doc
}
