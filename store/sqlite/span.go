package sqlite

import (
	"math"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// bigSpan is how many tasks a span counts at most, unless they were all updated at the same
// time. A list since some time counts the tasks in a part of one span, and adds the counts of
// newer spans. Not constant, for tests.
var bigSpan int64 = 1024

// always is the begin of the first span of a state that an append creates.
const always = math.MinInt64

// span counts the tasks of one scope and state that were updated at the place's time or
// later, and before the next span begins.
type span struct {
	place
	n int64
}

// spanOf returns the begin of the span that counts the tasks at a place.
func (c *conn) spanOf(p place) (int64, error) {
	begin, there, err := c.stmt("SELECT begin FROM span WHERE scope = ? AND state = ? AND begin <= ? ORDER BY begin DESC LIMIT 1").
		int(p.scope).int(int64(p.state)).int(p.updated).one()
	if !there {
		begin = always
	}
	return begin, err
}

// addToSpan adds n to the span that begins at p, which it creates if necessary, and returns
// the new count.
func (c *conn) addToSpan(p place, n int64) (int64, error) {
	n, _, err := c.stmt("INSERT INTO span (scope, state, begin, n) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n RETURNING n").
		int(p.scope).int(int64(p.state)).int(p.updated).int(n).one()
	return n, err
}

// trim deletes an empty span, so that the span before it extends over its range, and splits a
// span that is too big.
func (c *conn) trim(s span) error {
	if s.n == 0 {
		return c.stmt("DELETE FROM span WHERE scope = ? AND state = ? AND begin = ?").
			int(s.scope).int(int64(s.state)).int(s.updated).exec()
	}
	if s.n <= bigSpan {
		return nil
	}
	of, err := c.scopesOf("key = ?", func(st *stmt) { st.int(s.scope) })
	if len(of) == 0 || err != nil {
		return err
	}
	end, there, err := c.stmt("SELECT min(begin) FROM span WHERE scope = ? AND state = ? AND begin > ?").
		int(s.scope).int(int64(s.state)).int(s.updated).one()
	if !there {
		end = math.MaxInt64
	}
	for err == nil && s.n > bigSpan {
		var next span
		if next, err = c.split(of[0], s, end); next.n == 0 {
			break // all its tasks have the same time
		}
		s = next
	}
	return err
}

// split divides a span that ends before end and returns its newer part. The older part gets
// three quarters of the maximum, because most new tasks are newer than all others.
func (c *conn) split(sc *scope, s span, end int64) (newer span, err error) {
	tasks := func(what, rest string) *stmt { return sc.tasks(c, s.state, what, rest) }
	first, _, err := tasks("at", "at >= ? AND at < ? ORDER BY at LIMIT 1").int(s.updated).int(end).one()
	if err != nil {
		return newer, err
	}
	last, _, err := tasks("at", "at >= ? AND at < ? ORDER BY at DESC LIMIT 1").int(s.updated).int(end).one()
	if first == last || err != nil {
		return newer, err
	}
	newer.place = s.place
	newer.updated, _, err = tasks("at", "at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?").
		int(first).int(end).int(bigSpan * 3 / 4).one()
	if newer.updated == first && err == nil {
		newer.updated, _, err = tasks("at", "at > ? AND at < ? ORDER BY at LIMIT 1").int(first).int(end).one()
	}
	if err != nil {
		return newer, err
	}
	newer.n, _, err = tasks("count(*)", "at >= ? AND at < ?").int(newer.updated).int(end).one()
	if err == nil {
		_, err = c.addToSpan(newer.place, newer.n)
	}
	if err == nil {
		_, err = c.addToSpan(s.place, -newer.n)
	}
	return newer, err
}

// scope is an owner or a context that has a tally.
type scope struct {
	scopeName
	key int64
}

// scopesOf returns the scopes that match a condition.
func (c *conn) scopesOf(condition string, bind func(*stmt)) (all []*scope, err error) {
	st := c.stmt("SELECT tenant, owner, context, key FROM scope WHERE " + condition)
	bind(st)
	all, err = collect(st, func(r *sqlite3.Stmt) *scope {
		return &scope{scopeName{r.ColumnText(0), r.ColumnText(1), r.ColumnText(2)}, r.ColumnInt64(3)}
	})
	return all, orNone(err)
}

// tasks selects from the tasks of a state in a scope; their time of update is called at.
func (sc *scope) tasks(c *conn, state int32, what, rest string) *stmt {
	if sc.context != "" {
		return c.stmt("SELECT " + what + " FROM member WHERE scope = ? AND kind = ? AND " + rest).int(sc.key).int(int64(state))
	}
	return c.stmt("SELECT " + what + " FROM (SELECT updated AS at FROM task INDEXED BY task_state WHERE tenant = ? AND owner = ? AND state = ?) WHERE " + rest).
		text(sc.tenant).text(sc.owner).int(int64(state))
}

// totalOf returns how many tasks of a scope a query matches.
func (c *conn) totalOf(sc *scope, q *store.Query) (n int64, err error) {
	if q.Since.IsZero() {
		sql := "SELECT sum(n) FROM tally WHERE scope = ?"
		if q.State == 0 {
			n, _, err = c.stmt(sql).int(sc.key).one()
		} else {
			n, _, err = c.stmt(sql + " AND state = ?").int(sc.key).int(int64(q.State)).one()
		}
		return n, err
	}
	states := []int32{q.State}
	if q.State == 0 {
		states, err = collect(c.stmt("SELECT state FROM tally WHERE scope = ?").int(sc.key), func(r *sqlite3.Stmt) int32 { return int32(r.ColumnInt64(0)) })
	}
	for _, state := range states {
		if err != nil {
			break
		}
		var since int64
		since, err = c.since(sc, state, q.Since.UnixMilli())
		n += since
	}
	return n, err
}

// since returns how many tasks of a state were updated at a time or later. It adds the counts
// of the spans that begin at that time or later, and counts the newer part of the span
// before.
func (c *conn) since(sc *scope, state int32, at int64) (n int64, err error) {
	end, whole := int64(math.MaxInt64), int64(0)
	err = c.stmt("SELECT min(begin), sum(n) FROM span WHERE scope = ? AND state = ? AND begin >= ?").
		int(sc.key).int(int64(state)).int(at).
		each(func(r *sqlite3.Stmt) error {
			if r.ColumnType(0) != sqlite3.NULL {
				end, whole = r.ColumnInt64(0), r.ColumnInt64(1)
			}
			return nil
		})
	if err != nil || end == at {
		return whole, err
	}
	n, _, err = sc.tasks(c, state, "count(*)", "at >= ? AND at < ?").int(at).int(end).one()
	return n + whole, err
}
