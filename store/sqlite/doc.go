// Package sqlite keeps tasks in one SQLite file. It is the default store: no
// server, no cgo, and an append is reported only after a real fsync.
//
//	st, err := sqlite.Open("data/parley.db", nil)
//	if err != nil {
//		return err // says what is wrong with the file and what to do
//	}
//	defer st.Close()
//
// # Concurrency
//
// A Store may be used by any number of goroutines. There is one writer: it puts all waiting
// appends into one transaction, so 64 writers share an fsync instead of queueing for it.
// Readers have their own connections; readers and the writer never wait for each other.
//
// One process at a time: a second Open of the same file fails and names the process that has
// it. The lock ends with the process, however the process ends.
//
// # Errors
//
// The errors of [store.Store]. If an I/O error occurs, the disk is full, the process may not
// write, or another program keeps the database locked for more than 5 seconds, the
// transaction is rolled back and its appends get the error. The next transaction starts
// afresh. Writes and [Open] wrap [store.ErrFull], [store.ErrReadOnly] or [store.ErrBusy] to
// tell which; reads continue in all these cases.
//
// # On disk
//
// The file is at the given path. While it is open, three more files are beside it: the
// write-ahead log (-wal), its index (-shm) and the lock (.lock). They are removed when the
// store is closed. After a crash they stay, and -wal holds committed data: copy it along, or
// use [Reader.Backup], which works while a Store is open. The schema is in migrations/.
package sqlite
