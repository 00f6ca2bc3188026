// Package mcp makes an agent of a server of the Model Context Protocol: its tools
// are the agent's skills, a message is a call of one of them, and what the tool
// returns is the task's artifact.
//
//	a := mcp.New(mcp.Server{Command: []string{"npx", "-y", "some-mcp-server"}}, nil)
//	defer a.Close()
//	card, err := a.Card(ctx)
//
// The server is a command that speaks over its standard input and output, or is
// reached over streamable HTTP. Sessions are opened when the first call needs
// them, shared or kept as Options.Sessions says, and opened anew when they died.
//
// # Which tool
//
// The first of these that the message has:
//
//   - a part of data {"tool": "name", "arguments": {…}}, or a text that is such
//     an object;
//   - a member tool, with or without arguments, in the metadata of the message
//     or of the request. Where it has no arguments, they are the message's part
//     of data, or its text if the tool takes one string;
//   - nothing of the kind, where the server has one tool: its arguments are found
//     in the same way.
//
// Anything else is rejected with a text that lists the tools.
//
// # What comes of it
//
// Text, images, audio and embedded resources become parts of one artifact,
// "result", structured content a part of data. A result that is an error fails
// the task with its text. Progress becomes status messages, at most four a
// second, then fewer; log messages and what a command prints on standard error go to
// the log. A question of the tool (elicitation) is a question of the task;
// models (sampling) and folders (roots) are not offered.
//
// # After a crash
//
// The tool is called again, and questions that were answered are answered from
// the record. Not so a tool that has annotations, and neither a readOnlyHint nor an
// idempotentHint among them: both are false unless said otherwise. If the call of
// such a tool may have begun, its task fails and says so. A restart in good order
// waits a moment for such calls, and leaves all others to the next start.
//
// Agents and Tools may be used by many goroutines at once. Errors that callers
// see never hold addresses, arguments, or what the server said of itself.
package mcp
