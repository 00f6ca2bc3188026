package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Tasks implements store.Store.
func (r *Reader) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	sql := "SELECT " + columns + " FROM task INDEXED BY task_name"
	if after != nil {
		sql += " WHERE (tenant, owner, id) > (?, ?, ?)"
	}
	var rows []store.Row
	err := r.read(ctx, func(c *conn) error {
		st := c.stmt(sql + " ORDER BY tenant, owner, id LIMIT ?")
		if after != nil {
			st.text(after.Tenant).text(after.Owner).text(after.ID)
		}
		return st.int(int64(limit)).each(func(r *sqlite3.Stmt) error {
			rows = append(rows, scan(r))
			return nil
		})
	})
	return rows, err
}

// Blobs implements store.Store.
func (r *Reader) Blobs(ctx context.Context, k store.Key) ([]string, error) {
	var hashes []string
	err := r.read(ctx, func(c *conn) error {
		return c.stmt("SELECT hash FROM blob_task JOIN blob ON blob.key = blob_task.blob WHERE blob_task.task = (SELECT key FROM task WHERE tenant = ? AND owner = ? AND id = ?) ORDER BY hash").
			text(k.Tenant).text(k.Owner).text(k.ID).
			each(func(r *sqlite3.Stmt) error {
				hashes = append(hashes, r.ColumnText(0))
				return nil
			})
	})
	return hashes, err
}
