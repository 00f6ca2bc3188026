// Package task runs the tasks that are at work in this process. Each has an owner, its only
// writer in this process, which also runs its agent.
//
//	os := task.NewOwners(needs)
//	o, err := os.Begin(ctx, key, birth) // begins a task with its first message
//	o.Attend(ctx, birth.Post)           // runs the owner's loop until the message is on disk
//
// An [Owner] has a phase (phase.go), the state that the rules check (rules.go), and the entries
// that are emitted but not stored yet. Senders hand it messages and the agent hands it events;
// both change that state under its lock. The owner's loop hands pending entries to the store,
// one append at a time: all that gather during an append go into the next one. The loop then
// publishes the committed entries at the task's topic, where readers are.
//
// [Owners] has what all owners share and need from outside: [Needs]. It also takes up the tasks
// of dead processes.
//
// Everything is safe for concurrent use. [Owners.Wait] waits for the goroutines that are
// started here. Errors are [*a2a.Error] values or internal.
//
// # A new task
//
// A function is called by the nearest one above it that is indented less; "go" starts a
// goroutine.
//
//	Owners.Begin
//	    Owner.openLocked             phase: starting
//	    Owner.askLocked              Limits.Running, Options.Capacity: Admission.Ask
//	    Owner.beginLocked
//	        Owner.startLocked        phase: running
//	            go Owner.runAgent
//	                Agent.Run
//	                    host.Status, host.Artifact, host.Next
//	                        Owner.emit           checks the rules; the entry is pending
//	                inbox.finish                 Run returned
//	Owner.Attend                     the owner's loop, in the sender's goroutine
//	    Owner.gather                 lets a quick agent finish first
//	    Owner.flush                  makes one append of all that is pending
//	        Owner.prepare
//	        Store.Append             calls inbox.commit when the append is on disk
//	    Owner.stay                   waits for the inbox and for timers
//	        Owner.hear
//	            Owner.conclude       after Run returned: the task's end is pending
//	            Owner.settle         after the append
//	                Topic.Publish                the entries are visible; readers wake
//	                flight.settled               senders wake
//	        Owner.flush              appends what gathered meanwhile
//	    go Owner.run                 if there is more to do: the same loop without the sender
//	    Owner.over                   if there is not: Owner.leave, phase: closed
//
// # One take-over
//
//	Owners.TakeUp
//	    Admission.Reserve            slots: Options.TakeUp
//	    Owners.takeSome
//	        Owners.retake            tasks of this process that could not be loaded before
//	        Owners.claim             Store.Claim: tasks of dead processes
//	        Owners.draw              Store.Draw: tasks that wait for capacity
//	            Owners.revive        for each of them
//	                Owners.ownAs
//	                    Owner.load           phase: loading
//	                        Owners.inherit             the row; Store.Take if its process is dead
//	                        draft.replay               and Task.Apply, for each entry of the log
//	                        Topic.Adopt                readers follow the task here from now on
//	                        Owner.resumeLocked         phase: resting; or fails if lost too often
//	                    go Owner.run
//	                        Owner.stay
//	                            Owner.endRest          after the rest, if there is capacity
//	                                Owner.startLocked  phase: running, from the top of the turn
//	                Owner.occupy     holds the slot until an entry of the agent is stored
//
// The process that lost the task may only have been paused. Its next append has an old epoch,
// is refused, and ends the ownership there: Owner.settle, Owner.retry, Owner.fail, Owner.leave.
// If a late heartbeat reveals the loss earlier, Owner.Evict ends the ownership.
package task
