package postgres

// Lists and searches across owners are for operators. An index for them would have to be
// written with each change of each task. So they go from owner to owner instead, with one
// index step each. The cost grows with the number of owners, not with their tasks: owners
// with many tasks have a tally.

// owners selects all owners of a tenant, in order. An aggregate would be simpler, but bytea
// has none.
func owners(tenant string) string {
	of := "SELECT t.owner FROM parley.task AS t WHERE t.tenant = " + tenant
	return "WITH RECURSIVE o(owner) AS ((" + of + " ORDER BY t.owner LIMIT 1) UNION ALL " +
		"SELECT n.owner FROM o CROSS JOIN LATERAL (" + of + " AND t.owner > o.owner ORDER BY t.owner LIMIT 1) AS n) SELECT owner FROM o"
}

var ownersOf = "SELECT o.owner FROM (" + owners("$1") + ") AS o CROSS JOIN LATERAL (SELECT 1 FROM parley.task AS t " +
	"WHERE t.tenant = $1 AND t.owner = o.owner AND t.id = $2 LIMIT 1) AS f ORDER BY o.owner LIMIT $3"

// sqlOfAll is sql for all owners. It reads each owner's newest task after the start of the
// page, and then reads tasks only of owners whose newest may be on the page. Any other owner
// has no task on it: the page is already full of newer ones.
func (l *listing) sqlOfAll() string {
	n := l.q.Limit + 1
	limit := l.arg(n)
	const order = " ORDER BY f.updated DESC, f.id DESC, f.owner DESC LIMIT "
	const keys = "t.updated, t.id, t.owner"
	heads := "SELECT h.owner FROM o CROSS JOIN LATERAL (" + l.each(keys, "o.owner", 1) + " ORDER BY f.updated DESC, f.id DESC LIMIT 1) AS h " +
		"ORDER BY h.updated DESC, h.id DESC, h.owner DESC LIMIT " + limit
	page := "SELECT f.* FROM (" + heads + ") AS h CROSS JOIN LATERAL (" + l.each(keys, "h.owner", n) + ") AS f" + order + limit
	records := l.records("SELECT r.* FROM ("+page+") AS f CROSS JOIN LATERAL (SELECT "+unsized+
		" FROM parley.task AS t WHERE t.tenant = "+l.tenant+" AND t.owner = f.owner AND t.id = f.id LIMIT 1) AS r", "updated DESC, id DESC, owner DESC")
	return "WITH o AS MATERIALIZED (" + owners(l.tenant) + ") " +
		"SELECT p.*, n.total FROM (SELECT CASE WHEN count(c.n) = count(*) THEN coalesce(sum(c.n), 0)::bigint END AS total FROM (SELECT " + l.totalOfEach("o.owner") + " AS n FROM o) AS c) AS n " +
		"LEFT JOIN (" + records + ") AS p ON true ORDER BY p.updated DESC, p.id DESC, p.owner DESC"
}

// each is first for an owner in another table's column.
func (l *listing) each(columns, owner string, n int) string {
	if l.state == "" {
		return "WITH RECURSIVE " + l.states(owner) + " " + l.first(columns, owner, n)
	}
	return l.first(columns, owner, n)
}

// totalOfEach is total for an owner in another table's column.
func (l *listing) totalOfEach(owner string) string {
	if l.most == anyCount {
		return l.counted(owner)
	}
	context := "''::bytea"
	if l.context != "" {
		context = l.context
	}
	scope := "SELECT c.key FROM parley.scope AS c WHERE c.tenant = " + l.tenant + " AND c.owner = " + owner + " AND c.context = " + context + " AND NOT " + unfinished("c.key")
	sum := l.tallied(owner, "k.scope")
	if l.state == "" {
		sum = "(WITH RECURSIVE " + l.states(owner) + " SELECT " + sum + " FROM s)"
	}
	// Without OFFSET, the scope would be looked up at each use of its key.
	return "(SELECT CASE WHEN k.scope IS NULL THEN " + l.counted(owner) + " ELSE " + sum + " END FROM (SELECT (" + scope + ") AS scope OFFSET 0) AS k)"
}
