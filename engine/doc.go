// Package engine runs agents and keeps their tasks: it is an [a2a.Service]
// over an [agent.Agent] and a [store.Store].
//
//	e := engine.New(store.NewMemory(), agent.Demo(), &card, nil)
//	go e.Run(ctx)
//	resp, err := e.SendMessage(ctx, req)
//
// A task is an append-only log of entries. While a task is at work, one owner
// (a goroutine of this package) holds its state, decides what may follow what,
// and appends to the log; everybody else reads. Entries become visible once
// the store has committed them, never before. Readers pull from the log at a
// cursor of their own and are woken by hints, so that a stalled reader costs
// nobody anything.
//
// A message that comes again, because its sender does not know what became of
// it, is not taken twice: [Retries]. Its receipts are in the store with the
// entries that took it, in one append, or with the answer.
//
// Nothing depends on a caller's connection: work goes on when callers leave,
// and what is unfinished when the process stops is taken up by the next
// [Engine.Run].
//
// An Engine is safe for concurrent use. Errors are [*a2a.Error] values, or
// the context's own; anything else is internal and not for a caller's eyes.
package engine
