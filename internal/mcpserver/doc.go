// Package mcpserver turns an A2A agent into a server of the Model Context Protocol, for
// programs that use tools but not agents.
//
//	c, err := a2aclient.Dial(ctx, "localhost:7275", nil)
//	s := mcpserver.New(c, c.Card(), nil)
//	err = s.Serve(ctx, os.Stdin, os.Stdout)
//
// Tools: send_message, or one for each skill of the agent's card; answer_task,
// get_task, list_tasks and cancel_task. They return text for a model, the files of the
// agent's artifacts, and structured content with the ids.
//
// If its client asked for progress, a call waits until its task rests, with a progress
// notification for each event. Otherwise it returns after Options.Wait and says how to
// go on. If a task needs input, the call asks the client's user (elicitation) if the
// client can, and otherwise returns and says how to answer. Credentials are never
// requested in this way.
//
// If a client cancels a call, the task is cancelled. If a client disconnects, the task
// goes on.
//
// Failures are results with isError. They contain the agent's message, and for the
// network no more than the host.
package mcpserver
