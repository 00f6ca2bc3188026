// Package store is the contract between the engine and the disk: what it means
// to keep tasks, and the memory store, which is the contract in executable
// form.
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
// All methods of a [Store] may be called at any time by anybody. Appends are
// applied in the order in which they were queued, and what is reported as
// written is durable and visible to every read that begins afterwards. A page
// of a list and a record are each from one moment; two calls are not.
//
// # Errors
//
// Callers branch on [ErrNotFound], [ErrConflict], [ErrLeaseLost] and
// [ErrDuplicate], and on [ErrClosed] while shutting down. Any other error of a
// write leaves open whether it happened: read before trying again. [ErrFull],
// [ErrReadOnly] and [ErrBusy] are such errors, too: they tell an operator what to
// do, and nobody that nothing happened.
//
// # Files
//
// store.go is the contract as a whole. Each of its parts is at the top of a file,
// above what the memory store makes of it: log.go (appends, entries, blobs),
// query.go (lists; retain.go is what is old, and its end), owner.go (heartbeats,
// and who takes over), share.go (clock, mail and hints of several processes),
// receipt.go (what is known when it comes again), outbox.go (webhooks; letter.go is
// what of them was given up) and vault.go (keys). Drivers use the same names.
// group.go is the group commit that they share.
//
// Drivers are in the packages below; archive moves whole stores as text, and
// storetest is the suite that each driver passes.
package store
