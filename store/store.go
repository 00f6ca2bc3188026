package store

import (
	"context"
	"errors"
	"time"
)

// The errors that callers branch on. Anything else from a Store is a failure
// whose effect is unknown: the write may or may not have happened.
var (
	ErrNotFound  = errors.New("store: not found")
	ErrConflict  = errors.New("store: the log does not end where the append said")
	ErrLeaseLost = errors.New("store: the task has another owner")
	ErrDuplicate = errors.New("store: a receipt of this name counts already")
)

// Why a write failed, for operators. Drivers wrap these where they can tell.
// ErrUnreachable means that reads fail, too.
var (
	ErrFull     = errors.New("store: there is no space left")
	ErrReadOnly = errors.New("store: it cannot be written")
	ErrBusy     = errors.New("store: another program has it locked")

	ErrUnreachable = errors.New("store: the database cannot be reached")
)

// Store keeps tasks: an append-only log each, an index row each, and blobs. It
// knows nothing of A2A's rules; bodies and states are opaque to it.
//
// All methods may be called concurrently, and end early, with its cause, when their ctx
// does. The parts are there to be read one by one and for callers that need only one: a
// driver implements them all, because an Append changes most of what the others read.
//
// Times have millisecond precision; finer digits are dropped. Bytes handed to
// a Store must not be changed afterwards; bytes it returns belong to the
// caller.
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

// Key names a task. Tenant and Owner are part of it: a task of another owner
// cannot even be asked for.
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
	Updated time.Time // when State changed last; lists sort by it
	Created time.Time
	Last    int64 // seq of the log's last entry; kept by the store, ignored on input

	// Active means that the task wants a process: it is taken over when the
	// node that has it is gone, or drawn if Node is empty.
	Active bool
	Node   string
	Epoch  int64 // counts owners; a write with an old one is refused
	Lost   int32 // owners that were lost in the current turn; kept by Claim, reset by the owner

	Turn    int64 // seq of the message entry that began the current turn; 0: none
	Attempt int32 // runs of the agent in the current turn, this one included
}

// Record is a task as the index knows it.
type Record struct {
	Row

	// Seal is nil unless the task is sealed and Size is within what the caller
	// asked for: see Get and Query.MaxBytes.
	Seal *Seal

	// Size is how many bytes of content a reader of the whole task gets: the head
	// and the body of its seal or, without a seal, its log as Pack frames it, and
	// in both cases the blobs that the task refers to, each counted once. In a list
	// without bodies it is what Query.Body says. It is found without reading the
	// content.
	Size int64
}

// Task is all that is kept of a task, as of one moment.
type Task struct {
	Record                // with its seal, however large
	Log      []Entry      // all of it
	Blobs    []Blob       // sorted by hash; their Data is read apart
	Receipts []Receipt    // sorted by name
	Pushes   []PushConfig // sorted by ID
	Letters  []DeadLetter // in any order of their configs, of each by seq
}

// Stats counts what a driver has written. Drivers that can tell have a method
// Stats() Stats.
type Stats struct {
	Commits int64 // transactions of appends; each is at least one wait for the disk
	Entries int64 // log entries in them
}

// Commit is one transaction of appends, as it went.
type Commit struct {
	Appends int           // that shared it
	Entries int           // log entries that it wrote
	Took    time.Duration // all of it
	Sync    time.Duration // of it for the COMMIT, which waits for the disk; 0: it was not timed
}

// Metered is a Store that tells how its transactions of appends go.
type Metered interface {
	// OnCommit has f called after each transaction that succeeded, by the goroutine that
	// writes: what f does, all appends wait for. It takes the place of the f before.
	OnCommit(f func(Commit))
}

// Hinted is a Store whose hints come through a connection that may be lost.
type Hinted interface {
	// Hears reports whether hints of other processes arrive now.
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
