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
	// Keep, if set, is asked about each task right before it is deleted.
	Keep func(*Row) bool
	// Deleted, if set, is told of each batch after it was deleted. A task of it that
	// went on meanwhile is still there.
	Deleted func([]Row)
	// Pause, if set, is called after each batch with the time it took, before
	// the next one; an error ends the work.
	Pause func(took time.Duration) error
}

// Run deletes what there is and returns how many tasks that were. Tasks that go
// on while it looks are left alone, see Index.Delete.
func (x *Expiry) Run(ctx context.Context, st Index) (int, error) {
	q := IdleQuery{State: x.State, Before: x.Before, Limit: x.Batch}
	deleted := 0
	for {
		began := time.Now()
		rows, err := st.Idle(ctx, q)
		if err != nil || len(rows) == 0 {
			return deleted, err
		}
		q.After = &rows[len(rows)-1] // past those that stay, too
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
