package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/store"
)

// Options adjusts a Store. A nil *Options means all defaults.
type Options struct {
	// Readers caps the connections that read at the same time. They are opened when needed
	// and kept. Zero means one for each processor, at least 4.
	Readers int
	// MaxSize caps the database file, in bytes (rounded down to pages of 4096; the
	// write-ahead log is extra). Appends beyond it fail, as on a full disk. Zero means no
	// cap.
	MaxSize int64
	// Overwrite makes deletions write zeros over everything that they remove. By default,
	// pages that become free keep their content until they are used again. It costs writes.
	Overwrite bool
	// Migrating is called when Open migrates a database of an older version. It gets how many
	// of the steps are done: first none, finally all. Nil calls nothing.
	Migrating func(done, of int)
	// Logger receives a record when the write-ahead log cannot be cleaned up.
	// Nil discards.
	Logger *slog.Logger
}

func (o *Options) readers() int {
	return cmp.Or(max(o.Readers, 0), max(4, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))))
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

// Store is a store.Store in one SQLite file.
type Store struct {
	// set at start, then constant
	Reader
	lock    *lock
	group   *store.Queue[work]
	cleaner *cleaner
	packer  chan struct{} // closed when packing of old tasks has ended, or was stopped by Close

	writing         sync.Mutex // protects the fields below
	writer          *conn      // nil after Close
	packed          []byte     // buffer of keepEntries
	clear, squeezed []byte     // buffers of piece
	quick           quickTasks
	lastKey         int64   // highest key that any task ever had
	unused          []int64 // values that get no more chunks; those still staged are waste, see sweep
	tally           tally
	working         working

	staging   sync.Mutex // stages one append after the other; otherwise all would be in memory until all are written
	lastValue int64      // key of the newest value in chunks; protected by staging

	commits, entries atomic.Int64
	watcher          atomic.Pointer[func(store.Commit)] // nil: none

	mail store.Mailbox

	closing  sync.Once
	over     chan struct{} // closed by Close
	closeErr error
}

// Stats returns what has been written since Open. Each commit is one fsync.
func (s *Store) Stats() store.Stats {
	return store.Stats{Commits: s.commits.Load(), Entries: s.entries.Load()}
}

// OnCommit implements store.Metered.
func (s *Store) OnCommit(f func(store.Commit)) { s.watcher.Store(&f) }

// Open opens the database at path, or creates it if there is no file or an empty one. It also
// creates the directory. Files get mode 0600 and directories 0700. Only one process at a time
// can have the database open.
//
// A file that is damaged, belongs to another program, or is of a newer version is refused and
// left exactly as it is.
func Open(path string, o *Options) (*Store, error) {
	s, err := open(path, o, &current)
	if err != nil {
		return nil, classified(err)
	}
	return s, nil
}

func open(path string, o *Options, sc *schema) (*Store, error) {
	path, err := locate(path)
	if err != nil {
		return nil, err
	}
	l, err := acquire(path)
	if err != nil {
		return nil, err
	}
	s := &Store{lock: l, working: working{}, over: make(chan struct{})}
	if err := s.start(path, o, sc); err != nil {
		l.release()
		return nil, err
	}
	return s, nil
}

// start opens the connections. The caller holds the lock.
func (s *Store) start(path string, o *Options, sc *schema) (err error) {
	if err := prepare(path, sc); err != nil {
		return err
	}
	o = cmp.Or(o, new(Options))
	w, err := openWriter(path, o, sc)
	if err != nil {
		return err
	}
	s.writer, s.path, s.readers = w, path, newPool(path, o.readers())
	defer func() {
		if err == nil {
			return
		}
		s.readers.close()
		if s.cleaner != nil {
			s.cleaner.close()
		}
		w.close()
		err = fmt.Errorf("sqlite: open %s: %w", path, err)
	}()
	if err := syncDir(path); err != nil {
		return err
	}
	if s.cleaner, err = startCleaner(path, o.logger()); err != nil {
		return err
	}
	w.WALHook(s.cleaner.committed)
	if s.lastKey, err = w.lastKey(); err != nil {
		return err
	}
	if s.unused, s.lastValue, err = w.staged(); err != nil {
		return err
	}
	r, err := s.readers.get(context.Background()) // so that one is open, whatever happens later
	if err != nil {
		return err
	}
	s.readers.put(r)
	if err := s.startPacking(o.logger()); err != nil {
		return err
	}
	s.group = store.NewQueue(s.commit)
	s.sweepOn()
	return nil
}

// durable makes commits and checkpoints wait for the disk itself. The last two settings
// matter on macOS only, where a plain fsync does not.
const durable = "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; "

// openWriter opens the one connection that writes.
func openWriter(path string, o *Options, sc *schema) (_ *conn, err error) {
	c, err := openConn(path, "rw")
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			c.close()
			err = fmt.Errorf("sqlite: open %s: %w", path, err)
		}
	}()
	// WAL and FULL together mean one fsync per commit, before it is reported. There are no
	// automatic checkpoints: the cleaner does them while commits continue. The cache holds
	// the pages being written and those of a large append. A larger cache would cost time: a
	// commit that moved pages within a tree scans the whole cache when it ends
	// (docs/design/0010-speed.md).
	err = c.Exec(durable + "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192")
	if err != nil {
		return nil, err
	}
	// A deleted webhook's credentials should not stay in the file. FAST leaves content that
	// fills whole pages, because overwriting that too would write more.
	overwrite := "FAST"
	if o.Overwrite {
		overwrite = "ON"
	}
	if err := c.Exec("PRAGMA secure_delete = " + overwrite); err != nil {
		return nil, err
	}
	if n := o.MaxSize; n > 0 {
		if err := c.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", max(n/pageSize, 1))); err != nil {
			return nil, err
		}
	}
	if err := sc.migrate(c, o.Migrating); err != nil {
		return nil, err
	}
	if err := c.gather(); err != nil {
		return nil, err
	}
	return c, nil
}

// Close implements store.Store. It leaves a single file: it moves the write-ahead log into
// the database.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.over)
		<-s.packer
		s.group.Close()
		s.cleaner.close()
		s.readers.close()
		s.writing.Lock()
		defer s.writing.Unlock()
		w := s.writer
		s.writer = nil
		w.rollback()
		if err := w.close(); err != nil {
			s.closeErr = fmt.Errorf("sqlite: close: %w", err)
		}
		s.lock.release()
	})
	return s.closeErr
}
