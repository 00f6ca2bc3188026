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

// cleaner moves the write-ahead log into the database (a checkpoint) on its own connection
// and goroutine. SQLite would do it within a commit. While readers overlap it would never
// find a moment to restart the log, so the log would grow and each commit would pay for
// another attempt.
//
// The goroutine moves most of the log while the writer works. The short rest can only be
// moved while no commit runs, so the writer moves it between two commits. A lock between the
// two goroutines would pass back and forth, each time behind all other goroutines that wait
// for a processor.
type cleaner struct {
	// set at start, then constant
	logger *slog.Logger
	hint   chan struct{} // capacity one: the log is long
	quit   chan struct{} // closed by close
	ended  chan struct{} // closed by run

	// owned by the writer
	next   int // length of the log, in pages, at which to hint
	length int // length of the log, in pages

	using sync.Mutex // protects the fields below
	conn  *conn
	moved int // pages of the log that the last pass has moved; 0: the writer has handled that pass
	pass  int // passes since the log last restarted
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

// committed is called after each commit of the writer with the length of the log.
func (k *cleaner) committed(_ *sqlite3.Conn, _ string, pages int) error {
	k.length = pages
	if pages < cleanAt {
		k.next = cleanAt // the log restarted
	}
	if pages >= k.next {
		k.next = pages + cleanAt // if readers block the checkpoint, wait for more pages instead of retrying at each commit
		k.clean()
	}
	return nil
}

// clean asks the goroutine to move the log.
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

// restart lets the log restart if nearly all of it is moved. If the rest is long, because
// much was written meanwhile, it starts another pass instead. It is called between two
// commits.
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
		passes = 16  // then restart anyway, or the log would grow on
	)
	left := k.length - k.moved
	k.moved = 0
	if left > short && k.pass < passes {
		k.clean()
		return
	}
	k.pass = 0
	// This waits for readers that use the log, and all writers wait with it. It waits longer
	// only if the log has become long because earlier attempts failed. If the readers take
	// even longer, the log grows until the next attempt.
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
