// Package stored has the stored form of tasks: how their entries and ends are written and read.
//
//	r, st := stored.New(st, 64<<20)
//	task, err := r.FoldTo(ctx, key, seq)
//
// An entry of a log has a body. Large content is stored apart from it, once for all entries
// that refer to it: [SpillEntry] takes it out, and [Reader.Entry] puts it back. A task that
// ends is sealed in the same append: [Seal]. A [Reader] takes a task from its seal if it has
// one, otherwise it folds the log. It reserves memory in the hold of the call before it reads
// large data, and keeps finished tasks in memory as their stored bytes.
//
// The package knows nothing of owners, topics and other processes: what it reads is
// committed, and it may be behind or ahead of what a topic has published. A Reader is
// safe for concurrent use. Errors are [*a2a.Error] values or internal.
package stored
