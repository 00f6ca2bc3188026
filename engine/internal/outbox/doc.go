// Package outbox delivers the events of tasks to their webhooks. It is one more reader of the
// tasks' logs: a push configuration is a cursor, which the store keeps, so no queue here can be
// lost in a crash.
//
// [Engine] is all that an Outbox needs from the engine. The engine tells it which
// configurations there are (Watch, Drop), how far logs go (News), and what hints say (Hear,
// LookSoon, ClaimSoon). None of these calls waits for a receiver, so neither an agent nor a
// stream ever does.
//
// From an event to its receiver:
//
//	News               the log of a task has grown
//	└ settleLocked     puts the delivery in a lane of its receiver, or in waiting until it is due
//	Run
//	├ lookOut          finds configurations not in memory: at the start, and left by others
//	├ readLetters      finds dead letters that an operator wants to be sent again
//	├ newWriter        commits the progress of all deliveries that wait for it, in one write
//	└ start
//	  ├ nextLocked     picks the next delivery: subscriber by subscriber, then receiver by receiver
//	  └ deliver        one delivery, in a goroutine of its own that Run waits for
//	    ├ load         reads the configuration, and folds the task if its receiver gets all of it
//	    └ travel       goes through the log from the cursor
//	      └ attempt    one event
//	        ├ try      posts it, and tells the receiver's circuit breaker the outcome
//	        └ record   stores the cursor, the next try or the dead letter
//
// Deliveries of one configuration are in order and at least once, each under one id. An Outbox
// is safe for concurrent use. A nil *Outbox belongs to an engine without webhooks: it takes the
// engine's hints and does nothing.
package outbox
