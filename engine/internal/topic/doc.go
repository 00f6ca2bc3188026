// Package topic is where the readers of a task meet its owner.
//
// A [Topic] has the task as committed, the newest entries, and a bell that rings when there is
// more. It exists while this process reads or owns the task. Readers pull at a cursor of their
// own: from the topic if it goes back far enough, otherwise from the store. So nothing waits
// for a reader.
//
// A function is called by the nearest one above it that is indented less.
//
//	Topics.Join                     the topic of a task; Topics.Leave ends that
//	Topics.Follow                   a stream: events after a cursor
//	    Topics.batches
//	        Topic.after             the newest entries, from memory
//	        others.entries          for a task without an owner here
//	            alone.entries           in alone.go: asks the store
//	            Peers.entries           in remote.go: what one reader reads is shared by all
//	Topics.Await                    a blocking call: waits for a state, by Topic.watch
//	Topics.LoadAt                   the task as it is now
//	    Topics.held                 from the topic, if this process may trust what it has
//	    stored.Reader               from the store
//
//	Topic.Adopt                     an owner comes: its task is in the topic from now on
//	Topic.Publish                   its committed entries become visible; readers wake
//	Topic.Release                   it leaves: from now on the store is asked
//
// If only this process uses the store, that is all: read topic.go, topics.go, follow.go,
// await.go and read.go. [Peers] is for a store that other processes use, too. It learns of
// their changes by hints and by a poll, and shares what one reader reads among all readers
// here.
//
// Topics are safe for concurrent use. Their lock also protects who owns a task, which package
// task keeps. Errors are [*a2a.Error] values or internal.
package topic
