// Package topic is where the readers of a task meet its owner.
//
// A [Topic] has the task as committed, the newest entries, and a bell that says that
// there is more. It exists while anybody in this process reads or owns the task. Readers
// pull at a cursor of their own, from the topic if that goes back so far and from the
// store if it does not, so nobody waits for a reader.
//
// A function is called by the one above it that is indented less.
//
//	Topics.Join                     the topic of a task; Topics.Leave ends that
//	Topics.Follow                   a stream: events behind a cursor
//	    Topics.batches
//	        Topic.after             the newest entries, which are in memory
//	        others.entries          of a task that nobody here owns
//	            Topics.storedEntries    alone.go's: the store is asked
//	            Peers.entries           remote.go's: what one reads is for all
//	Topics.Await                    a blocking call: until a state, by Topic.watch
//	Topics.LoadAt                   the task as it is
//	    Topics.held                 from the topic, if this process may trust what it has
//	    stored.Reader               from the store
//
//	Topic.Adopt                     an owner comes: its task is in the topic from now on
//	Topic.Publish                   what it committed is seen; readers wake
//	Topic.Release                   it leaves: from now on the store knows best
//
// Where the store is this process's alone, that is all: read topic.go, topics.go,
// follow.go, await.go and read.go. [Peers] is for stores that other processes have,
// too. It hears what they do, by hints and by a poll, and shares among readers here what
// one of them reads.
//
// Topics are safe for concurrent use. Their lock also protects who owns a task, which
// the owners' side keeps. Errors are [*a2a.Error] values or internal.
package topic
