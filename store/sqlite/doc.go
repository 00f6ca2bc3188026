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
// A Store may be used by any number of goroutines. There is one writer: all
// appends that wait are one transaction, so that 64 writers share an fsync
// instead of queueing for it. Readers have connections of their own and never
// wait for the writer, nor it for them.
//
// One process at a time: a second Open of the same file fails and names the
// process that has it. The lock goes with the process, however it ends.
//
// # Errors
//
// Those of [store.Store]. After an I/O error, with a full disk, without the right
// to write, or while another program has the database locked for more than 5
// seconds, the transaction is rolled back and its appends get the error; the
// next one starts afresh. Writes and [Open] tell which by [store.ErrFull],
// [store.ErrReadOnly] and [store.ErrBusy]; reads go on in all these cases.
//
// # On disk
//
// The file is at the path given. While it is open there are three more beside
// it: the write-ahead log (-wal), its index (-shm) and the lock (.lock). They
// go when the store is closed; after a crash they stay, and -wal holds
// committed data: copy it along, or use [Reader.Backup], which works beside a Store.
// The schema is in migrations/.
package sqlite
