// Package engine runs agents and keeps their tasks: it is an [a2a.Service]
// over an [agent.Agent] and a [store.Store].
//
//	e := engine.New(store.NewMemory(), agent.Demo(), &card, nil)
//	go e.Run(ctx)
//	resp, err := e.SendMessage(ctx, req)
//
// A task is an append-only log of entries. While a task is at work, one owner (internal/task)
// holds its state, decides what may follow what, and appends to the log; everything else only
// reads. Entries become visible once the store has committed them, never before. Readers pull
// from the log at a cursor of their own and are woken by hints, so that a stalled reader slows
// down nothing else.
//
// A message that a client repeats because it got no answer is not processed twice: see
// [Retries]. Its receipt is stored in one append with the entries that the message
// caused, or with the answer.
//
// Nothing depends on a caller's connection: work goes on when callers leave, and the next
// [Engine.Run] resumes what is unfinished when the process stops.
//
// An Engine is safe for concurrent use. Errors are [*a2a.Error] values, or the context's
// own; any other error is internal and must not be shown to a caller.
//
// # One streaming send
//
// A message begins a task. A function is called by the nearest one above it that is indented
// less. Each package draws its part in its package comment.
//
//	service.SendStreamingMessage
//	    service.accept
//	        service.enter                  the caller, its scopes, the tenant
//	        gate.send                      what the card promises
//	        Engine.deliver                 returns when the message is on disk, or answered
//	            Engine.deliverAs           if repeated messages are to be recognized:
//	                Engine.deliverFirst    looks for a receipt of the message, then goes on
//	            Engine.deliverNew
//	                Engine.place
//	                    Owners.Begin       a new task: it has an owner from now on
//	                    Engine.followUp    an existing task: Owners.Own, Owner.Take
//	                Owner.Attend           the agent runs; what it emits goes to disk and is shown
//	                Engine.settled
//	    Engine.start                       the first event: the task as of the message
//	    Engine.followTurn
//	        Topics.Follow                  the rest, from the reader's own cursor
//
// SendMessage waits with Engine.awaitTurn instead of following. SubscribeToTask is
// Topics.Follow alone.
//
// # One take-over
//
// A process was lost, and this one resumes its tasks.
//
//	Engine.Run
//	    place.Place                        registers, and sends heartbeats
//	    go Owners.TakeUp                   tasks of dead processes, bit by bit
//
// # The packages
//
//	internal/task      the owners of tasks: each the only writer of its task, which runs the agent
//	internal/topic     where the readers of a task meet its owner
//	internal/stored    a task as the store has it
//	internal/place     which process runs what
//	internal/outbox    webhooks, a reader of the log
//	internal/again     repeated messages
//
// This package has the operations and their gates. If several processes share a store, the
// files named forward pass a message on to the process that runs the task.
package engine
