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
var (
	ErrFull     = errors.New("store: there is no space left")
	ErrReadOnly = errors.New("store: it cannot be written")
	ErrBusy     = errors.New("store: another program has it locked")

	ErrUnreachable = errors.New("store: the database cannot be reached")
)

// Store keeps tasks: an append-only log each, an index row each, and blobs. It
// knows nothing of A2A's rules; bodies and states are opaque to it. All
// methods may be called concurrently.
//
// Times have millisecond precision; finer digits are dropped. Bytes handed to
// a Store must not be changed afterwards; bytes it returns belong to the
// caller.
type Store interface {
	// Append queues one atomic change of one task and returns at once, unless
	// the queue is full, when it waits for room. done is called exactly once,
	// from a goroutine of the store, when the outcome is certain or lost:
	//
	//   - nil: the change is durable (fsynced) and visible to readers;
	//   - ErrConflict: the log does not end at a.After (or, with After 0, the
	//     task exists), nothing happened;
	//   - ErrLeaseLost: the stored epoch is not a.Epoch, nothing happened;
	//   - ErrNotFound: a.After is not 0 and there is no such task;
	//   - ErrDuplicate: a receipt of a counts already, see Receipt, nothing
	//     happened; reported only where all else is as the append said;
	//   - an error of a.Validate: nothing happened;
	//   - anything else: the effect is unknown, Get tells.
	//
	// Where both the epoch and the end of the log differ it is ErrLeaseLost: a
	// former owner must stop, not read on and try again.
	//
	// done must not block and must not call Append (it may hand over to
	// another goroutine). Appends of one task are applied in the order they were
	// queued, those of others may pass large ones. What waits is committed
	// together (group commit), and the failure of one does not touch the others.
	// After Close, done gets ErrClosed.
	Append(a *Append, done func(error))

	// Get returns a task's record, with Seal.Body only if body is true.
	Get(ctx context.Context, k Key, body bool) (*Record, error)

	// Entries returns up to limit entries with Seq > after, in order. An
	// unknown task has none. limit <= 0 means all.
	Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error)

	// Owners returns up to limit owners who have a task of an ID in a tenant,
	// sorted by bytes. It costs a look at each owner of the tenant. limit must be
	// at least 1.
	Owners(ctx context.Context, tenant, id string, limit int) ([]string, error)

	// List returns a page of an owner's tasks, newest Updated first, then by
	// ID descending, then, with AnyOwner, by owner descending.
	List(ctx context.Context, q Query) (*Page, error)

	// Blob returns the bytes stored under a hash, or ErrNotFound.
	Blob(ctx context.Context, hash string) ([]byte, error)

	// Now returns the time by a clock that all processes that share the store
	// agree on, with its finer digits. For a store that is one machine's it is that
	// machine's.
	Now(ctx context.Context) (time.Time, error)

	// Beat says that node lives now. The first one registers it.
	Beat(ctx context.Context, node string, now time.Time) error

	// Claim gives node up to limit tasks that are Active and whose Node is not
	// registered, left, or has not beaten since deadBefore; node's own are
	// never taken, nor are those that wait, see Draw. Each claimed row gets Node =
	// node, Epoch + 1 and, unless its
	// node left in good order (see Leave), Lost + 1, durably, and is returned as
	// it now is. Fewer than limit means that none is left; then all other nodes
	// that left or are dead by deadBefore are forgotten.
	Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error)

	// Draw gives node up to limit of the tasks that wait for a process: Active,
	// with an empty Node. Tenants take turns, in the order of their names by bytes:
	// one task of each, from the first behind after and around, and again. Of a
	// tenant's, those last updated longest ago come first, then by owner and ID; in
	// that order of turns they are returned, as they now are: with Node = node and
	// Epoch + 1. Tasks that another Draw is about to get may be passed over. Fewer
	// than limit means that none is left but such. limit must be at least 1.
	Draw(ctx context.Context, node, after string, limit int) ([]Row, error)

	// Take is Claim or Draw for one task. ErrNotFound means that there is nothing
	// to take: no such task, or not Active, or its node lives or is node itself.
	Take(ctx context.Context, node string, deadBefore time.Time, k Key) (*Row, error)

	// Leave says that node ends in good order, after its last write: its tasks
	// can be claimed at once, and no process was lost with it. A Beat takes it
	// back.
	Leave(ctx context.Context, node string) error

	// Rows returns the rows of those of keys that there are, each once, in any order.
	Rows(ctx context.Context, keys []Key) ([]Row, error)

	// Post puts mail into the boxes of nodes. It need not outlive a crash: who waits
	// for an answer has to look at what became of the other node.
	Post(ctx context.Context, all []Mail) error

	// Mail takes up to limit pieces of mail out of a node's box, in the order in
	// which each sender posted them. A piece is returned once at most. Those that
	// nobody takes are dropped after MailKept, about.
	Mail(ctx context.Context, node string, limit int) ([]Mail, error)

	// Watch calls f, never twice at a time, when other processes changed something,
	// until ctx ends or the store is closed, and returns why. It may also be called
	// for what this process changed. f must not block. Hints may be late, doubled
	// or lost: beneath them callers look from time to time. That a task begins need
	// not be told, unless it waits for a process: nobody waits for what was not
	// there. A store that no other process can change has none.
	Watch(ctx context.Context, f func(Hint)) error

	// Receipt returns the receipt of a name in the tenant and owner of k, whether
	// it still counts or not; ErrNotFound if there is none.
	Receipt(ctx context.Context, k Key, name string) (*Receipt, error)

	// Receipts returns the receipts of a task, sorted by name. An unknown task
	// has none.
	Receipts(ctx context.Context, k Key) ([]Receipt, error)

	// Forget removes up to q.Limit receipts and returns how many it removed;
	// fewer than q.Limit means that none is left.
	Forget(ctx context.Context, q ForgetQuery) (int, error)

	// Secret returns a random 32-byte secret that is made on first use and
	// kept under name.
	Secret(ctx context.Context, name string) ([]byte, error)

	// Keep replaces what is kept under name if it is was, and returns what is
	// there afterwards: is, or what another caller kept meanwhile. In all three
	// nil stands for nothing, which empty bytes are not. Its names are apart from
	// those of Secret.
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)

	// Kept returns all that is kept, by name.
	Kept(ctx context.Context) (map[string][]byte, error)

	// Idle returns up to q.Limit rows of tasks, of all tenants and owners, that
	// are not Active, in q.State, and were last updated before q.Before: those
	// updated longest ago first, then by tenant, owner and ID.
	Idle(ctx context.Context, q IdleQuery) ([]Row, error)

	// Delete removes tasks, each if it is still as its row says: with the same
	// Last, Epoch and Updated. Others are left alone, so that a task that went
	// on meanwhile, or one that is gone and began anew, is safe. With a task go
	// its log, its seal, its receipts, its push configs and dead letters, and the
	// blobs that no other task refers to. For readers a task is there or not:
	// none sees a part of it.
	//
	// It returns how many it removed. The driver divides the work so that
	// appends in between wait for no more than a small part of it. After an
	// error some tasks may be gone and others not, and what a lost call left
	// behind out of sight is removed by the next one, whatever its rows.
	Delete(ctx context.Context, rows []Row) (int, error)

	// Tasks returns up to limit rows of all tasks in the order of their keys
	// (tenant, owner, ID, each by its bytes), from behind after; nil: from the
	// first. limit must be at least 1.
	Tasks(ctx context.Context, after *Key, limit int) ([]Row, error)

	// SetPush creates or replaces a push config of a task, with its progress. The
	// dead letters of one that is replaced stay: where it goes now they can be
	// sent again. ErrNotFound means that there is no such task.
	SetPush(ctx context.Context, p *PushConfig) error

	// Push returns a push config, or ErrNotFound.
	Push(ctx context.Context, id PushID) (*PushConfig, error)

	// Pushes returns up to limit push configs of a task whose ID comes behind
	// after, in that order, by bytes. limit must be at least 1. An unknown task
	// has none.
	Pushes(ctx context.Context, k Key, after string, limit int) ([]PushConfig, error)

	// DropPush removes a push config with its dead letters. Removing one that is
	// not there does nothing. Many letters go in steps, the config with the last;
	// after an error some may be gone already.
	DropPush(ctx context.Context, id PushID) error

	// Advance changes the progress of push configs and adds dead letters, of all
	// that are named durably at once. Those that are gone, were created anew, or
	// are not of the node that an Advance names, are left alone.
	Advance(ctx context.Context, all []Advance) error

	// ClaimPushes gives node up to limit push configs that are Live and whose
	// Node is gone, as Claim says it, and returns how many; fewer than limit
	// means that none is left.
	ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error)

	// LivePushes returns up to limit push configs that are Live and of a node, in
	// an order that stays, from behind the one whose At is after; 0: from the
	// first. One that is replaced keeps its place. It looks at no others, however
	// many there are.
	LivePushes(ctx context.Context, node string, after int64, limit int) ([]PushState, error)

	// DeadLetters returns a page of dead letters of all tasks, in the order of
	// their configs, as LivePushes has it, then of their seqs.
	DeadLetters(ctx context.Context, q LetterQuery) ([]DeadLetter, error)

	// SetLetters replaces dead letters, each if it is there, or removes them if
	// gone is set.
	SetLetters(ctx context.Context, letters []DeadLetter, gone bool) error

	// Blobs returns the hashes of the blobs that a task refers to: those that
	// its appends came with, sorted. An unknown task has none.
	Blobs(ctx context.Context, k Key) ([]string, error)

	// Close waits for queued appends and releases everything. Calling it again
	// does nothing. All other methods return ErrClosed afterwards.
	Close() error
}

// ErrClosed is what every call gets after Close.
var ErrClosed = errors.New("store: closed")

// Key names a task. Tenant and Owner are part of it: a task of another owner
// cannot even be asked for.
type Key struct {
	Tenant string
	Owner  string
	ID     string
}

// Entry is one element of a task's log.
type Entry struct {
	Seq  int64
	Time time.Time
	Kind uint8
	Body []byte
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

// Seal is a finished task's folded form. Head is small and read with the row,
// Body may be large.
type Seal struct {
	Head []byte
	Body []byte
}

// Blob is content referred to by entries and seals.
type Blob struct {
	Hash string // of the content, chosen by the caller
	Data []byte
}

// Receipt says that something was taken, so that the same that comes again is
// known. Its name is unique within a tenant and owner: an append with one that
// counts already is refused, and one that does not count any more is replaced.
type Receipt struct {
	Name    string    // not empty
	Time    time.Time // when it was taken
	Until   time.Time // it counts for what is taken before this
	Digest  []byte    // of what was taken; opaque
	TaskID  string    // the append's Row.ID, ignored on input; "": there is no task
	Context string    // the task's or, without one, the append's Row.Context; ignored on input
	Seq     int64     // of the entry that took it; 0 where there is no task
	Answer  []byte    // what was answered where there is no task; opaque
}

// Append is one atomic change of one task.
type Append struct {
	Row     Row     // the index row as it shall be; Row.Key names the task
	After   int64   // the log must end here; 0: the task must not exist
	Epoch   int64   // the stored epoch must be this; ignored with After 0
	Entries []Entry // at least one; Seq After+1, After+2, …
	Seal    *Seal   // set when the task ends; nil takes an earlier one away, for the log went on
	Blobs   []Blob  // stored once per hash

	// Receipts come with the entries. Where no task comes of what was taken,
	// they may come alone: with a Row that has no ID, but the tenant and owner,
	// and with nothing else.
	Receipts []Receipt

	// Pushes are created or replaced with the entries, so that no entry is
	// missed.
	Pushes []PushConfig

	// Letters come with those of Pushes that they name by ID, from where these
	// were before: an import brings both at once.
	Letters []DeadLetter
}

// Record is a task as the index knows it.
type Record struct {
	Row
	Seal *Seal // nil unless sealed
}

// Query selects a page. Tenant always applies, and Owner unless AnyOwner is
// set.
type Query struct {
	Tenant, Owner string
	AnyOwner      bool      // of all owners of the tenant; costs a look at each of them
	Context       string    // "": any
	State         int32     // 0: any
	Since         time.Time // Updated not before this; zero: any
	Before        *Position // nil: from the start
	Limit         int       // at least 1
	Body          bool      // whether records carry Seal.Body
}

// IdleQuery selects tasks by state and age, whoever's they are.
type IdleQuery struct {
	State  int32
	Before time.Time // Updated before this
	After  *Row      // the last one of the page before; nil: from the start
	Limit  int       // at least 1
}

// ForgetQuery selects receipts: those that do not count any more at a time or,
// if Context is set, all of a context of an owner.
type ForgetQuery struct {
	Before                 time.Time // Until not after this; ignored with Context
	Tenant, Owner, Context string
	Limit                  int // at least 1
}

// LetterQuery selects dead letters.
type LetterQuery struct {
	Of    *PushID     // only of this config; nil: of all
	Again bool        // only those that are to be sent again
	After *DeadLetter // the last one of the page before; nil: from the start
	Limit int         // at least 1
}

// Position is a place in the order of List. Owner matters only in lists of any
// owner.
type Position struct {
	Updated time.Time
	ID      string
	Owner   string
}

// Page is a part of a list.
type Page struct {
	Records []Record
	Total   int  // matches of the query without Before and Limit
	More    bool // whether there is a next page
}

// Stats counts what a driver has written. Drivers that can tell have a method
// Stats() Stats.
type Stats struct {
	Commits int64 // transactions of appends; each is at least one wait for the disk
	Entries int64 // log entries in them
}

// Do appends and waits for the outcome. If ctx ends first, the append may
// still happen.
func Do(ctx context.Context, s Store, a *Append) error {
	done := make(chan error, 1)
	s.Append(a, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
