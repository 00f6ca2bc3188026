package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// AllPushes returns up to limit push configs of all tasks and nodes, live or
// not, in the order in which they were made, from behind the one whose At is
// after; 0: from the first. limit must be at least 1. It is for operators, and
// looks at every config.
func (s *Store) AllPushes(ctx context.Context, after int64, limit int) (found []store.PushState, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT t.tenant, t.owner, t.id, p.id, p.host, p.body, p.created, p.node, p.live,
			p.cursor, p.tries, p.since, p.due, p.reason, t.last, p.key
			FROM parley.push AS p JOIN parley.task AS t ON t.key = p.task WHERE p.key > $1 ORDER BY p.key LIMIT $2`, after, limit)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (p store.PushState, err error) {
			var tenant, owner, task, id, host, node, reason []byte
			var created int64
			var since, due *int64
			err = r.Scan(&tenant, &owner, &task, &id, &host, &p.Body, &created, &node, &p.Live,
				&p.Cursor, &p.Tries, &since, &due, &reason, &p.Last, &p.At)
			p.Key = store.Key{Tenant: string(tenant), Owner: string(owner), ID: string(task)}
			p.ID, p.Host, p.Node, p.Reason = string(id), string(host), string(node), string(reason)
			p.Created = time.UnixMilli(created).UTC()
			for to, ms := range map[*time.Time]*int64{&p.Since: since, &p.Due: due} {
				if ms != nil {
					*to = time.UnixMilli(*ms).UTC()
				}
			}
			return p, err
		})
		return err
	})
	return found, wrap("read push configs", err)
}
