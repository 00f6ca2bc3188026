package sqlite

import (
	"cmp"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// form is an append together with the form in which its seal is stored.
type form struct {
	*store.Append
	piece []byte // see piece.go; nil: not a piece
}

// apart reports whether the body of the seal is in a row of its own.
func (a form) apart() bool {
	return a.Seal != nil && a.piece == nil && len(a.Seal.Body) > smallBody
}

// place checks an append against the task's row, writes the new row and returns the task's
// key.
func (s *Store) place(a form) (task int64, refused, err error) {
	if a.After == 0 {
		return s.begin(a)
	}
	c := s.writer
	if task, err := s.goOn(a); task > 0 || err != nil {
		return task, nil, err
	}
	was, err := c.look(a.Row.Key)
	if err != nil {
		return 0, nil, err
	}
	if refused := a.Refusal(was.row.Last, was.row.Epoch); refused != nil {
		return 0, refused, nil
	}
	if refused, err := c.counts(a.Append); refused != nil || err != nil {
		return 0, refused, err
	}
	if was.packed {
		if err := c.unfold(&was); err != nil {
			return 0, nil, err
		}
	} else if was.sealed && !a.apart() {
		if err := c.stmt("DELETE FROM seal WHERE task = ?").int(was.key).exec(); err != nil {
			return 0, nil, err
		}
	}
	if err := c.update(&was, a); err != nil {
		return 0, nil, err
	}
	s.working.note(was.key, a.Append)
	return was.key, nil, s.tally.moved(c, was.key, &was.row, &a.Row)
}

// begin writes the row of a new task. The insert itself finds out whether the task exists.
func (s *Store) begin(a form) (task int64, refused, err error) {
	c := s.writer
	refused, err = c.counts(a.Append)
	if refused != nil {
		var was stored
		was, err = c.look(a.Row.Key)
		refused = cmp.Or(a.Refusal(was.row.Last, was.row.Epoch), refused)
	}
	if refused != nil || err != nil {
		return 0, refused, err
	}
	s.lastKey++ // a failed or refused append leaves a gap, which is fine
	if err := c.insert(s.lastKey, []form{a}); err != nil {
		return 0, nil, err
	}
	refused, err = s.inserted(s.lastKey, a, c.Changes() == 1)
	return s.lastKey, refused, err
}

// goOn updates the row of a task that the writer wrote before, with a single statement that
// finds the row only if it is unchanged. It returns 0 if it updated nothing, for whatever
// reason; the caller then looks closer.
func (s *Store) goOn(a form) (task int64, err error) {
	was := s.working[a.Row.Key]
	if was == nil || len(a.Receipts) > 0 || a.Epoch != was.row.Epoch || a.After != was.row.Last {
		return 0, nil
	}
	c := s.writer
	if err := c.updateIf(was, a); err != nil {
		return 0, err
	}
	if c.Changes() == 0 {
		delete(s.working, a.Row.Key)
		return 0, nil
	}
	key, row := was.key, was.row // note overwrites was
	s.working.note(key, a.Append)
	return key, s.tally.moved(c, key, &row, &a.Row)
}

// stored is the row of a task before an append.
type stored struct {
	key    int64
	row    store.Row // after look, only the columns that an append needs
	sealed bool
	packed bool // sealed, as a piece
}

// working holds rows of active tasks as the writer last wrote them. They may be out of date,
// because other code writes rows too, and transactions may be rolled back. So updateIf lets
// the database compare them.
type working map[store.Key]*stored

// maxWorking limits the number of rows in working.
const maxWorking = 4096

// note remembers a row as an append leaves it.
func (o working) note(task int64, a *store.Append) {
	if !a.Row.Active || a.Seal != nil {
		delete(o, a.Row.Key)
		return
	}
	was := o[a.Row.Key]
	if was == nil {
		if len(o) >= maxWorking {
			clear(o) // simpler than tracking which are the oldest
		}
		was = &stored{}
		o[a.Row.Key] = was
	}
	was.key, was.row = task, a.Row
	was.row.Last = a.After + int64(len(a.Entries))
}

// look reads a task's row. If there is no such task, it returns none, and so a row without
// entries.
func (c *conn) look(k store.Key) (was stored, err error) {
	err = c.stmt("SELECT key, context, state, updated, active, node, epoch, last, head IS NOT NULL, head_size IS NOT NULL FROM task WHERE tenant = ? AND owner = ? AND id = ?").
		text(k.Tenant).text(k.Owner).text(k.ID).
		each(func(r *sqlite3.Stmt) error {
			was = stored{key: r.ColumnInt64(0), sealed: r.ColumnBool(8), packed: r.ColumnBool(9), row: store.Row{
				Key:     k,
				Context: r.ColumnText(1),
				State:   int32(r.ColumnInt64(2)),
				Updated: milli(r.ColumnInt64(3)),
				Active:  r.ColumnBool(4),
				Node:    r.ColumnText(5),
				Epoch:   r.ColumnInt64(6),
				Last:    r.ColumnInt64(7),
			}}
			return nil
		})
	return was, err
}

// The columns that updates set: those in indexes, and the others.
const (
	listed   = "context = ?, state = ?, updated = ?, active = ?, node = ?"
	unlisted = "created = ?, last = ?, epoch = ?, lost = ?, turn = ?, attempt = ?"
)

// update replaces the row of a task. Most appends change no indexed column. Then update does
// not set these columns, because SQLite would write their indexes whether the values differ
// or not.
func (c *conn) update(was *stored, a form) error {
	const rest = unlisted + ", head = ?, body = ?, head_size = ?, body_size = ? WHERE key = ?"
	if was.sameIn(&a.Row) {
		return c.stmt("UPDATE task SET " + rest).unlisted(a.Append).seal(a).int(was.key).exec()
	}
	return c.stmt("UPDATE task SET " + listed + ", " + rest).listed(&a.Row).unlisted(a.Append).seal(a).int(was.key).exec()
}

// updateIf is update, but only if the row is unchanged and not sealed.
func (c *conn) updateIf(was *stored, a form) error {
	const as = " WHERE key = ? AND tenant = ? AND owner = ? AND id = ? AND epoch = ? AND last = ? AND head IS NULL AND " +
		"context = ? AND state = ? AND updated = ? AND active = ? AND node = ?"
	var st *stmt
	switch same := was.sameIn(&a.Row); {
	case same && a.Seal == nil:
		st = c.stmt("UPDATE task NOT INDEXED SET " + unlisted + as).unlisted(a.Append)
	case same:
		st = c.stmt("UPDATE task NOT INDEXED SET " + unlisted + ", head = ?, body = ?, head_size = ?, body_size = ?" + as).unlisted(a.Append).seal(a)
	case a.Seal == nil:
		st = c.stmt("UPDATE task NOT INDEXED SET " + listed + ", " + unlisted + as).listed(&a.Row).unlisted(a.Append)
	default:
		st = c.stmt("UPDATE task NOT INDEXED SET " + listed + ", " + unlisted + ", head = ?, body = ?, head_size = ?, body_size = ?" + as).listed(&a.Row).unlisted(a.Append).seal(a)
	}
	r := &was.row
	return st.int(was.key).text(r.Tenant).text(r.Owner).text(r.ID).int(r.Epoch).int(r.Last).listed(r).exec()
}

// sameIn reports whether r has the same values in all indexed columns.
func (was *stored) sameIn(r *store.Row) bool {
	w := &was.row
	return r.Context == w.Context && r.State == w.State && r.Updated.UnixMilli() == w.Updated.UnixMilli() &&
		r.Active == w.Active && r.Node == w.Node
}

// listed binds the indexed columns of a row.
func (s *stmt) listed(r *store.Row) *stmt {
	return s.text(r.Context).int(int64(r.State)).time(r.Updated).bool(r.Active).text(r.Node)
}

// unlisted binds the columns of a row that are in no index.
func (s *stmt) unlisted(a *store.Append) *stmt {
	r := &a.Row
	return s.time(r.Created).int(a.After + int64(len(a.Entries))).int(r.Epoch).
		int(int64(r.Lost)).int(r.Turn).int(int64(r.Attempt))
}

// smallBody is the largest body of a sealed task, in bytes, that is stored in the task's row.
// Larger ones have a row of their own, which keeps lists that read rows without bodies fast.
const smallBody = 1 << 10

// seal binds the columns of the seal.
func (s *stmt) seal(a form) *stmt {
	switch {
	case a.Seal == nil:
		return s.null().null().null().null()
	case a.piece != nil:
		return s.blob(a.piece).null().int(int64(len(a.Seal.Head))).int(int64(len(a.Seal.Body)))
	case a.apart():
		return s.blob(a.Seal.Head).null().null().null()
	}
	return s.blob(a.Seal.Head).blob(a.Seal.Body).null().null()
}

// unfold moves the entries in the row of a sealed task to a row of their own, because the
// task's log continues.
func (c *conn) unfold(was *stored) error {
	var packed []byte
	var first int64
	err := c.stmt("SELECT head, head_size + body_size FROM task WHERE key = ?").int(was.key).
		each(func(r *sqlite3.Stmt) (err error) {
			packed, first, err = c.logOf(r.ColumnRawBlob(0), r.ColumnInt(1))
			return err
		})
	if err != nil {
		return err
	}
	return c.keepPacked(was.key, first, was.row.Last, packed, 0)
}
