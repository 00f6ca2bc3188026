// Package mcpserver makes a server of the Model Context Protocol of an A2A agent,
// for programs that know tools and no agents.
//
//	c, err := a2aclient.Dial(ctx, "localhost:7275", nil)
//	s := mcpserver.New(c, c.Card(), nil)
//	err = s.Serve(ctx, os.Stdin, os.Stdout)
//
// Tools: send_message, or one for each skill of the agent's card; answer_task,
// get_task, list_tasks and cancel_task. What they return is text for a model, the
// files of the agent's artifacts, and structured content with the ids.
//
// A call waits for its task for as long as its client asked for progress, and gets
// a progress notification for each event; without, it returns after Options.Wait
// and says how to go on. A task that needs input asks the client's person
// (elicitation) where the client can, and otherwise returns and says how to answer.
// Credentials are never asked for in this way.
//
// A call that its client cancels cancels the task. A client that goes away does
// not: the task goes on.
//
// Failures are results with isError. They hold what the agent said, and of the
// network no more than the host.
package mcpserver
