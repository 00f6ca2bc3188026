package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/parley-a2a/parley/store"
)

// bigCount is how many tasks are counted by the statement that lists them. Where
// they may be more the planner gets ready for a long time of counting: it has the
// statement compiled, which takes longer than to run it.
const bigCount = 4096

// The ways to a total beside the key of a scope, which has a tally.
const (
	countFew = 0  // of less than bigCount
	countAll = -1 // however many they are
)

// totalOf returns the way to the total of a query, by what is known of scopes. If
// that is out of date, no total is found in this way.
func (s *Store) totalOf(q *store.Query) int64 {
	keys, _ := s.scopes.known()
	return keys[scopeName{q.Tenant, q.Owner, q.Context}]
}

// relearn is readScopes where there are any.
func (s *Store) relearn(ctx context.Context) error {
	if s.o.NoAdvisory {
		return nil
	}
	return s.readScopes(ctx)
}

// outgrown says that what a query is about has many tasks and no tally.
func (s *Store) outgrown(q *store.Query) {
	if s.o.NoAdvisory || q.AnyOwner {
		return
	}
	select {
	case s.growing <- scopeName{q.Tenant, q.Owner, q.Context}:
	default:
	}
}

// total is an expression for how many tasks the query matches. It is NULL if that
// is not to be found in this way.
func (l *listing) total() string {
	switch l.way {
	case countAll:
		return l.count(l.owner, l.state, "")
	case countFew:
		return l.countFew(l.owner)
	}
	scope := l.arg(l.way)
	sum := l.tallied(l.owner, scope)
	if l.state == "" {
		sum = "(SELECT " + sum + " FROM s)"
	}
	return "CASE WHEN EXISTS (SELECT 1 FROM parley.scope AS c WHERE c.key = " + scope + ") AND NOT " + unfinished(scope) + " THEN " + sum + " END"
}

// countFew is count for less than bigCount. In an order, so that the index that has it
// is read: there might be few in the beginning of the table, though many in all.
func (l *listing) countFew(owner string) string {
	limit := strconv.Itoa(bigCount)
	return "(SELECT nullif(count(*), " + limit + ") FROM (SELECT 1 FROM parley.task AS t WHERE " + l.matches(owner, l.state) + " ORDER BY t.state, t.updated LIMIT " + limit + ") AS f)"
}

// count is an expression that counts the matches of a state, or of all if it is
// empty, with a condition more.
func (l *listing) count(owner, state, and string) string {
	return "(SELECT count(*) FROM parley.task AS t WHERE " + l.matches(owner, state) + and + ")"
}

// matches is the condition for the matches of a state, or of all.
func (l *listing) matches(owner, state string) string {
	sql := l.in(owner)
	if state != "" {
		sql += " AND t.state = " + state
	}
	if l.since != "" {
		sql += " AND t.updated >= " + l.since
	}
	return sql
}

// tallied is an expression for the matches in a scope, see tally.go. Without a
// state in the query it is an aggregate of the states in s.
func (l *listing) tallied(owner, scope string) string {
	if l.state != "" {
		return l.talliedOf(owner, scope, l.state)
	}
	return "coalesce(sum(" + l.talliedOf(owner, scope, "s.state") + "), 0)::bigint"
}

// talliedOf is tallied for one state.
func (l *listing) talliedOf(owner, scope, state string) string {
	sum := func(width int16, pieces string) string {
		return fmt.Sprintf("coalesce((SELECT sum(y.n) FROM parley.tally AS y WHERE y.scope = %s AND y.state = %s AND y.width = %d%s), 0)::bigint", scope, state, width, pieces)
	}
	if l.since == "" {
		return sum(widths[0], "")
	}
	// From the widest pieces to the narrowest: those behind the time's own, as far as
	// the wider ones do not count them. The rest is counted.
	at, sql, end := l.q.Since.UnixMilli(), "", int64(0)
	for i := len(widths) - 1; i > 0; i-- {
		width, pieces := widths[i], ""
		own := pieceOf(at, width)
		if i < len(widths)-1 {
			pieces = " AND y.piece < " + l.arg(end>>width)
		}
		sql += sum(width, " AND y.piece > "+l.arg(own)+pieces) + " + "
		end = (own + 1) << width
	}
	return sql + l.count(owner, state, " AND t.updated < "+l.arg(end))
}
