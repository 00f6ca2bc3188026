package postgres

import (
	"context"

	"github.com/parley-a2a/parley/store"
)

// letterPage returns the statement for a page of dead letters. The order is that of the
// table's keys, so the cost depends only on the page.
func letterPage(q *store.LetterQuery) (sql string, args []any) {
	sql = "SELECT t.tenant, t.owner, t.id, p.id, l.seq, l.time, l.tries, l.reason, l.again, p.key FROM parley.letter AS l " +
		"JOIN parley.push AS p ON p.key = l.push JOIN parley.task AS t ON t.key = p.task WHERE (l.push, l.seq) > ($1::bigint, $2::bigint)"
	var at, seq int64
	if q.After != nil {
		at, seq = q.After.At, q.After.Seq
	}
	args = []any{at, seq, q.Limit}
	if q.Again {
		sql += " AND l.again"
	}
	if id := q.Of; id != nil {
		sql += " AND l.push = (SELECT o.key FROM parley.push AS o WHERE o.task = (" +
			"SELECT x.key FROM parley.task AS x WHERE x.tenant = $4 AND x.owner = $5 AND x.id = $6) AND o.id = $7)"
		args = append(args, arg(id.Tenant), arg(id.Owner), arg(id.Key.ID), arg(id.ID))
	}
	return sql + " ORDER BY l.push, l.seq LIMIT $3", args
}

// DeadLetters implements store.Store.
func (s *Store) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	sql, args := letterPage(&q)
	return find(ctx, s.db, "dead letters", intoLetter, sql, args...)
}

// intoLetter scans the columns of letterPage.
func intoLetter(l *store.DeadLetter) []any {
	return []any{(*name)(&l.Tenant), (*name)(&l.Owner), (*name)(&l.Key.ID), (*name)(&l.ID), &l.Seq, (*millis)(&l.Time), &l.Tries, (*name)(&l.Reason), &l.Again, &l.At}
}

// letterNames joins dead letters, given with the names of their configs, to the configs'
// keys.
const (
	letterNames = "unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::integer[], $8::bytea[], $9::boolean[]) " +
		"AS d (tenant, owner, task, id, seq, time, tries, reason, again) " +
		"JOIN parley.task AS t ON t.tenant = d.tenant AND t.owner = d.owner AND t.id = d.task JOIN parley.push AS p ON p.task = t.key AND p.id = d.id"
	changeLetters = "UPDATE parley.letter AS l SET time = d.time, tries = d.tries, reason = d.reason, again = d.again FROM " + letterNames + " WHERE l.push = p.key AND l.seq = d.seq"
	removeLetters = "DELETE FROM parley.letter AS l USING " + letterNames + " WHERE l.push = p.key AND l.seq = d.seq"
)

// SetLetters implements store.Store.
func (s *Store) SetLetters(ctx context.Context, all []store.DeadLetter, gone bool) error {
	if len(all) == 0 {
		return s.usable(ctx)
	}
	sql := changeLetters
	if gone {
		sql = removeLetters
	}
	type name struct {
		store.PushID
		seq int64
	}
	all = lastOf(all, func(d store.DeadLetter) name { return name{d.PushID, d.Seq} })
	tenants, owners, tasks := split(values(all, func(d store.DeadLetter) store.Key { return d.Key }))
	ids := values(all, func(d store.DeadLetter) []byte { return arg(d.ID) })
	_, err := s.exec(ctx, "set dead letters", sql, append([]any{tenants, owners, tasks, ids}, letterColumns(all)...)...)
	return err
}
