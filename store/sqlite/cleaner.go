package sqlite

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// cleanAt is the length of the write-ahead log, in pages, at which it is
// moved into the database: 16 MiB.
const cleanAt = 4096

// cleaner moves the write-ahead log into the database (a checkpoint) on a
// connection and a goroutine of its own. SQLite would do it within a commit,
// and while readers overlap it would never find the moment to begin the log
// anew: it grows, and each commit pays for another attempt.
//
// The goroutine moves the bulk beside the writer. The short rest, for which no commit may
// be under way, is the writer's to move, between two of its own: a lock between the two
// would pass from one goroutine to the other and back, each time behind all others that
// wait for a processor.
type cleaner struct {
	// set at start, then constant
	logger *slog.Logger
	hint   chan struct{} // capacity one: the log is long
	quit   chan struct{} // closed by close
	ended  chan struct{} // closed by run

	// the writer's
	next   int // pages of the log at which to hint
	length int // of the log, in pages

	using sync.Mutex // protects the fields below
	conn  *conn
	moved int // pages of the log that the last pass left moved; 0: the writer has seen to that
	pass  int // passes since the log began anew
}

func startCleaner(path string, logger *slog.Logger) (*cleaner, error) {
	c, err := openConn(path, "rw")
	if err != nil {
		return nil, err
	}
	if err := c.Exec(durable); err != nil {
		c.close()
		return nil, err
	}
	k := &cleaner{
		conn:   c,
		logger: logger,
		hint:   make(chan struct{}, 1),
		quit:   make(chan struct{}),
		ended:  make(chan struct{}),
		next:   cleanAt,
	}
	go k.run()
	return k, nil
}

// committed is the writer's hook: after each commit it gets the log's length.
func (k *cleaner) committed(_ *sqlite3.Conn, _ string, pages int) error {
	k.length = pages
	if pages < cleanAt {
		k.next = cleanAt // the log began anew
	}
	if pages >= k.next {
		k.next = pages + cleanAt // if readers are in the way now, not again at each commit
		k.clean()
	}
	return nil
}

// clean has the goroutine move what there is of the log.
func (k *cleaner) clean() {
	select {
	case k.hint <- struct{}{}:
	default:
	}
}

func (k *cleaner) run() {
	defer close(k.ended)
	for {
		select {
		case <-k.hint:
			k.using.Lock()
			_, moved, err := k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
			if k.pass++; err == nil {
				k.moved = moved
			}
			k.using.Unlock()
			k.report(err)
		case <-k.quit:
			return
		}
	}
}

// restart lets the log begin anew if nearly all of it is moved. While much is written
// the rest is not short, and is part of another bulk. It is called between two commits.
func (k *cleaner) restart() {
	if !k.using.TryLock() {
		return
	}
	defer k.using.Unlock()
	if k.moved == 0 {
		return
	}
	const (
		short  = 256 // pages
		passes = 16  // or the log would grow on
	)
	left := k.length - k.moved
	k.moved = 0
	if left > short && k.pass < passes {
		k.clean()
		return
	}
	k.pass = 0
	// Readers that use the log are waited for, by all writers with this one: for
	// longer only if the log is long because they were not. If they take longer still,
	// the log grows on until the next attempt.
	wait := 5 * time.Millisecond
	if k.length >= 4*cleanAt {
		wait = 20 * time.Millisecond
	}
	err := k.conn.BusyTimeout(wait)
	if err == nil {
		_, _, err = k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	}
	k.report(err)
}

func (k *cleaner) report(err error) {
	if err != nil && !errors.Is(err, sqlite3.BUSY) {
		k.logger.Error("sqlite: the write-ahead log could not be moved into the database", "error", err)
	}
}

func (k *cleaner) close() {
	close(k.quit)
	<-k.ended
	k.using.Lock()
	defer k.using.Unlock()
	k.moved = 0
	k.conn.close()
}
