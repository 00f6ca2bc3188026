// Package mcp turns a server of the Model Context Protocol into an agent: the server's
// tools are the agent's skills, a message calls one of them, and the tool's result is
// the task's artifact.
//
//	a, err := mcp.New(mcp.Server{Command: []string{"npx", "-y", "some-mcp-server"}}, nil)
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//	card, err := a.Card(ctx)
//
// The server is a command that speaks over its standard input and output, or is reached
// over streamable HTTP. Sessions are opened when the first call needs them, shared or
// kept as Options.Sessions says, and reopened if they die.
//
// # Which tool
//
// The message names the tool in one of these ways; the first that applies counts:
//
//   - a data part {"tool": "name", "arguments": {…}}, or a text that is such
//     an object;
//   - a member tool, with or without arguments, in the metadata of the message
//     or of the request. Without arguments there, the message's data part has them, or
//     its text if the tool takes one string;
//   - neither, if the server has only one tool: its arguments are found
//     in the same way.
//
// Anything else is rejected with a text that lists the tools.
//
// # The result
//
// Text, images, audio and embedded resources become parts of one artifact, "result",
// structured content a data part. A result that is an error fails the task with its
// text. Progress becomes status messages, at most four a second, later fewer; log
// messages and a command's standard error go to the log. A question of the tool
// (elicitation) becomes a question of the task; models (sampling) and folders (roots)
// are not offered.
//
// # After a crash
//
// The tool is called again, and questions that were answered before are answered from
// the record. The exception is a tool with annotations of which neither readOnlyHint
// nor idempotentHint is true (a missing hint is false): if the call of such a tool may
// have begun, its task fails and says so. An orderly restart waits a moment for such
// calls, and leaves all others to the next start.
//
// Agents and Tools may be used by many goroutines at once. Errors that callers see
// never contain addresses, arguments, or the server's description of itself.
package mcp
