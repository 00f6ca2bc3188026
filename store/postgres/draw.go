package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// nextTenant selects the first tenant after behind (if set) and up to last (if set) that has
// a waiting task.
func nextTenant(behind, last string) string {
	sql := "(SELECT x.tenant FROM parley.task AS x WHERE x.active AND x.node = ''"
	if behind != "" {
		sql += " AND x.tenant > " + behind
	}
	if last != "" {
		sql += " AND x.tenant <= " + last
	}
	return sql + " ORDER BY x.tenant LIMIT 1)"
}

// walk steps from tenant to tenant in the index.
func walk(name, behind, last string) string {
	return name + " (name) AS (" + nextTenant(behind, last) + " UNION ALL SELECT " + nextTenant(name+".name", last) + " FROM " + name + " WHERE " + name + ".name IS NOT NULL)"
}

// drawSome gives up to $3 waiting tasks to the node $1. It looks at the first $4 tenants
// after $2, wrapping around, and at an equal share of about $4 tasks of each. It locks the
// tasks one after the other and skips those that are locked already. The last column says
// whether there may be more tasks; if none was taken, one row has only that and NULLs.
var drawSome = "WITH RECURSIVE " + walk("later", "$2", "") + ", " + walk("before", "", "$2") + ", " +
	"found AS MATERIALIZED (SELECT name, row_number() OVER (ORDER BY part, name) AS place FROM (" +
	"(SELECT name, 1 AS part FROM later WHERE name IS NOT NULL LIMIT $4) UNION ALL (SELECT name, 2 FROM before WHERE name IS NOT NULL LIMIT $4)) AS b ORDER BY place LIMIT $4), " +
	"each AS MATERIALIZED (SELECT $4::bigint / greatest(count(*), 1) + 1 AS n, count(*) = $4 AS more FROM found), " +
	"candidate AS MATERIALIZED (SELECT c.key, c.turn, found.place FROM found CROSS JOIN LATERAL (" +
	"SELECT o.key, row_number() OVER (ORDER BY o.updated, o.owner, o.id) AS turn FROM (" +
	"SELECT x.key, x.updated, x.owner, x.id FROM parley.task AS x WHERE x.active AND x.node = '' AND x.tenant = found.name " +
	"ORDER BY x.updated, x.owner, x.id LIMIT (SELECT n FROM each)) AS o) AS c), " +
	"taken AS MATERIALIZED (SELECT x.key FROM candidate AS c JOIN parley.task AS x ON x.key = c.key WHERE x.active AND x.node = '' " +
	"ORDER BY c.turn, c.place LIMIT $3 FOR UPDATE OF x SKIP LOCKED), " +
	"drawn AS (UPDATE parley.task AS t SET node = $1, epoch = t.epoch + 1 WHERE t.key = ANY (ARRAY(SELECT key FROM taken)) RETURNING " + columns + ", t.key) " +
	"SELECT " + columns + ", e.more OR EXISTS (SELECT 1 FROM candidate WHERE turn = e.n) FROM each AS e " +
	"LEFT JOIN (drawn AS t JOIN candidate AS c ON c.key = t.key) ON true ORDER BY c.turn, c.place"

// Draw implements store.Store. Its cost depends on the tasks that it draws and the tenants
// that it passes.
func (s *Store) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var drawn []store.Row
	err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		drawn = nil
		for width := limit; ; width *= 4 {
			more, err := s.drawSome(ctx, tx, node, after, limit, width, &drawn)
			if err != nil || !more || len(drawn) == limit {
				return err
			}
		}
	})
	if err != nil {
		return nil, wrap("draw", err)
	}
	return drawn, nil
}

// rowFields is the number of columns.
const rowFields = 14

// drawSome adds tasks to drawn, up to limit. The tasks that it leaves come after those it
// takes in the order of turns, except for those that other draws are taking.
func (s *Store) drawSome(ctx context.Context, tx pgx.Tx, node, after string, limit, width int, drawn *[]store.Row) (more bool, err error) {
	err = each(ctx, tx, func(r pgx.Rows) error {
		if r.RawValues()[0] == nil { // only the last column
			return r.Scan(append(make([]any, rowFields), &more)...)
		}
		var row store.Row
		err := r.Scan(append(intoRow(&row), &more)...)
		*drawn = append(*drawn, row)
		return err
	}, drawSome, arg(node), arg(after), limit-len(*drawn), width)
	return more, err
}
