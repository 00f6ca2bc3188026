// Package outbox delivers what happens to tasks to their webhooks. It is one
// more reader of the tasks' logs: a push configuration is a cursor, which the
// store keeps, so nothing is queued here that a crash could lose.
//
// [Engine] is all that it needs from the engine. The engine tells it which
// configurations there are (Watch, Drop) and how far logs go (News), hints
// included (Hear, LookSoon, ClaimSoon). None of these waits for a receiver, so
// neither an agent nor a stream ever does.
//
// From an event to its receiver:
//
//	News               the log of a task has grown
//	└ settleLocked     puts the delivery in a lane of its receiver, or in waiting until it is due
//	Run
//	├ lookOut          finds what is not in memory: at the start, and what other processes left
//	├ readLetters      finds dead letters that an operator wants to be sent again
//	├ write            commits the progress of all deliveries that wait for it together
//	└ start
//	  ├ nextLocked     whose turn it is: subscriber by subscriber, then receiver by receiver
//	  └ deliver        one delivery, in a goroutine of its own that Run waits for
//	    ├ load         reads the configuration, and folds the task if its receiver gets all of it
//	    └ travel       goes through the log from the cursor
//	      └ attempt    one event
//	        ├ try      posts it, and tells the receiver's circuit how that went
//	        └ record   stores the cursor, the next try or the dead letter
//
// Deliveries of one configuration are in order and at least once, each under one
// id. An Outbox is safe for concurrent use. A nil *Outbox, of an engine without
// webhooks, hears the engine's hints and does nothing.
package outbox
