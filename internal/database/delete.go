package database

import (
	"context"
	"sync/atomic"

	"github.com/parley-a2a/parley/store"
)

// DeleteBatch is how many tasks or receipts are deleted at once. No other caller waits
// meanwhile, but an interrupt should not take long either.
const DeleteBatch = 256

// Erase deletes all tasks of a context, in any state, and the receipts that name it. deleted
// counts the tasks while Erase runs. If Erase fails, it may have deleted a part.
func Erase(ctx context.Context, st store.Store, tenant, owner, contextID string, deleted *atomic.Int64) (tasks, receipts int, err error) {
	if _, err := st.Delete(ctx, nil); err != nil { // the rest of an erase that was killed
		return 0, 0, err
	}
	q := store.Query{Tenant: tenant, Owner: owner, Context: contextID, Limit: DeleteBatch, MaxBytes: store.PageBytes} // only the rows matter
	for more := true; more; {
		page, err := st.List(ctx, q)
		if err != nil {
			return tasks, 0, err
		}
		rows := make([]store.Row, len(page.Records))
		for i := range page.Records {
			rows[i] = page.Records[i].Row
		}
		n, err := st.Delete(ctx, rows)
		tasks, more = tasks+n, page.More
		if deleted.Add(int64(n)); err != nil {
			return tasks, 0, err
		}
	}
	// Direct answers created no task, but the receipts of their messages contain them.
	receipts, err = Forget(ctx, st, store.ForgetQuery{Tenant: tenant, Owner: owner, Context: contextID, Limit: DeleteBatch})
	return tasks, receipts, err
}

// Forget removes all receipts that q selects, and returns how many it removed.
func Forget(ctx context.Context, st store.Store, q store.ForgetQuery) (total int, err error) {
	for {
		n, err := st.Forget(ctx, q)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
		if err := context.Cause(ctx); err != nil {
			return total, err
		}
	}
}
