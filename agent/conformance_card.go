package agent

import "github.com/parley-a2a/parley/a2a"

// ConformanceCard returns the card of Conformance, with a skill for each course that
// its tasks can take. It lists the media types that a kit sends; others are refused,
// which kits test, too.
func ConformanceCard() a2a.AgentCard {
	skill := func(id, name, example, description string) *a2a.AgentSkill {
		return &a2a.AgentSkill{ID: id, Name: name, Description: description, Tags: []string{"conformance"}, Examples: []string{example}}
	}
	return a2a.AgentCard{
		Name:         "Parley conformance",
		Description:  "Does what a conformance kit asks for: the prefix of a message's id, or else of the first word of its text, says what happens.",
		Version:      "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes: []string{
			"text/plain", "text/markdown", "application/json", "application/octet-stream",
			"application/pdf", "image/jpeg", "image/png",
		},
		DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []*a2a.AgentSkill{
			skill("task", "Tasks", "tck-complete-task", "Tasks that are completed, rejected, or wait for input."),
			skill("artifact", "Artifacts", "tck-artifact-text", "Tasks with an artifact: text, a file, a link, data."),
			skill("stream", "Streams", "tck-stream-artifact-chunked", "Tasks that are worked on, with artifacts whole and in chunks."),
			skill("message", "Direct messages", "tck-message-response", "A direct message, and no task."),
		},
	}
}
