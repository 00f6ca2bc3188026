package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// bury adds dead letters to a push config.
func (c *conn) bury(push int64, letters []store.DeadLetter) error {
	for i := range letters {
		l := &letters[i]
		err := c.stmt("INSERT INTO letter (push, seq, time, tries, reason, again) VALUES (?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT (push, seq) DO UPDATE SET time = excluded.time, tries = excluded.tries, reason = excluded.reason, again = excluded.again").
			int(push).int(l.Seq).time(l.Time).int(int64(l.Tries)).text(l.Reason).bool(l.Again).exec()
		if err != nil {
			return err
		}
	}
	return nil
}

// DeadLetters implements store.Store. Its order is that of the table, so the cost of a page
// depends only on its size.
func (r *Reader) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	sql := "SELECT t.tenant, t.owner, t.id, p.id, l.seq, l.time, l.tries, l.reason, l.again, p.key FROM letter AS l "
	if q.Again {
		sql += "INDEXED BY letter_again "
	}
	sql += "CROSS JOIN push AS p ON p.key = l.push CROSS JOIN task AS t ON t.key = p.task WHERE (l.push, l.seq) > (?, ?)"
	if q.Again {
		sql += " AND l.again = 1"
	}
	if q.Of != nil {
		sql += " AND l.push = (SELECT key FROM push WHERE task = " + taskKey + " AND id = ?)"
	}
	var at, seq int64
	if q.After != nil {
		at, seq = q.After.At, q.After.Seq
	}
	return find(ctx, r, scanLetter, func(c *conn) *stmt {
		st := c.stmt(sql + " ORDER BY l.push, l.seq LIMIT ?").int(at).int(seq)
		if id := q.Of; id != nil {
			st.text(id.Tenant).text(id.Owner).text(id.Key.ID).text(id.ID)
		}
		return st.int(int64(q.Limit))
	})
}

// scanLetter reads what DeadLetters selects.
func scanLetter(r *sqlite3.Stmt) store.DeadLetter {
	return store.DeadLetter{
		PushID: store.PushID{Key: store.Key{Tenant: r.ColumnText(0), Owner: r.ColumnText(1), ID: r.ColumnText(2)}, ID: r.ColumnText(3)},
		Seq:    r.ColumnInt64(4), Time: milli(r.ColumnInt64(5)), Tries: int32(r.ColumnInt64(6)),
		Reason: r.ColumnText(7), Again: r.ColumnBool(8), At: r.ColumnInt64(9),
	}
}

// SetLetters implements store.Store.
func (s *Store) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	return s.change(ctx, "set dead letters", func(c *conn) (changed bool, err error) {
		for i := range letters {
			if err := c.setLetter(&letters[i], gone); err != nil {
				return false, err
			}
			changed = changed || c.Changes() > 0
		}
		return changed, nil
	})
}

func (c *conn) setLetter(l *store.DeadLetter, gone bool) error {
	const which = "WHERE push = (SELECT key FROM push WHERE task = " + taskKey + " AND id = ?) AND seq = ?"
	var st *stmt
	if gone {
		st = c.stmt("DELETE FROM letter " + which)
	} else {
		st = c.stmt("UPDATE letter SET time = ?, tries = ?, reason = ?, again = ? " + which).
			time(l.Time).int(int64(l.Tries)).text(l.Reason).bool(l.Again)
	}
	return st.text(l.Tenant).text(l.Owner).text(l.Key.ID).text(l.ID).int(l.Seq).exec()
}
