package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// maxAppend caps one append, in bytes. SQLite holds a row several times while
// it writes it, all of which must fit in maxMemory.
const maxAppend = 256 << 20

// Append implements store.Store.
func (s *Store) Append(a *store.Append, done func(error)) { s.group.Append(a, done) }

// commit is the group's writer: one transaction and one fsync for the batch, and for
// what joined it.
func (s *Store) commit(batch []*store.Append) []error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.between()
	errs, joined := make([]error, len(batch)), s.joins.take()
	if !s.transact(batch, errs, joined) && len(batch)+len(joined) > 1 {
		// One of them could not be written, so none was. Each gets its own
		// transaction now, that it may not take the others with it.
		for i := range batch {
			s.transact(batch[i:i+1], errs[i:i+1], nil)
		}
		for i := range joined {
			s.transact(nil, nil, joined[i:i+1])
		}
	}
	for _, j := range joined {
		close(j.done)
	}
	return errs
}

// transact applies a batch in one transaction, with what joined it, and sets errs and
// the errors of those. It returns false if a statement in between failed: then certainly
// nothing happened, and the caller may try otherwise. A failed COMMIT leaves the outcome
// open and must not be repeated.
func (s *Store) transact(batch []*store.Append, errs []error, joined []*joined) (settled bool) {
	writing := false // between BEGIN and COMMIT
	applied, entries, changed := 0, 0, false
	watcher := s.watcher.Load()
	var begun, written time.Time
	if watcher != nil {
		begun = time.Now()
	}
	err := s.writer.transaction(func() error {
		writing = true
		if err := s.tally.begin(s.writer); err != nil {
			return err
		}
		for i, a := range batch {
			refused, err := s.apply(a)
			if err != nil {
				return err
			}
			if errs[i] = refused; refused == nil {
				applied++
				entries += len(a.Entries)
			}
		}
		for _, j := range joined {
			did, err, broken := s.writer.savepoint(j.f)
			if broken != nil {
				return broken
			}
			j.err, changed = err, changed || did
		}
		if applied == 0 && !changed {
			return errNothing
		}
		if err := s.tally.write(s.writer); err != nil {
			return err
		}
		writing = false
		if watcher != nil {
			written = time.Now()
		}
		return nil
	})
	switch {
	case err == nil:
		s.commits.Add(1)
		s.entries.Add(int64(entries))
		if watcher != nil {
			end := time.Now()
			(*watcher)(store.Commit{Appends: applied, Entries: entries, Took: end.Sub(begun), Sync: end.Sub(written)})
		}
		return true
	case errors.Is(err, errNothing): // all was refused, each for its reason, or changed nothing
		return true
	}
	s.tally.forget()
	for _, j := range joined {
		j.err = err
	}
	err = wrap("append", err)
	for i := range errs {
		errs[i] = err
	}
	return !writing
}

// errNothing rolls a transaction back that has nothing to commit, which saves
// the fsync.
var errNothing = errors.New("nothing to commit")

// apply writes one append. refused says why it must not be; then nothing was
// written. err is a failure.
func (s *Store) apply(a *store.Append) (refused, err error) {
	if err := a.Validate(); err != nil {
		return err, nil
	}
	n := a.Size()
	if n > maxAppend {
		return fmt.Errorf("sqlite: an append of %d bytes, the most is %d", n, maxAppend), nil
	}
	if n >= grownFrom {
		s.large += n
	}
	c := s.writer
	if a.Alone() {
		if taken, err := c.counts(a); taken || err != nil {
			return duplicate(taken), err
		}
		return nil, c.issue(0, a)
	}
	form := form{a, s.piece(a)}
	task, refused, err := s.place(form)
	if refused != nil || err != nil {
		return refused, err
	}
	if form.piece == nil {
		if err := s.keepEntries(task, a); err != nil {
			return nil, err
		}
	}
	if form.apart() {
		err := c.stmt("INSERT INTO seal (task, body) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET body = excluded.body").
			int(task).blob(a.Seal.Body).exec()
		if err != nil {
			return nil, err
		}
	}
	for i := range a.Blobs {
		if err := c.keep(task, &a.Blobs[i]); err != nil {
			return nil, err
		}
	}
	if len(a.Pushes) > 0 {
		if err := c.setPushes(task, a); err != nil {
			return nil, err
		}
	}
	return nil, c.issue(task, a)
}

// keepEntries writes the entries of an append as a row of their own.
func (s *Store) keepEntries(task int64, a *store.Append) error {
	s.packed = store.Pack(s.packed[:0], a.Entries)
	err := s.writer.keepPacked(task, a.After+1, a.After+int64(len(a.Entries)), s.packed)
	if cap(s.packed) > bigArg {
		s.packed = nil
	}
	return err
}

func (c *conn) keepPacked(task, first, last int64, packed []byte) error {
	return c.stmt("INSERT INTO entry (task, first, last, body) VALUES (?, ?, ?, ?)").
		int(task).int(first).int(last).blob(packed).exec()
}

func duplicate(taken bool) error {
	if taken {
		return store.ErrDuplicate
	}
	return nil
}

// keep stores a blob unless it is there, and that the task refers to it.
func (c *conn) keep(task int64, b *store.Blob) error {
	key, there, err := c.stmt("SELECT key FROM blob WHERE hash = ?").text(b.Hash).one()
	if err != nil {
		return err
	}
	if !there {
		err := c.stmt("INSERT INTO blob (hash, data) VALUES (?, ?)").text(b.Hash).blob(b.Data).exec()
		if err != nil {
			return err
		}
		key = c.LastInsertRowID()
	}
	return c.stmt("INSERT INTO blob_task (blob, task) VALUES (?, ?) ON CONFLICT DO NOTHING").
		int(key).int(task).exec()
}

// errEnough ends a read whose page is full.
var errEnough = errors.New("enough")

// logSQL selects the rows of a log, and behind them what the task's own row has of it.
const logSQL = "SELECT first, last, body, NULL FROM entry WHERE task = (SELECT key FROM task WHERE tenant = ?1 AND owner = ?2 AND id = ?3) AND last > ?4 " +
	"UNION ALL SELECT 0, last, head, head_size + body_size FROM task WHERE tenant = ?1 AND owner = ?2 AND id = ?3 AND last > ?4 AND head_size IS NOT NULL ORDER BY 2"

// Entries implements store.Store.
func (r *Reader) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	page := store.NewEntryPage(after, limit)
	err := r.read(ctx, func(c *conn) error {
		err := c.sql(logSQL).text(k.Tenant).text(k.Owner).text(k.ID).int(after).
			each(func(r *sqlite3.Stmt) (err error) {
				first, last, body := r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnRawBlob(2)
				if r.ColumnType(3) != sqlite3.NULL {
					body, first, err = c.logOf(body, r.ColumnInt(3))
				}
				c.grow(len(body))
				if err == nil {
					err = page.Unpack(body, first, last)
				}
				if err == nil && page.Full() {
					return errEnough
				}
				return err
			})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return page.Entries, nil
}

// Blob implements store.Store.
func (r *Reader) Blob(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	err := r.read(ctx, func(c *conn) error {
		found := false
		err := c.stmt("SELECT data FROM blob WHERE hash = ?").text(hash).
			each(func(r *sqlite3.Stmt) error {
				found, data = true, r.ColumnBlob(0, nil)
				c.grow(len(data))
				return nil
			})
		if err == nil && !found {
			return store.ErrNotFound
		}
		return err
	})
	return data, err
}

// Blobs implements store.Store.
func (r *Reader) Blobs(ctx context.Context, k store.Key) ([]string, error) {
	return find(ctx, r, "blob_task", scanText, func(c *conn) *stmt {
		return c.stmt("SELECT hash FROM blob_task JOIN blob ON blob.key = blob_task.blob WHERE blob_task.task = " + taskKey + " ORDER BY hash").
			text(k.Tenant).text(k.Owner).text(k.ID)
	})
}
