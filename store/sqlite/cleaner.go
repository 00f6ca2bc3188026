package sqlite

import (
	"errors"
	"log/slog"
	"math"
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
type cleaner struct {
	// set at start, then constant
	conn    *conn
	writing *sync.Mutex // of the store
	logger  *slog.Logger
	hint    chan struct{} // capacity one: the log is long
	quit    chan struct{} // closed by close
	ended   chan struct{} // closed by run

	// protected by writing
	next   int // pages of the log at which to hint
	length int // of the log, in pages
}

func startCleaner(path string, writing *sync.Mutex, logger *slog.Logger) (*cleaner, error) {
	c, err := openConn(path, "rw")
	if err != nil {
		return nil, err
	}
	// A restart waits for readers at most this long, with the writer waiting
	// too. If they take longer the log grows on until the next attempt.
	if err := errors.Join(c.BusyTimeout(20*time.Millisecond), c.Exec(durable)); err != nil {
		c.close()
		return nil, err
	}
	k := &cleaner{
		conn:    c,
		writing: writing,
		logger:  logger,
		hint:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		ended:   make(chan struct{}),
		next:    cleanAt,
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
		select {
		case k.hint <- struct{}{}:
		default:
		}
	}
	return nil
}

func (k *cleaner) run() {
	defer close(k.ended)
	for {
		select {
		case <-k.hint:
			if err := k.clean(); err != nil && !errors.Is(err, sqlite3.BUSY) {
				k.logger.Error("sqlite: the write-ahead log could not be moved into the database", "error", err)
			}
		case <-k.quit:
			return
		}
	}
}

// clean does the bulk beside the writer, then stops it for the short rest, so
// that the log can begin anew. While much is written the rest is not short, and is
// part of another bulk.
func (k *cleaner) clean() error {
	const passes = 16
	most := 256 // pages that are a short rest
	for pass := 1; ; pass++ {
		_, moved, err := k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		if err != nil {
			return err
		}
		if pass == passes { // or the log would grow on
			most = math.MaxInt
		}
		if again, err := k.restart(moved, most); !again {
			return err
		}
	}
}

// restart lets the log begin anew. If more than so many pages of it are left, it does
// nothing, and again is true.
func (k *cleaner) restart(moved, most int) (again bool, _ error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	if k.length-moved > most {
		return true, nil
	}
	_, _, err := k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	return false, err
}

func (k *cleaner) close() {
	close(k.quit)
	<-k.ended
	k.conn.close()
}
