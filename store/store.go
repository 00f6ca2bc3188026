package store

import (
	"context"
	"errors"
	"time"
)

// The errors that callers branch on. After any other error of a Store the effect is unknown:
// the write may or may not have happened.
var (
	ErrNotFound  = errors.New("store: not found")
	ErrConflict  = errors.New("store: the log does not end where the append said")
	ErrLeaseLost = errors.New("store: the task has another owner")
	ErrDuplicate = errors.New("store: a receipt of this name counts already")
)

// Reasons for failed writes, for operators. Drivers wrap these if they know the reason. With
// ErrUnreachable, reads fail too.
var (
	ErrFull     = errors.New("store: there is no space left")
	ErrReadOnly = errors.New("store: it cannot be written")
	ErrBusy     = errors.New("store: another program has it locked")

	ErrUnreachable = errors.New("store: the database cannot be reached")
)

// Store keeps tasks, each with an append-only log and an index row, and blobs. It knows
// nothing of A2A's rules; bodies and states are opaque to it.
//
// All methods may be called concurrently. When its ctx ends, a method returns early with the
// context's cause. The interface is divided into parts so that each can be read alone, and
// for callers that need only one. A driver implements them all, because an Append changes
// most of what the others read.
//
// Times have millisecond precision; finer digits are dropped. Bytes passed to a Store must
// not be changed afterwards; bytes it returns belong to the caller.
type Store interface {
	Log
	Index
	Nodes
	Peers
	Receipts
	Outbox
	Vault

	// Close waits for queued appends and releases everything. Calling it again
	// does nothing. All other methods return ErrClosed afterwards.
	Close() error
}

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("store: closed")

// Key names a task. Tenant and Owner are part of it, so a caller cannot even ask for another
// owner's task by ID alone.
type Key struct {
	Tenant string
	Owner  string
	ID     string
}

// Row is a task's entry in the index.
type Row struct {
	Key
	Context string
	State   int32     // opaque; lists filter by it
	Updated time.Time // when State last changed; lists sort by it
	Created time.Time
	Last    int64 // seq of the log's last entry; set by the store, ignored on input

	// Active means that the task needs a process. If Node is dead, another node claims the
	// task; if Node is empty, a node draws it.
	Active bool
	Node   string
	Epoch  int64 // rises with each change of owner; a write with an older one is refused
	Lost   int32 // owners lost in the current turn; raised by Claim, reset by the owner

	Turn    int64 // seq of the message entry that began the current turn; 0: none
	Attempt int32 // runs of the agent in the current turn, this one included
}

// Record is a task as the index returns it.
type Record struct {
	Row

	// Seal is nil unless the task is sealed and Size is at most what the caller asked for:
	// see Get and Query.MaxBytes.
	Seal *Seal

	// Size is the number of bytes that a reader of the whole task gets: the head and body of
	// its seal (without a seal, its log as Pack frames it), plus the blobs that the task
	// refers to, each counted once. In a list without bodies, it is as Query.Body says. The
	// store finds it without reading the content.
	Size int64
}

// Task is everything stored about a task, as of one moment.
type Task struct {
	Record                // with its seal, however large
	Log      []Entry      // complete
	Blobs    []Blob       // sorted by hash; their Data is read separately
	Receipts []Receipt    // sorted by name
	Pushes   []PushConfig // sorted by ID
	Letters  []DeadLetter // by config, in any order of configs; within a config by seq
}

// Stats counts a driver's writes. Drivers that count them have a method Stats() Stats.
type Stats struct {
	Commits int64 // transactions of appends; each is at least one wait for the disk
	Entries int64 // log entries in those transactions
}

// Commit describes one finished transaction of appends.
type Commit struct {
	Appends int           // number of appends in it
	Entries int           // number of log entries in it
	Took    time.Duration // total time
	Sync    time.Duration // time of the COMMIT, which waits for the disk; 0: not measured
}

// Metered is a Store that reports its transactions of appends.
type Metered interface {
	// OnCommit sets a function that the writing goroutine calls after each successful
	// transaction. All appends wait while f runs. It replaces the previous f.
	OnCommit(f func(Commit))
}

// Hinted is a Store whose hints come over a connection that may be lost.
type Hinted interface {
	// Hears reports whether hints of other processes arrive at present.
	Hears() bool
}

// Do appends and waits for the outcome. If ctx ends first, the append may
// still happen.
func Do(ctx context.Context, s Log, a *Append) error {
	done := make(chan error, 1)
	s.Append(a, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
