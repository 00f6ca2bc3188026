package postgres

import (
	"fmt"
	"strconv"
)

// bigCount is how many tasks are counted by the statement that lists them. Without
// a limit the planner would think that the count might be large where there is a
// tally instead, and get ready for it: it would compile the statement, which takes
// longer than to run it.
const bigCount = 4096

// total is an expression for how many tasks of an owner the query matches: by the
// tally if there is one, or else they are counted. It is NULL if they are too many
// for that.
func (l *listing) total(owner string) string {
	if l.countAll {
		return l.count(owner, l.state, "")
	}
	context := "''::bytea"
	if l.context != "" {
		context = l.context
	}
	scope := "SELECT c.key FROM parley.scope AS c WHERE c.tenant = " + l.tenant + " AND c.owner = " + owner + " AND c.context = " + context
	// Without OFFSET the scope would be looked for wherever its key stands.
	return "(SELECT CASE WHEN k.scope IS NULL THEN " + l.countFew(owner) + " ELSE " + l.tallied(owner) + " END FROM (SELECT (" + scope + ") AS scope OFFSET 0) AS k)"
}

// countFew is count for less than bigCount.
func (l *listing) countFew(owner string) string {
	limit := strconv.Itoa(bigCount)
	return "(SELECT nullif(count(*), " + limit + ") FROM (SELECT 1 FROM parley.task AS t WHERE " + l.matches(owner, l.state) + " LIMIT " + limit + ") AS f)"
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

// tallied is an expression for the matches in the scope k.scope, see tally.go.
// Without a state in the query it goes from state to state.
func (l *listing) tallied(owner string) string {
	if l.state != "" {
		return l.talliedOf(owner, l.state)
	}
	const of = "SELECT y.state FROM parley.tally AS y WHERE y.scope = k.scope"
	return "(WITH RECURSIVE s(state) AS ((" + of + " ORDER BY y.state LIMIT 1) UNION ALL " +
		"SELECT n.state FROM s CROSS JOIN LATERAL (" + of + " AND y.state > s.state ORDER BY y.state LIMIT 1) AS n) " +
		"SELECT coalesce(sum(" + l.talliedOf(owner, "s.state") + "), 0)::bigint FROM s)"
}

// talliedOf is tallied for one state.
func (l *listing) talliedOf(owner, state string) string {
	sum := func(width int16, pieces string) string {
		return fmt.Sprintf("coalesce((SELECT sum(y.n) FROM parley.tally AS y WHERE y.scope = k.scope AND y.state = %s AND y.width = %d%s), 0)::bigint", state, width, pieces)
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
