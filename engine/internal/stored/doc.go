// Package stored is a task as the store has it: how its entries and its end are
// written, and how they are read again.
//
//	r, st := stored.New(st, 64<<20)
//	task, err := r.FoldTo(ctx, key, seq)
//
// An entry of a log has a body, and large content of it is apart, once for all that
// refer to it: [SpillEntry] takes it out, and [Reader.Entry] puts it back. A task that
// ends is sealed in the same append: [Seal]. A [Reader] takes a task from its seal if
// it has one, or else folds its log. It makes room in the hold of the call before it
// reads what is large, and keeps finished tasks in memory as the bytes that the store
// has of them.
//
// The package knows nothing of owners, topics and other processes: what it reads is
// committed, and it may be behind or ahead of what a topic has published. A Reader is
// safe for concurrent use. Errors are [*a2a.Error] values or internal.
package stored
