package agent

import "github.com/parley-a2a/parley/a2a"

// DemoCard returns the card of Demo, with one skill for each command. The server adds
// the agent's address and whether it sends push notifications.
//
// The commands are text. Every other type is accepted, so that a newcomer's first file
// or data part is not refused; the agent ignores them. The common ones are listed for
// clients that look for a type by its name.
func DemoCard() a2a.AgentCard {
	return a2a.AgentCard{
		Name:         "Parley demo",
		Description:  "A small scripted agent to try A2A with: it echoes, streams, waits, asks back, fails and refuses on request. Any text that is no command comes back as it is.",
		Version:      "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes: []string{
			"text/plain", "text/markdown", "application/json", "application/octet-stream",
			"application/pdf", "image/jpeg", "image/png", "*/*",
		},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             demoSkills(),
	}
}

func demoSkills() []*a2a.AgentSkill {
	return []*a2a.AgentSkill{
		{
			ID: "help", Name: "Help", Tags: []string{"text"}, Examples: []string{"help"},
			Description: "help: an artifact with all of these commands, each with an example.",
		},
		{
			ID: "echo", Name: "Echo", Tags: []string{"text"}, Examples: []string{"echo hello"},
			Description: "echo TEXT: an artifact with the text.",
		},
		{
			ID: "message", Name: "Direct message", Tags: []string{"text", "message"}, Examples: []string{"message hello"},
			Description: "message TEXT: a direct message with the text; no task is created.",
		},
		{
			ID: "stream", Name: "Stream", Tags: []string{"streaming"}, Examples: []string{"stream 20 200"},
			Description: "stream N [MS]: an artifact in N chunks, one every MS milliseconds (default 50).",
		},
		{
			ID: "sleep", Name: "Sleep", Tags: []string{"long-running", "cancel"}, Examples: []string{"sleep 2.5"},
			Description: "sleep SECONDS: works for that long, unless it is cancelled.",
		},
		{
			ID: "ask", Name: "Ask back", Tags: []string{"multi-turn", "input-required"}, Examples: []string{"ask Which city?"},
			Description: "ask [QUESTION]: needs input; the next message of the task is the answer.",
		},
		{
			ID: "auth", Name: "Ask for authorization", Tags: []string{"multi-turn", "auth-required"}, Examples: []string{"auth"},
			Description: "auth: needs authorization; the next message of the task gives it.",
		},
		{
			ID: "fail", Name: "Fail", Tags: []string{"errors"}, Examples: []string{"fail out of paper"},
			Description: "fail [REASON]: the task fails.",
		},
		{
			ID: "reject", Name: "Reject", Tags: []string{"errors"}, Examples: []string{"reject not my job"},
			Description: "reject [REASON]: the task is rejected.",
		},
		{
			ID: "file", Name: "Files", Tags: []string{"files"}, Examples: []string{"file"},
			Description: "file: an artifact with a small picture and a link to a document.",
			OutputModes: []string{"image/png", "application/pdf"},
		},
		{
			ID: "data", Name: "Structured data", Tags: []string{"data"}, Examples: []string{"data"},
			Description: "data: an artifact with a JSON value.",
			OutputModes: []string{"application/json"},
		},
		{
			ID: "refine", Name: "Refine", Tags: []string{"multi-turn", "references"}, Examples: []string{"refine make it shorter"},
			Description: "refine TEXT: a new version of the artifact of an earlier task, which the message refers to or which is the latest of the context.",
		},
	}
}
