package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// maxAppend caps one append, in bytes. SQLite holds several copies of a row while it writes
// it, all of which must fit in maxMemory.
const maxAppend = 256 << 20

// work is an item that the group commits: an append, or another change within a commit.
type work struct {
	append *store.Append
	chunks *chunked // of the append, or of the append for which change writes a chunk; or nil
	change func(*conn) (changed bool, err error)
}

// commit applies a batch in one transaction with one fsync. The group calls it.
func (s *Store) commit(batch []work) []error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.cleaner.restart()
	errs := make([]error, len(batch))
	if !s.transact(batch, errs) && len(batch) > 1 {
		// One item could not be written, so none was. Now each gets its own transaction, so
		// that it does not take the others down. Chunks go first: if a value does not fit on
		// the disk, its chunks are removed, and the rest can use their space.
		clear(errs)
		for _, chunk := range []bool{true, false} {
			for i, w := range batch {
				if is := w.append == nil && w.chunks != nil; is == chunk {
					s.transact(batch[i:i+1], errs[i:i+1])
					s.release(w, errs[i])
				}
			}
			s.sweepSome()
		}
		return errs
	}
	for i, w := range batch {
		s.release(w, errs[i])
	}
	s.sweepSome()
	return errs
}

// transact applies a batch in one transaction and sets errs. It returns false if a statement
// before the COMMIT failed: then certainly nothing happened, and the caller may try another
// way. After a failed COMMIT the outcome is unknown and must not be repeated.
func (s *Store) transact(batch []work, errs []error) (settled bool) {
	writing := false // between BEGIN and COMMIT
	applied, entries, changed := 0, 0, false
	begun, written := time.Now(), time.Time{}
	err := s.writer.transaction(func() error {
		writing = true
		if err := s.tally.begin(s.writer); err != nil {
			return err
		}
		settle := func(i int, refused error) {
			if errs[i] = refused; refused == nil {
				applied++
				entries += len(batch[i].append.Entries)
			}
		}
		s.quick.reset()
		for i, w := range batch {
			if s.wait(i, w) {
				continue
			}
			if w.append == nil || s.quick.has(w.append.Row.Key) {
				if err := s.insertQuick(settle); err != nil {
					return err
				}
			}
			if w.append == nil {
				did, err, broken := s.writer.savepoint(w.change)
				if broken != nil {
					return broken
				}
				errs[i], changed = err, changed || did
				continue
			}
			refused, err := s.apply(w.append, w.chunks)
			if err != nil {
				return err
			}
			settle(i, refused)
		}
		if err := s.insertQuick(settle); err != nil {
			return err
		}
		if applied == 0 && !changed {
			return errNothing
		}
		if err := s.tally.write(s.writer); err != nil {
			return err
		}
		writing, written = false, time.Now()
		return nil
	})
	switch {
	case err == nil:
		s.commits.Add(1)
		s.entries.Add(int64(entries))
		if watcher := s.watcher.Load(); watcher != nil {
			end := time.Now()
			(*watcher)(store.Commit{Appends: applied, Entries: entries, Took: end.Sub(begun), Sync: end.Sub(written)})
		}
		return true
	case errors.Is(err, errNothing): // each item was refused, with its own reason, or changed nothing
		return true
	}
	s.tally.forget()
	for i, w := range batch {
		if errs[i] = err; w.append != nil {
			errs[i] = wrap("append", err)
		}
	}
	return !writing
}

// errNothing rolls back a transaction that has nothing to commit, which saves the fsync.
var errNothing = errors.New("nothing to commit")

// apply writes one append, whose values may be in chunks. If the append must be refused,
// refused says why, and nothing was written. err is a failure.
func (s *Store) apply(a *store.Append, k *chunked) (refused, err error) {
	if err := a.Validate(); err != nil {
		return err, nil
	}
	n := a.Size()
	if n > maxAppend {
		return fmt.Errorf("sqlite: an append of %d bytes, the most is %d", n, maxAppend), nil
	}
	if k == nil {
		k = &inRow
	} else if k.err != nil {
		return wrap("append", k.err), nil
	}
	c := s.writer
	if a.Alone() {
		if refused, err := c.counts(a); refused != nil || err != nil {
			return refused, err
		}
		return nil, c.issue(0, a)
	}
	form := form{Append: a}
	if k.log == 0 && k.body == 0 {
		form.piece = s.piece(a)
	}
	task, refused, err := s.place(form)
	if refused != nil || err != nil {
		return refused, err
	}
	if form.piece == nil {
		if err := s.keepEntries(task, a, k.log); err != nil {
			return nil, err
		}
	}
	if form.apart() {
		err := c.stmt("INSERT INTO seal (task, body, chunks) VALUES (?, ?, ?) ON CONFLICT (task) DO UPDATE SET body = excluded.body, chunks = excluded.chunks").
			int(task).value(c, a.Seal.Body, k.body).exec()
		if err != nil {
			return nil, err
		}
	}
	for i := range a.Blobs {
		if err := c.keep(task, &a.Blobs[i], k.blob(i)); err != nil {
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

// keepEntries writes the entries of an append as one row. If their bytes are in chunks, the
// row refers to them instead.
func (s *Store) keepEntries(task int64, a *store.Append, chunks int64) error {
	if s.packed = s.packed[:0]; chunks == 0 {
		s.packed = store.Pack(s.packed, a.Entries)
	}
	err := s.writer.keepPacked(task, a.After+1, a.After+int64(len(a.Entries)), s.packed, chunks)
	if cap(s.packed) > bigArg {
		s.packed = nil
	}
	return err
}

func (c *conn) keepPacked(task, first, last int64, packed []byte, chunks int64) error {
	return c.stmt("INSERT INTO entry (task, first, last, body, chunks) VALUES (?, ?, ?, ?, ?)").
		int(task).int(first).int(last).value(c, packed, chunks).exec()
}

// keep stores a blob unless it exists, and notes that the task refers to it.
func (c *conn) keep(task int64, b *store.Blob, chunks int64) error {
	key, there, err := c.stmt("SELECT key FROM blob WHERE hash = ?").text(b.Hash).one()
	if err == nil && !there {
		err = c.stmt("INSERT INTO blob (hash, data, chunks) VALUES (?, ?, ?)").text(b.Hash).value(c, b.Data, chunks).exec()
		key = c.LastInsertRowID()
	}
	if err != nil {
		return err
	}
	return c.stmt("INSERT INTO blob_task (blob, task) VALUES (?, ?) ON CONFLICT DO NOTHING").
		int(key).int(task).exec()
}

// logSQL selects the rows of a log, followed by the part that is in the task's own row.
const logSQL = "SELECT first, last, body, NULL, entry.chunks FROM entry WHERE task = (SELECT key FROM task WHERE tenant = ?1 AND owner = ?2 AND id = ?3) AND last > ?4 " +
	"UNION ALL SELECT 0, last, head, head_size + body_size, NULL FROM task WHERE tenant = ?1 AND owner = ?2 AND id = ?3 AND last > ?4 AND head_size IS NOT NULL ORDER BY 2"

// Entries implements store.Store.
func (r *Reader) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	page := store.NewEntryPage(after, limit)
	err := r.read(ctx, func(c *conn) error {
		return c.sql(logSQL).text(k.Tenant).text(k.Owner).text(k.ID).int(after).
			each(func(r *sqlite3.Stmt) error {
				first, last := r.ColumnInt64(0), r.ColumnInt64(1)
				body, own, err := c.value(r, 2, 4)
				if err == nil && r.ColumnType(3) != sqlite3.NULL {
					body, first, err = c.logOf(body, r.ColumnInt(3))
				}
				switch {
				case err == nil && own:
					err = page.Keep(body, first, last)
				case err == nil:
					err = page.Unpack(body, first, last)
				}
				if err == nil && page.Full() {
					return errEnough
				}
				return err
			})
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
		err := c.sql("SELECT data, blob.chunks FROM blob WHERE hash = ?").text(hash).
			each(func(r *sqlite3.Stmt) (err error) {
				found = true
				data, err = c.owned(r, 0, 1)
				return err
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
	return find(ctx, r, scanText, func(c *conn) *stmt {
		return c.stmt("SELECT hash FROM blob_task JOIN blob ON blob.key = blob_task.blob WHERE blob_task.task = " + taskKey + " ORDER BY hash").
			text(k.Tenant).text(k.Owner).text(k.ID)
	})
}
