package postgres

import (
	"fmt"
	"math"
	"strconv"

	"github.com/parley-a2a/parley/store"
)

// bigCount limits how many tasks are counted by the statement that lists them. If the planner
// expects more, it has the statement compiled, which takes longer than to run it.
const bigCount = 4096

// anyCount is the limit that lets any number of tasks be counted.
const anyCount = math.MaxInt

// scopeOf returns the key of a query's scope among those that this process knows, or 0.
func (s *Store) scopeOf(q *store.Query) int64 {
	keys, _ := s.scopes.known()
	return keys[scopeName{q.Tenant, q.Owner, q.Context}]
}

// total is an expression for the number of tasks that the query matches. It is NULL if the
// scope does not exist any more or is unfinished, or if there are too many tasks to count.
func (l *listing) total() string {
	if l.scope == 0 {
		return l.counted(l.owner)
	}
	scope := l.arg(l.scope)
	sum := l.tallied(l.owner, scope)
	if l.state == "" {
		sum = "(SELECT " + sum + " FROM s)"
	}
	return "CASE WHEN EXISTS (SELECT 1 FROM parley.scope AS c WHERE c.key = " + scope + ") AND NOT " + unfinished(scope) + " THEN " + sum + " END"
}

// counted is count, or NULL for too many tasks. It has an ORDER BY so that the index with
// that order is read: the first rows of the table may have few matches, even if there are
// many in total.
func (l *listing) counted(owner string) string {
	if l.most == anyCount {
		return l.count(owner, l.state, "")
	}
	limit := strconv.Itoa(l.most)
	return "(SELECT nullif(count(*), " + limit + ") FROM (SELECT 1 FROM parley.task AS t WHERE " + l.matches(owner, l.state) + " ORDER BY t.state, t.updated LIMIT " + limit + ") AS f)"
}

// count is an expression that counts the matches of a state (empty: of all states) that meet
// an additional condition.
func (l *listing) count(owner, state, and string) string {
	return "(SELECT count(*) FROM parley.task AS t WHERE " + l.matches(owner, state) + and + ")"
}

// matches is the condition for the matches of a state, or of all states.
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

// tallied is an expression for the matches in a scope, see tally.go. If the query has no
// state, it is an aggregate over the states in s.
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
	// From the widest pieces to the narrowest, sum the pieces after the one that has the
	// time, as far as wider pieces do not include them. Count the rest.
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
