// Package agent is the interface of an agent's author: you write one function.
//
//	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
//		return t.Reply("hello " + t.Text())
//	})
//
// The function is called with a [Turn] for each message and answers by what it emits
// and returns: [Turn.Reply] sends a direct message; a [Turn.Status], an [Artifact] or a
// question ([Turn.Ask]) makes a task; returning nil completes it, an error fails it.
// The turn sets ids, states and the append and last-chunk flags, so events are always
// in a valid order.
//
// An agent may be run again from the top after a crash or a restart of the server, with
// the same message and a higher [Turn.Attempt]. Its earlier questions are answered from
// the record, and [Step] keeps the results of work that must not be done twice.
//
// To test an agent, call an engine that runs it over a store in memory; the example
// Testing does, without a network.
//
// Ready-made agents are [Demo], a small scripted one, [Exec], which runs a command, and
// [Conformance], which does what conformance kits ask for.
//
// One value of an agent handles many turns at once and must be safe for that. A Turn and its
// Artifacts may be used from several goroutines, until Run returns.
//
// Errors to test for: a method that emits returns [ErrEnded] if the task has ended
// meanwhile, and [ErrTooLarge] if it grew beyond a limit; the context's cause is
// [ErrCanceled], [ErrDraining], [ErrTimeout] or [ErrTooLarge]. An error made by [Public]
// tells the caller a reason; the text of any other stays inside.
package agent
