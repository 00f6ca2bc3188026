// Package store is the contract between the engine and the disk. It also has the memory
// store, which is that contract in executable form.
//
// A task is an append-only log of entries. Beside the log, a task has one index row, by which
// it is listed and owned, and, once the task has ended, its folded form (the seal). One
// operation writes them all: an [Append] adds its entries if the log ends where the append
// expects and the task's owner has not changed.
//
//	st := store.NewMemory()
//	defer st.Close()
//	err := store.Do(ctx, st, &store.Append{
//		Row:     store.Row{Key: store.Key{ID: "t1"}, State: 1, Updated: now, Created: now},
//		Entries: []store.Entry{{Seq: 1, Time: now, Kind: 1, Body: body}},
//	})
//
// # Concurrency
//
// A [Store] is safe for concurrent use. It applies appends in the order in which they were
// queued. Once it reports an append as written, the append is durable, and every read that
// begins afterwards sees it. One call that returns a page of a list or a record shows the
// state at one moment; two calls may see different moments.
//
// # Errors
//
// Callers branch on [ErrNotFound], [ErrConflict], [ErrLeaseLost] and [ErrDuplicate], and
// on [ErrClosed] while shutting down. After any other error of a write it is unknown
// whether the write happened: read before you try again. That includes [ErrFull],
// [ErrReadOnly] and [ErrBusy], which tell an operator what to do.
//
// # Files
//
// store.go is the contract as a whole. Each of its parts is at the top of a file, above the
// memory store's implementation of it: log.go (appends, entries, blobs), query.go (lists;
// retain.go deletes old tasks), owner.go (heartbeats and takeovers), share.go (clock,
// messages and hints between processes), receipt.go (messages that were accepted before),
// outbox.go (webhooks; letter.go has the dead letters) and vault.go (keys). Drivers use the
// same file names. group.go is the group commit that drivers share.
//
// Drivers are in the packages below; archive moves whole stores as text, and
// storetest is the suite that each driver passes.
package store
