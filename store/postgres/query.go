package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	var rec store.Record
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		if most <= store.RowOnly {
			return q.QueryRow(ctx, getRow, arg(k.Tenant), arg(k.Owner), arg(k.ID)).Scan(intoRow(&rec.Row)...)
		}
		return scanRecord(q.QueryRow(ctx, getTask, arg(k.Tenant), arg(k.Owner), arg(k.ID), most), &rec)
	})
	if err != nil {
		return nil, wrap("get", missing(err))
	}
	return &rec, nil
}

const (
	named  = "parley.task AS t WHERE t.tenant = $1 AND t.owner = $2 AND t.id = $3"
	getRow = "SELECT " + columns + " FROM " + named
)

var getTask = "SELECT " + recordColumns(true, "t.size <= $4") + " FROM (" + sized(true, named) + ") AS t"

// missing returns store.ErrNotFound if err is pgx.ErrNoRows.
func missing(err error) error {
	if err == pgx.ErrNoRows {
		return store.ErrNotFound
	}
	return err
}

// List implements store.Store. It is one statement, and so sees one snapshot. Its cost
// depends on the size of the page only, not on where the page starts or how many tasks match:
// for each state it reads as many records as fit on the page, see listing. Total is counted
// if an owner or a context has few tasks, and read from a tally if it has many. Lists of all
// owners cost more, see query_all.go.
func (s *Store) List(ctx context.Context, q store.Query) (*store.Page, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	p, err := s.list(ctx, &q, s.scopeOf(&q), bigCount)
	if err == errNoTotal && !s.o.NoAdvisory { // perhaps the known scopes are out of date
		if err = s.readScopes(ctx); err == nil {
			p, err = s.list(ctx, &q, s.scopeOf(&q), bigCount)
		}
	}
	if err == errNoTotal { // many tasks, but no tally yet
		if !s.o.NoAdvisory && !q.AnyOwner {
			s.grown(scopeName{q.Tenant, q.Owner, q.Context})
		}
		p, err = s.list(ctx, &q, 0, anyCount)
	}
	if err != nil {
		return nil, wrap("list", err)
	}
	return p, nil
}

// errNoTotal means that list found no total.
var errNoTotal = errors.New("there is no tally, and too many tasks to count")

// list is List, with the total from the tally of a scope. If scope is 0, it counts, and finds
// no total if there are most tasks or more.
func (s *Store) list(ctx context.Context, q *store.Query, scope int64, most int) (*store.Page, error) {
	l := newListing(q)
	l.scope, l.most = scope, most
	sql := l.sql()
	var p store.Page
	var total *int
	read := s.read
	if q.AnyOwner || most == anyCount {
		read = s.interpreted
	}
	err := read(ctx, func(ctx context.Context, on querier) error {
		p = store.Page{}
		page := store.Fill(q, &p)
		return each(ctx, on, func(r pgx.Rows) error {
			if r.RawValues()[0] == nil { // only the total
				return r.Scan(append(make([]any, recordFields), &total)...)
			}
			if p.More {
				return nil
			}
			var rec store.Record
			err := scanRecord(r, &rec, &total)
			if err == nil {
				page.Add(rec)
			}
			return err
		}, sql, l.args...)
	})
	if err != nil {
		return nil, err
	}
	if total == nil {
		return nil, errNoTotal
	}
	p.Total = *total
	return &p, nil
}

// interpreted is read for a statement that the planner expects to run long, but that is not
// worth compiling.
func (s *Store) interpreted(ctx context.Context, f func(ctx context.Context, q querier) error) error {
	return s.snapshot(ctx, func(ctx context.Context, q querier) error {
		if _, err := q.Exec(ctx, noCompiler); err != nil {
			return err
		}
		return f(ctx, q)
	})
}

// noCompiler turns the compiler off. It does nothing if the server has no such setting.
const noCompiler = "SELECT set_config(name, 'off', true) FROM pg_catalog.pg_settings WHERE name = 'jit'"

// listing builds the statement of a query. No index has all tasks of an owner or of a context
// in the order of a list, because each additional index would make each write dearer: indexes
// are per state. If the query has no state, the first records of each state are read and
// sorted. The states are found in the index, one step each.
type listing struct {
	q     *store.Query
	scope int64 // with the tally for the total; 0: none is known
	most  int   // so many tasks are too many to count; anyCount: none are
	args  []any
	// the parameters of the filter and of the position where the page starts
	tenant, owner, context, state, since, updated, id, behind string
}

func newListing(q *store.Query) *listing {
	l := &listing{q: q}
	l.tenant = l.arg(arg(q.Tenant))
	if !q.AnyOwner {
		l.owner = l.arg(arg(q.Owner))
	}
	if q.Context != "" {
		l.context = l.arg(arg(q.Context))
	}
	if q.State != 0 {
		l.state = l.arg(q.State)
	}
	if !q.Since.IsZero() {
		l.since = l.arg(q.Since.UnixMilli())
	}
	if b := q.Before; b != nil {
		l.updated, l.id = l.arg(b.Updated.UnixMilli()), l.arg(arg(b.ID))
		if q.AnyOwner {
			l.behind = l.arg(arg(b.Owner))
		}
	}
	return l
}

// arg adds an argument and returns its parameter.
func (l *listing) arg(v any) string {
	l.args = append(l.args, v)
	return "$" + strconv.Itoa(len(l.args))
}

// sql returns the whole statement. Each row is a record followed by the total. If there are
// no records, one row has only the total.
func (l *listing) sql() string {
	if l.q.AnyOwner {
		return l.sqlOfAll()
	}
	n := l.q.Limit + 1 // one more shows whether there is a next page
	with := ""
	if l.state == "" {
		with = "WITH RECURSIVE " + l.states(l.owner) + " "
	}
	const order = "updated DESC, id DESC"
	return with + "SELECT p.*, n.total FROM (SELECT " + l.total() + " AS total) AS n LEFT JOIN (" +
		l.records(l.first(unsized, l.owner, n)+" ORDER BY "+order+" LIMIT "+l.arg(n), order) + ") AS p ON true ORDER BY p.updated DESC, p.id DESC"
}

// records selects the records of a page, given as a query for unsized and its order. Seals
// that would exceed the page's MaxBytes are not sent.
func (l *listing) records(page, order string) string {
	return "SELECT " + recordColumns(l.q.Body, "t.behind <= "+l.arg(l.q.Most())+"::bigint") + " FROM (SELECT t.*, sum(t.size) OVER (ORDER BY " + order +
		" ROWS UNBOUNDED PRECEDING) AS behind FROM (" + sized(l.q.Body, "("+page+") AS t") + ") AS t) AS t"
}

// in is the condition for an owner's tasks in the query's tenant and context.
func (l *listing) in(owner string) string {
	sql := "t.tenant = " + l.tenant + " AND t.owner = " + owner
	if l.context != "" {
		sql += " AND t.context = " + l.context
	}
	return sql
}

// first selects columns of the first n tasks of each state, starting where the page starts.
// If the query has no state, the table s has the states.
func (l *listing) first(columns, owner string, n int) string {
	state := l.state
	if state == "" {
		state = "s.state"
	}
	sql := "SELECT " + columns + " FROM parley.task AS t WHERE " + l.in(owner) + " AND t.state = " + state
	if l.since != "" {
		sql += " AND t.updated >= " + l.since
	}
	switch {
	case l.behind != "":
		sql += " AND (t.updated, t.id, t.owner) < (" + l.updated + ", " + l.id + ", " + l.behind + ")"
	case l.updated != "":
		sql += " AND (t.updated, t.id) < (" + l.updated + ", " + l.id + ")"
	}
	sql += " ORDER BY t.updated DESC, t.id DESC LIMIT " + round(n)
	if l.state == "" {
		return "SELECT f.* FROM s CROSS JOIN LATERAL (" + sql + ") AS f"
	}
	return "SELECT f.* FROM (" + sql + ") AS f"
}

// states defines a table s of the existing states.
func (l *listing) states(owner string) string {
	of := "SELECT t.state FROM parley.task AS t WHERE " + l.in(owner)
	return "s(state) AS ((" + of + " ORDER BY t.state LIMIT 1) UNION ALL " +
		"SELECT n.state FROM s CROSS JOIN LATERAL (" + of + " AND t.state > s.state ORDER BY t.state LIMIT 1) AS n)"
}

// round returns the limit as a constant that is not smaller. The planner plans better with a
// constant than with a parameter, and few different constants mean few statements.
func round(n int) string {
	for _, limit := range []int{1, 2, 16, 64, 128, 1024} {
		if n <= limit {
			return strconv.Itoa(limit)
		}
	}
	return strconv.Itoa((n + 1023) / 1024 * 1024)
}

// Owners implements store.Store.
func (s *Store) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return find(ctx, s.db, "look for a task's owners", intoName, ownersOf, arg(tenant), arg(id), limit)
}

// AllNamed returns up to limit keys of the tasks that have an ID, of all tenants and owners,
// in any order. It is for operators.
func (s *Store) AllNamed(ctx context.Context, id string, limit int) ([]store.Key, error) {
	return find(ctx, s.db, "look for a task", func(k *store.Key) []any { return []any{(*name)(&k.Tenant), (*name)(&k.Owner), (*name)(&k.ID)} },
		"SELECT t.tenant, t.owner, t.id FROM parley.task AS t WHERE t.id = $1 LIMIT $2", arg(id), limit)
}

// Rows implements store.Store.
func (s *Store) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	keys = slices.Compact(slices.SortedFunc(slices.Values(keys), store.Key.Compare)) // each row once
	tenants, owners, ids := split(keys)
	return find(ctx, s.db, "read rows", intoRow, rowsOf, tenants, owners, ids)
}

// Each row is looked up separately, so that the planner does not scan the table, however many
// keys it expects.
const rowsOf = "SELECT t.* FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS k(tenant, owner, id) CROSS JOIN LATERAL (SELECT " + columns +
	" FROM parley.task AS t WHERE t.tenant = k.tenant AND t.owner = k.owner AND t.id = k.id LIMIT 1) AS t"

// split returns the parts of keys as arguments.
func split(keys []store.Key) (tenants, owners, ids [][]byte) {
	return values(keys, func(k store.Key) []byte { return arg(k.Tenant) }),
		values(keys, func(k store.Key) []byte { return arg(k.Owner) }),
		values(keys, func(k store.Key) []byte { return arg(k.ID) })
}

// Tasks implements store.Store.
func (s *Store) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	sql, args := "SELECT "+columns+" FROM parley.task AS t", []any(nil)
	if after != nil {
		sql += " WHERE (t.tenant, t.owner, t.id) > ($1, $2, $3)"
		args = append(args, arg(after.Tenant), arg(after.Owner), arg(after.ID))
	}
	found, err := find(ctx, s.db, "read tasks", intoRow, sql+" ORDER BY t.tenant, t.owner, t.id LIMIT "+round(limit), args...)
	return found[:min(len(found), limit)], err
}
