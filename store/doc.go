// Package store is the contract between the engine and the disk. It also has the memory
// store, which is that contract in executable form.
//
// A task is an append-only log of entries. Beside it there is one index row,
// by which tasks are listed and owned, and once the task has ended its folded
// form (the seal). Everything is written by one operation, an [Append]: these
// entries, if the log ends here and the owner is still the owner.
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
// A [Store] is safe for concurrent use. It applies appends in the order in which they
// were queued. Once it reports an append as written, the append is durable, and every read
// that begins afterwards sees it. A page of a list and a record are each from one moment;
// two calls are not.
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
// store.go is the contract as a whole. Each of its parts is at the top of a file, above
// what the memory store makes of it: log.go (appends, entries, blobs), query.go (lists;
// retain.go deletes what is old), owner.go (heartbeats and take-overs), share.go (clock,
// mail and hints of several processes), receipt.go (messages that were accepted before),
// outbox.go (webhooks; letter.go has the dead letters) and vault.go (keys). Drivers use
// the same names. group.go is the group commit that they share.
//
// Drivers are in the packages below; archive moves whole stores as text, and
// storetest is the suite that each driver passes.
package store
