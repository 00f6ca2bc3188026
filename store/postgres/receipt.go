package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/store"
)

// fillReceipts adds the receipts of changes to a batch.
func (w *writer) fillReceipts(all []*store.Append, changes []change) {
	type issue struct {
		task int64
		row  *store.Row
		r    *store.Receipt
	}
	var issues []issue
	for i := range changes {
		c := &changes[i]
		for _, at := range c.appends {
			a := all[at]
			for j := range a.Receipts {
				issues = append(issues, issue{c.key, &a.Row, &a.Receipts[j]})
			}
		}
	}
	slices.SortFunc(issues, func(a, b issue) int {
		return cmp.Or(strings.Compare(a.r.Name, b.r.Name), strings.Compare(a.row.Owner, b.row.Owner), strings.Compare(a.row.Tenant, b.row.Tenant))
	})
	t := w.batch.tables[newReceipts]
	for _, i := range issues {
		context := "" // a task's receipts take its context
		if i.task == 0 {
			context = i.row.Context
		}
		t.text(i.row.Tenant).text(i.row.Owner).text(i.r.Name).time(i.r.Time).time(i.r.Until).bytes(i.r.Digest).
			int8(i.task).text(context).int8(i.r.Seq).bytes(i.r.Answer)
	}
}

// receiptFields are the fields of a receipt r and its task t, if it has one, in the order of
// intoReceipt.
const receiptFields = "r.name, r.time, r.until, r.digest, coalesce(t.id, ''), coalesce(t.context, r.context), r.seq, r.answer"

func intoReceipt(r *store.Receipt) []any {
	return []any{(*name)(&r.Name), (*millis)(&r.Time), (*millis)(&r.Until), &r.Digest, (*name)(&r.TaskID), (*name)(&r.Context), &r.Seq, &r.Answer}
}

const (
	oneReceipt   = "SELECT " + receiptFields + " FROM parley.receipt AS r LEFT JOIN parley.task AS t ON t.key = r.task WHERE r.tenant = $1 AND r.owner = $2 AND r.name = $3"
	taskReceipts = "SELECT " + receiptFields + " FROM parley.task AS t JOIN parley.receipt AS r ON r.task = t.key AND r.task > 0 " +
		"WHERE t.tenant = $1 AND t.owner = $2 AND t.id = $3 ORDER BY r.name"
)

// Receipt implements store.Store.
func (s *Store) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	return findOne(ctx, s.db, "receipt", intoReceipt, oneReceipt, arg(k.Tenant), arg(k.Owner), arg(name))
}

// Receipts implements store.Store.
func (s *Store) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	return find(ctx, s.db, "receipts", intoReceipt, taskReceipts, arg(k.Tenant), arg(k.Owner), arg(k.ID))
}

// The receipts of a context are those of its tasks and those without a task. Both are found
// by an index, so erasing a context does not have to read everything that its owner ever
// sent. They are read in the order of the index, so that the planner does not sort all of
// them in order to take a few. A receipt that another process replaces meanwhile is compared
// again and stays.
const (
	forgetOld = "DELETE FROM parley.receipt AS r USING (SELECT tenant, owner, name FROM parley.receipt WHERE until <= $1 ORDER BY until LIMIT $2) AS g " +
		"WHERE r.tenant = g.tenant AND r.owner = g.owner AND r.name = g.name AND r.until <= $1"
	forgetContext = "DELETE FROM parley.receipt AS r USING (" +
		"(SELECT i.name, i.task FROM parley.task AS t CROSS JOIN LATERAL (SELECT i.name, i.task FROM parley.receipt AS i WHERE i.task = t.key AND i.task > 0 LIMIT $4) AS i " +
		"WHERE t.tenant = $1 AND t.owner = $2 AND t.context = $3 ORDER BY t.state, t.updated LIMIT $4) UNION ALL " +
		"(SELECT i.name, i.task FROM parley.receipt AS i WHERE i.tenant = $1 AND i.owner = $2 AND i.context = $3 AND i.task = 0 LIMIT $4) LIMIT $4) AS g " +
		"WHERE r.tenant = $1 AND r.owner = $2 AND r.name = g.name AND r.task = g.task"
)

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, q store.ForgetQuery) (int, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return 0, err
	}
	if q.Context == "" {
		return s.exec(ctx, "forget", forgetOld, q.Before.UnixMilli(), q.Limit)
	}
	return s.exec(ctx, "forget", forgetContext, arg(q.Tenant), arg(q.Owner), arg(q.Context), q.Limit)
}
