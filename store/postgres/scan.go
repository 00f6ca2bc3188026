package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-a2a/parley/store"
)

// columns are the columns of parley.task AS t for a store.Row, in the order of intoRow.
const columns = "t.tenant, t.owner, t.id, t.context, t.state, t.updated, t.created, t.last, t.active, t.node, t.epoch, t.lost, t.turn, t.attempt"

// recordFields is the number of fields that scanRecord reads: columns, the head and the body
// of the seal, and the size.
const recordFields = 17

// unsized are the columns of a task that sized passes on.
const unsized = columns + ", t.key, t.head, t.body"

// sized selects unsized and the size of a record, with or without the body of its seal, from
// tasks as t. PostgreSQL finds the length of bytes without reading values that are stored
// outside the row. Without OFFSET, each use of the size would compute it again.
func sized(body bool, from string) string {
	const log = "(SELECT sum(octet_length(e.body)) FROM parley.entry AS e WHERE e.task = t.key)"
	const blobs = "(SELECT sum((SELECT octet_length(b.data) FROM parley.blob AS b WHERE b.hash = u.hash)) FROM parley.blob_task AS u WHERE u.task = t.key)"
	size := "CASE WHEN t.head IS NULL THEN coalesce(" + log + ", 0) + coalesce(" + blobs + ", 0) ELSE octet_length(t.head) END"
	if body {
		size = "CASE WHEN t.head IS NULL THEN coalesce(" + log + ", 0) ELSE octet_length(t.head) + octet_length(t.body) END + coalesce(" + blobs + ", 0)"
	}
	return "SELECT " + unsized + ", (" + size + ")::bigint AS size FROM " + from + " OFFSET 0"
}

// recordColumns are the columns that scanRecord reads from the result of sized as t. The
// seal, with or without its body, is included only if the condition holds.
func recordColumns(body bool, condition string) string {
	fields := columns + ", CASE WHEN " + condition + " THEN t.head END"
	if body {
		fields += ", CASE WHEN " + condition + " THEN t.body END"
	} else {
		fields += ", NULL::bytea"
	}
	return fields + ", t.size"
}

// name scans bytea into a string.
type name string

// ScanBytes implements pgtype.BytesScanner. b belongs to the driver.
func (n *name) ScanBytes(b []byte) error {
	*n = name(b)
	return nil
}

// millis scans a time.
type millis time.Time

// ScanInt64 implements pgtype.Int64Scanner.
func (m *millis) ScanInt64(v pgtype.Int8) error {
	*m = millis{}
	if v.Valid {
		*m = millis(milli(v.Int64))
	}
	return nil
}

func milli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// into returns the targets for scanning the columns of a row into a value, in their order.
type into[T any] func(*T) []any

// each runs a query and calls f with each row.
func each(ctx context.Context, q querier, f func(pgx.Rows) error, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect runs a query and returns a value for each row.
func collect[T any](ctx context.Context, q querier, to into[T], sql string, args ...any) (all []T, err error) {
	err = each(ctx, q, func(r pgx.Rows) error {
		var v T
		err := r.Scan(to(&v)...)
		all = append(all, v)
		return err
	}, sql, args...)
	return all, err
}

// find is collect as a read of its own.
func find[T any](ctx context.Context, d *db, what string, to into[T], sql string, args ...any) (all []T, err error) {
	err = d.read(ctx, func(ctx context.Context, q querier) (err error) {
		all, err = collect(ctx, q, to, sql, args...)
		return err
	})
	if err != nil {
		return nil, wrap(what, err)
	}
	return all, nil
}

// findOne is find for at most one row; without one it returns store.ErrNotFound.
func findOne[T any](ctx context.Context, d *db, what string, to into[T], sql string, args ...any) (*T, error) {
	all, err := find(ctx, d, what, to, sql, args...)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, store.ErrNotFound
	}
	return &all[0], nil
}

// intoRow scans columns.
func intoRow(r *store.Row) []any {
	return []any{
		(*name)(&r.Tenant), (*name)(&r.Owner), (*name)(&r.ID), (*name)(&r.Context), &r.State, (*millis)(&r.Updated), (*millis)(&r.Created),
		&r.Last, &r.Active, (*name)(&r.Node), &r.Epoch, &r.Lost, &r.Turn, &r.Attempt,
	}
}

// intoName, intoNumber and intoBytes scan rows of one column.
func intoName(s *string) []any  { return []any{(*name)(s)} }
func intoNumber(n *int64) []any { return []any{n} }
func intoBytes(b *[]byte) []any { return []any{b} }

// scanRecord reads recordColumns and, after them, more.
func scanRecord(r pgx.Row, rec *store.Record, more ...any) error {
	var head, body []byte
	if err := r.Scan(append(append(intoRow(&rec.Row), &head, &body, &rec.Size), more...)...); err != nil {
		return err
	}
	rec.Seal = nil
	if head != nil {
		rec.Seal = &store.Seal{Head: head, Body: body}
	}
	return nil
}

// arg returns a string as an argument of type bytea.
func arg(s string) []byte { return []byte(s) }

// values returns one value of each row as an argument that is an array. It is never nil,
// because an empty array is not NULL.
func values[R, V any](rows []R, of func(R) V) []V {
	all := make([]V, len(rows))
	for i := range rows {
		all[i] = of(rows[i])
	}
	return all
}

// lastOf returns the last of the rows of each name, at the place of the first, because one
// statement can write a row only once.
func lastOf[R any, N comparable](rows []R, name func(R) N) (last []R) {
	at := map[N]int{}
	for _, r := range rows {
		i, there := at[name(r)]
		if !there {
			i = len(last)
			at[name(r)] = i
			last = append(last, r)
		}
		last[i] = r
	}
	return last
}
