package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Only one process has the database. So its clock is the only one, messages stay in memory,
// and Watch has nothing to report.

// usable returns why a call that does not need the database must not begin, or nil.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.over:
		return store.ErrClosed
	default:
		return context.Cause(ctx)
	}
}

// Now implements store.Store.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return time.Now(), s.usable(ctx) }

// Rows implements store.Store.
func (r *Reader) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	var rows []store.Row
	keys = slices.Compact(slices.SortedFunc(slices.Values(keys), store.Key.Compare)) // each row once
	err := r.read(ctx, func(c *conn) error {
		for _, k := range keys {
			row, err := collect(c.stmt("SELECT "+columns+" FROM task WHERE tenant = ? AND owner = ? AND id = ?").
				text(k.Tenant).text(k.Owner).text(k.ID), scan)
			if err != nil {
				return err
			}
			rows = append(rows, row...)
		}
		return nil
	})
	return rows, err
}

// Waiting tasks, and their tenants. The latter steps from name to name in the index.
const (
	waiting = "FROM task INDEXED BY task_waiting WHERE active = 1 AND node = ''"
	tenants = "WITH RECURSIVE n (name) AS (SELECT min(tenant) " + waiting + " UNION ALL SELECT (SELECT min(tenant) " + waiting +
		" AND tenant > n.name) FROM n WHERE n.name IS NOT NULL) SELECT name FROM n WHERE name IS NOT NULL"
)

// Draw implements store.Store.
func (s *Store) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var drawn []store.Row
	err := s.change(ctx, "draw", func(c *conn) (changed bool, err error) {
		keys, err := c.turns(after, limit)
		for _, key := range keys {
			if err != nil {
				break
			}
			var row []store.Row
			row, err = collect(c.stmt(give+"WHERE key = ? RETURNING "+columns).text(node).int(key), scan)
			drawn = append(drawn, row...)
		}
		return len(drawn) > 0, err
	})
	if err != nil {
		return nil, err // without drawn, which was rolled back
	}
	return drawn, nil
}

// turns returns the keys of up to limit waiting tasks, in the order of Draw.
func (c *conn) turns(after string, limit int) (keys []int64, err error) {
	names, err := collect(c.stmt(tenants), scanText)
	if err != nil {
		return nil, err
	}
	first, found := slices.BinarySearch(names, after) // names are sorted
	if found {
		first++
	}
	names = slices.Concat(names[first:], names[:first])
	queues := make([][]int64, min(len(names), limit))
	for i := range queues {
		queues[i], err = collect(c.stmt("SELECT key "+waiting+" AND tenant = ? ORDER BY updated, owner, id LIMIT ?").text(names[i]).int(int64(limit)), scanNumber)
		if err != nil {
			return nil, err
		}
	}
	for turn := 0; len(keys) < limit; turn++ {
		was := len(keys)
		for _, q := range queues {
			if turn < len(q) && len(keys) < limit {
				keys = append(keys, q[turn])
			}
		}
		if len(keys) == was {
			break
		}
	}
	return keys, nil
}

// Post implements store.Store.
func (s *Store) Post(ctx context.Context, all []store.Mail) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.mail.Post(ctx, all)
}

// Mail implements store.Store.
func (s *Store) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.mail.Take(ctx, node, limit)
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, _ func(store.Hint)) error {
	select {
	case <-s.over:
		return store.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
