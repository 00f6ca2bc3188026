// Package task is the tasks at work in this process: the owner of each, which is its one
// writer, and the run of its agent.
//
//	os := task.NewOwners(needs)
//	o, err := os.Begin(ctx, key, birth) // a task begins, with a message
//	o.Attend(ctx, birth.Post)           // until the message is on disk
//
// An [Owner] has one phase (phase.go), what the rules know of the task (rules.go), and
// what is emitted and not stored yet. Senders hand it messages, the agent hands it events;
// they change that under its lock. Its loop takes what is pending to the store, one append
// at a time, so that everything that gathers while an append is under way becomes the next
// one. What is committed it publishes at the task's topic, where readers are.
//
// [Owners] has what all owners share and need from outside: [Needs]. It also takes up tasks
// of processes that are gone.
//
// All is safe for concurrent use. A goroutine that is begun here is waited for by
// [Owners.Wait]. Errors are [*a2a.Error] values or internal.
//
// # A task that begins
//
// A function is called by the one above it that is indented less; "go" starts a goroutine.
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
//	    Owner.stay                   waits for what is in the inbox, and for timers
//	        Owner.hear
//	            Owner.conclude       after Run: the task's end is pending
//	            Owner.settle         after the append
//	                Topic.Publish                the entries are visible; readers wake
//	                Owner.settleFlightLocked     senders wake
//	        Owner.flush              what gathered meanwhile
//	    go Owner.run                 if the task goes on: the same loop without the sender
//	    Owner.over                   if it does not: Owner.leave, phase: closed
//
// # One take-over
//
//	Owners.TakeUp
//	    Admission.Reserve            slots: Options.TakeUp
//	    Owners.takeSome
//	        Owners.retake            tasks of this process that could not be loaded before
//	        Owners.claim             Store.Claim: tasks of processes that are gone
//	        Owners.draw              Store.Draw: tasks that wait for capacity
//	            Owners.revive        for each of them
//	                Owners.ownAs
//	                    Owner.load           phase: loading
//	                        Owners.inherit             the row; Store.Take if a dead process has it
//	                        draft.replay               and Task.Apply, for each entry of the log
//	                        Topic.Adopt                readers meet the task here from now on
//	                        Owner.resumeLocked         phase: resting; or the task fails, lost too often
//	                    go Owner.run
//	                        Owner.stay
//	                            Owner.endRest          after the rest, if there is capacity
//	                                Owner.startLocked  phase: running, from the top of the turn
//	                Owner.occupy     has the slot until the agent has said something
//
// The process that lost the task may only have been paused. Its next append has an
// old epoch and is refused: Owner.settle, Owner.retry, Owner.fail, Owner.leave. If it
// notices before that, by a beat that is late, Owner.Evict ends its ownership.
package task
