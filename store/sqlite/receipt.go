package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// counts refuses an append if a valid receipt has the name of one of the append's receipts.
func (c *conn) counts(a *store.Append) (refused, err error) {
	for i := range a.Receipts {
		r := &a.Receipts[i]
		_, found, err := c.stmt("SELECT 1 FROM receipt WHERE tenant = ? AND owner = ? AND name = ? AND until > ?").
			text(a.Row.Tenant).text(a.Row.Owner).text(r.Name).time(r.Time).one()
		if err != nil {
			return nil, err
		}
		if found {
			return store.ErrDuplicate, nil
		}
	}
	return nil, nil
}

// issue writes the receipts of an append; task is 0 if there is none. Expired receipts with
// the same name are replaced.
func (c *conn) issue(task int64, a *store.Append) error {
	context := a.Row.Context
	if task != 0 {
		context = ""
	}
	for i := range a.Receipts {
		r := &a.Receipts[i]
		err := c.stmt("INSERT INTO receipt (tenant, owner, name, time, until, digest, task, context, seq, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT (tenant, owner, name) DO UPDATE SET time = excluded.time, until = excluded.until, digest = excluded.digest, " +
			"task = excluded.task, context = excluded.context, seq = excluded.seq, answer = excluded.answer").
			text(a.Row.Tenant).text(a.Row.Owner).text(r.Name).time(r.Time).time(r.Until).blob(r.Digest).
			int(task).text(context).int(r.Seq).blob(r.Answer).exec()
		if err != nil {
			return err
		}
	}
	return nil
}

// receiptColumns are the columns of a receipt r and its task t, if it has one, in the order
// in which scanReceipt reads them.
const receiptColumns = "r.name, r.time, r.until, r.digest, coalesce(t.id, ''), coalesce(t.context, r.context), r.seq, r.answer"

func scanReceipt(r *sqlite3.Stmt) store.Receipt {
	return store.Receipt{
		Name:    r.ColumnText(0),
		Time:    milli(r.ColumnInt64(1)),
		Until:   milli(r.ColumnInt64(2)),
		Digest:  r.ColumnBlob(3, nil),
		TaskID:  r.ColumnText(4),
		Context: r.ColumnText(5),
		Seq:     r.ColumnInt64(6),
		Answer:  r.ColumnBlob(7, nil),
	}
}

// Receipt implements store.Store.
func (r *Reader) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	return findOne(ctx, r, scanReceipt, func(c *conn) *stmt {
		return c.stmt("SELECT " + receiptColumns + " FROM receipt AS r LEFT JOIN task AS t ON t.key = r.task WHERE r.tenant = ? AND r.owner = ? AND r.name = ?").
			text(k.Tenant).text(k.Owner).text(name)
	})
}

// Receipts implements store.Store.
func (r *Reader) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	return find(ctx, r, scanReceipt, func(c *conn) *stmt {
		return c.stmt("SELECT " + receiptColumns + " FROM task AS t JOIN receipt AS r ON r.task = t.key AND r.task > 0 WHERE t.tenant = ? AND t.owner = ? AND t.id = ? ORDER BY r.name").
			text(k.Tenant).text(k.Owner).text(k.ID)
	})
}

// The receipts of a context are those of its tasks and those without a task. Both are found
// by an index, so erasing a context does not have to read everything that its owner ever
// sent, and no other writer waits for that.
const (
	oldReceipts     = "SELECT key FROM receipt WHERE until <= ? LIMIT ?"
	contextReceipts = "SELECT r.key FROM task AS t INDEXED BY task_context JOIN receipt AS r INDEXED BY receipt_task ON r.task = t.key AND r.task > 0 " +
		"WHERE t.tenant = ? AND t.owner = ? AND t.context = ? UNION ALL " +
		"SELECT key FROM receipt INDEXED BY receipt_context WHERE tenant = ? AND owner = ? AND context = ? AND task = 0 LIMIT ?"
)

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, q store.ForgetQuery) (n int, err error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(c *conn) error {
		var st *stmt
		if q.Context == "" {
			st = c.stmt("DELETE FROM receipt WHERE key IN (" + oldReceipts + ")").time(q.Before)
		} else {
			st = c.stmt("DELETE FROM receipt WHERE key IN (" + contextReceipts + ")").
				text(q.Tenant).text(q.Owner).text(q.Context).text(q.Tenant).text(q.Owner).text(q.Context)
		}
		err := st.int(int64(q.Limit)).exec()
		n = int(c.Changes())
		return err
	})
	if err != nil {
		return 0, wrap("forget", err)
	}
	return n, nil
}
