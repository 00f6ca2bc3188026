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
//
// # One streaming send
//
// A message begins a task. A function is called by the one above it that is
// indented less; "go" starts a goroutine.
//
//	service.SendStreamingMessage
//	    service.enter                      the caller, its scopes, the tenant
//	    gate.send                          what the card promises
//	    Engine.deliver                     returns when the message is on disk, or answered
//	        Engine.deliverOnce             if messages that come again are to be known:
//	            Engine.deliverFirst        looks for a receipt of the message, then goes on
//	        Engine.deliverNew
//	            Engine.place               a new task; Engine.followUp posts to one that exists
//	                Engine.begin
//	                    owner.openLocked         phase: starting
//	                    owner.askLocked          Limits.Running, Options.Capacity: Admission.Ask
//	                    owner.beginLocked
//	                        owner.startLocked    phase: running
//	                            go owner.runAgent
//	                                Agent.Run
//	                                    host.Status, host.Artifact, host.Next
//	                                        owner.emit       checks the rules; the entry is pending
//	                                inbox.finish             Run returned
//	            owner.attend               the owner's loop, in the sender's goroutine
//	                loop.gather            lets a quick agent finish first
//	                owner.flush            makes one append of all that is pending
//	                    owner.prepare
//	                    Store.Append       calls inbox.commit when the append is on disk
//	                loop.stay              waits for what is in the inbox, and for timers
//	                    loop.hear
//	                        owner.conclude       after Run: the task's end is pending
//	                        owner.settle         after the append
//	                            Topic.Publish                the entries are visible; readers wake
//	                            owner.settleFlightLocked     senders wake
//	                    owner.flush        what gathered meanwhile
//	                go owner.run           if the task goes on: the same loop without the sender
//	                owner.over             if it does not: owner.leave, phase: closed
//	            Engine.settled
//	    Engine.start                       the first event: the task as of the message
//	    Engine.followTurn
//	        Topics.Follow                  the rest, from the reader's own cursor
//
// SendMessage waits with Engine.awaitTurn where the stream follows. SubscribeToTask
// is Topics.Follow alone. The package comment of internal/topic goes on from there.
//
// # One take-over
//
// A process was lost, and this one goes on with its tasks.
//
//	Engine.Run
//	    go Engine.takeUp
//	        Admission.Reserve              slots: Options.TakeUp
//	        Engine.takeSome
//	            Engine.retake              tasks of this process that could not be loaded before
//	            Engine.claim               Store.Claim: tasks of processes that are gone
//	            Engine.draw                Store.Draw: tasks that wait for capacity
//	                Engine.revive          for each of them
//	                    Engine.ownAs
//	                        owner.load           phase: loading
//	                            Engine.inherit             the row; Store.Take if a dead process has it
//	                            draft.replay               and Task.Apply, for each entry of the log
//	                            Topic.Adopt                readers meet the task here from now on
//	                            owner.resumeLocked         phase: resting; or the task fails, lost too often
//	                        go owner.run
//	                            loop.stay
//	                                owner.endRest          after the rest, if there is capacity
//	                                    owner.startLocked  phase: running, from the top of the turn
//	                    owner.occupy       has the slot until the agent has said something
//
// The process that lost the task may only have been paused. Its next append has an
// old epoch and is refused: owner.settle, owner.retry, owner.fail, owner.leave. If it
// notices before that, by a beat that is late, Engine.evict ends its ownership.
package engine
