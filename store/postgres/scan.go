package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-a2a/parley/store"
)

// columns are those of a row of parley.task AS t, in the order in which scanRow
// reads them.
const columns = "t.tenant, t.owner, t.id, t.context, t.state, t.updated, t.created, t.last, t.active, t.node, t.epoch, t.lost, t.turn, t.attempt"

// recordFields is how many recordColumns has.
const recordFields = 16

// recordColumns are those that scanRecord reads, with the body of a seal or without.
func recordColumns(body bool) string {
	if body {
		return columns + ", t.head, t.body"
	}
	return columns + ", t.head, NULL::bytea"
}

// name scans bytea into a string.
type name string

// ScanBytes implements pgtype.BytesScanner. b is the driver's.
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

// scanRow reads columns, and more behind them into what more points to.
func scanRow(r pgx.Row, row *store.Row, more ...any) error {
	return r.Scan(append([]any{
		(*name)(&row.Tenant), (*name)(&row.Owner), (*name)(&row.ID), (*name)(&row.Context), &row.State, (*millis)(&row.Updated), (*millis)(&row.Created),
		&row.Last, &row.Active, (*name)(&row.Node), &row.Epoch, &row.Lost, &row.Turn, &row.Attempt,
	}, more...)...)
}

// scanRows reads rows of columns to their end.
func scanRows(rows pgx.Rows, err error) ([]store.Row, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []store.Row
	for rows.Next() {
		var row store.Row
		if err := scanRow(rows, &row); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// scanRecord reads recordColumns, and more behind them.
func scanRecord(r pgx.Row, rec *store.Record, more ...any) error {
	var head, body []byte
	if err := scanRow(r, &rec.Row, append([]any{&head, &body}, more...)...); err != nil {
		return err
	}
	rec.Seal = nil
	if head != nil {
		rec.Seal = &store.Seal{Head: head, Body: body}
	}
	return nil
}

// arg is a name as an argument.
func arg(s string) []byte { return []byte(s) }
