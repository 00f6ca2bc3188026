package sqlite

import (
	"slices"
	"strings"

	"github.com/parley-a2a/parley/store"
)

// A quick task is over with its first append, which is one row of the table task and nothing
// else. The quick tasks of a commit are inserted with as few statements as possible: a
// statement opens each index once and finds the place of a row from that of the row before, so
// a row costs two thirds of what it costs alone.

// quickTasks are the quick tasks of a batch that wait to be inserted.
type quickTasks struct {
	rows   []form
	at     []int  // the places of rows in the batch
	pieces []byte // of rows
}

// rowsAtOnce says how many rows one statement inserts. Each number is a statement that the
// connection keeps prepared.
var rowsAtOnce = [...]int{32, 16, 8, 4, 2, 1}

func (q *quickTasks) reset() {
	clear(q.rows)
	q.rows, q.at, q.pieces = q.rows[:0], q.at[:0], q.pieces[:0]
}

// has reports whether a task waits to be inserted.
func (q *quickTasks) has(k store.Key) bool {
	return slices.ContainsFunc(q.rows, func(r form) bool { return r.Row.Key == k })
}

// isQuick reports whether an append may be that of a quick task. If its piece fits, it is.
func isQuick(w work) bool {
	a := w.append
	return a != nil && w.chunks == nil && a.After == 0 && a.Seal != nil &&
		len(a.Receipts) == 0 && len(a.Blobs) == 0 && len(a.Pushes) == 0 && len(a.Letters) == 0 && a.Validate() == nil
}

// wait keeps the append at place i of the batch for insertQuick, if it is quick.
func (s *Store) wait(i int, w work) bool {
	if !isQuick(w) {
		return false
	}
	piece := s.piece(w.append)
	if piece == nil {
		return false
	}
	q := &s.quick
	from := len(q.pieces)
	q.pieces = append(q.pieces, piece...)
	q.rows = append(q.rows, form{Append: w.append, piece: q.pieces[from:len(q.pieces):len(q.pieces)]})
	q.at = append(q.at, i)
	return true
}

// insertQuick inserts the tasks that wait, and passes each place in the batch to settle, with
// the reason if the append is refused.
func (s *Store) insertQuick(settle func(i int, refused error)) error {
	c, q := s.writer, &s.quick
	defer q.reset()
	rows, at := q.rows, q.at
	for _, n := range rowsAtOnce {
		for ; len(rows) >= n; rows, at = rows[n:], at[n:] {
			first := s.lastKey + 1
			s.lastKey += int64(n) // keys that are not used leave a gap, which is fine
			if err := c.insert(first, rows[:n]); err != nil {
				return err
			}
			all := c.Changes() == int64(n)
			for i := range n {
				refused, err := s.inserted(first+int64(i), rows[i], all)
				if err != nil {
					return err
				}
				settle(at[i], refused)
			}
		}
	}
	return nil
}

// inserted notes a task that was inserted with a key, which is certain with sure.
func (s *Store) inserted(key int64, a form, sure bool) (refused, err error) {
	if !sure {
		_, sure, err = s.writer.stmt("SELECT 1 FROM task WHERE key = ?").int(key).one()
		if !sure || err != nil {
			return store.ErrConflict, err
		}
	}
	s.working.note(key, a.Append)
	return nil, s.tally.moved(s.writer, key, nil, &a.Row)
}

const taskRow = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// insertSQL are the statements that insert rows, by their number. They say OR FAIL, so SQLite
// keeps no journal to undo half a statement: whoever gets an error undoes the transaction.
var insertSQL = func() map[int]string {
	m := map[int]string{}
	for _, n := range rowsAtOnce {
		m[n] = "INSERT OR FAIL INTO task (key, tenant, owner, id, context, state, updated, active, node, created, last, epoch, lost, turn, attempt, head, body, head_size, body_size) " +
			"VALUES " + taskRow + strings.Repeat(", "+taskRow, n-1) + " ON CONFLICT (tenant, owner, id) DO NOTHING"
	}
	return m
}()

// insert writes the rows of new tasks, whose keys begin with first, but not those of tasks
// that exist. There must be a statement for so many.
func (c *conn) insert(first int64, rows []form) error {
	st := c.stmt(insertSQL[len(rows)])
	for i, a := range rows {
		r := &a.Row
		st.int(first + int64(i)).text(r.Tenant).text(r.Owner).text(r.ID).listed(r).unlisted(a.Append).seal(a)
	}
	return st.exec()
}
