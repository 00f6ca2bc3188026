package store

import (
	"context"
	"time"
)

// Expiry selects idle, old tasks and deletes them.
type Expiry struct {
	State  int32
	Before time.Time // tasks updated before this
	Batch  int       // tasks per Delete; at least 1
	// Keep, if set, is called for each task right before it would be deleted; a task for
	// which it returns true stays.
	Keep func(*Row) bool
	// Deleted, if set, is called with each batch after it was deleted. The batch may include
	// tasks that were not deleted, because they changed in the meantime.
	Deleted func([]Row)
	// Pause, if set, is called between two batches with the time that the first of them took.
	// An error ends the run.
	Pause func(took time.Duration) error
}

// Run deletes all selected tasks and returns how many it deleted. It leaves tasks alone that
// change while it runs, see Index.Delete.
func (x *Expiry) Run(ctx context.Context, st Index) (int, error) {
	q := IdleQuery{State: x.State, Before: x.Before, Limit: x.Batch}
	deleted := 0
	for {
		began := time.Now()
		rows, err := st.Idle(ctx, q)
		if err != nil || len(rows) == 0 {
			return deleted, err
		}
		q.After = &rows[len(rows)-1] // also past the tasks that Keep keeps
		more := len(rows) == q.Limit
		doomed := make([]Row, 0, len(rows))
		for i := range rows {
			if x.Keep == nil || !x.Keep(&rows[i]) {
				doomed = append(doomed, rows[i])
			}
		}
		n, err := st.Delete(ctx, doomed)
		deleted += n
		if x.Deleted != nil && n > 0 {
			x.Deleted(doomed)
		}
		if err != nil || !more {
			return deleted, err
		}
		if x.Pause != nil {
			if err := x.Pause(time.Since(began)); err != nil {
				return deleted, err
			}
		}
	}
}
