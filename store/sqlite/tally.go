package sqlite

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Not constant, for tests.
var (
	// bigScope is the largest number of tasks of an owner or a context that are counted
	// instead of tallied: counting so many takes a tenth of a millisecond, and most contexts
	// have one.
	bigScope int64 = 1024
	// lookEvery is the interval of checks whether an owner or context has become big: one in
	// so many of the tasks that are added or moved causes one. Lists are right in the
	// meantime too, because they count.
	lookEvery = 64
)

// tally is the writer's half of the tallies. A tally stores counts that lists would otherwise
// have to compute, for owners and contexts with many tasks (docs/design/0010-speed.md). It is
// updated in the same transactions as the tasks. The changes of a transaction gather in
// memory and are written at its end, once for each span.
type tally struct {
	scopes map[scopeName]int64 // the keys of all scopes; nil: not read yet
	moves  map[place]int64     // tasks added to a place minus tasks removed from it
	look   map[scopeName]bool  // owners and contexts that may have become too big to count
}

// scopeName names a scope: an owner or, if context is set, a context.
type scopeName struct{ tenant, owner, context string }

// place is where a task is counted.
type place struct {
	scope   int64
	state   int32
	updated int64
}

// begin prepares for a transaction, inside of it.
func (t *tally) begin(c *conn) error {
	clear(t.moves)
	clear(t.look)
	if t.scopes != nil {
		return nil
	}
	all, err := c.scopesOf("true", func(*stmt) {})
	if err != nil {
		return err
	}
	t.scopes, t.moves, t.look = map[scopeName]int64{}, map[place]int64{}, map[scopeName]bool{}
	for _, sc := range all {
		t.scopes[sc.scopeName] = sc.key
	}
	return nil
}

// forget is called after a failed transaction: since its outcome may be unknown, the scopes
// are read again.
func (t *tally) forget() { t.scopes = nil }

// moved notes a change of a task's row, after the row was written. was is nil if the task is
// new; is is nil if it was deleted.
func (t *tally) moved(c *conn, task int64, was, is *store.Row) error {
	if was != nil && is != nil && was.State == is.State && was.Context == is.Context && was.Updated.UnixMilli() == is.Updated.UnixMilli() {
		return nil
	}
	if was != nil {
		if scope := t.note(was, -1); scope > 0 {
			err := c.stmt("DELETE FROM member WHERE scope = ? AND kind = ? AND at = ? AND name = ?").
				int(scope).int(int64(was.State)).time(was.Updated).text(was.ID).exec()
			if err != nil {
				return err
			}
		}
	}
	if is != nil {
		if scope := t.note(is, 1); scope > 0 {
			return c.stmt("INSERT INTO member (scope, kind, at, name, task) VALUES (?, ?, ?, ?, ?)").
				int(scope).int(int64(is.State)).time(is.Updated).text(is.ID).int(task).exec()
		}
	}
	return nil
}

// note adds n to the count at r's place, and returns the scope of its context, or 0 if the
// context has none. A context has a scope only if its owner has one.
func (t *tally) note(r *store.Row, n int64) int64 {
	name := scopeName{r.Tenant, r.Owner, ""}
	scope, big := t.scopes[name]
	if big {
		t.moves[place{scope, r.State, r.Updated.UnixMilli()}] += n
		if r.Context == "" { // no list can ask for it
			return 0
		}
		name.context = r.Context
		if scope, big = t.scopes[name]; big {
			t.moves[place{scope, r.State, r.Updated.UnixMilli()}] += n
			return scope
		}
	}
	if n > 0 && rand.IntN(lookEvery) == 0 {
		t.look[name] = true
	}
	return 0
}

// write writes the noted changes, at the end of a transaction.
func (t *tally) write(c *conn) error {
	// Within a state the newest places come first, because a span is known by its begin.
	all := slices.SortedFunc(maps.Keys(t.moves), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.state, b.state), cmp.Compare(b.updated, a.updated))
	})
	var emptied []int64 // scopes in which at least one state has become empty
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].scope == all[0].scope && all[n].state == all[0].state {
			n++
		}
		left, err := t.writeState(c, all[:n])
		if err != nil {
			return err
		}
		if left == 0 {
			emptied = append(emptied, all[0].scope)
		}
		all = all[n:]
	}
	for _, scope := range emptied {
		if err := t.drop(c, scope); err != nil {
			return err
		}
	}
	for name := range t.look {
		if err := t.grow(c, name); err != nil {
			return err
		}
	}
	return nil
}

// writeState writes the noted changes of one state of a scope, and returns how many tasks of
// that state are left, or less than 0 if their number did not change.
func (t *tally) writeState(c *conn, at []place) (left int64, err error) {
	scope, state, total := at[0].scope, at[0].state, int64(0)
	var touched []span
	for len(at) > 0 {
		s := span{place: at[0]}
		if t.moves[s.place] == 0 {
			at = at[1:]
			continue
		}
		if s.updated, err = c.spanOf(at[0]); err != nil {
			return 0, err
		}
		n := int64(0)
		for len(at) > 0 && at[0].updated >= s.updated {
			n += t.moves[at[0]]
			at = at[1:]
		}
		if n == 0 {
			continue
		}
		total += n
		if s.n, err = c.addToSpan(s.place, n); err != nil {
			return 0, err
		}
		touched = append(touched, s)
	}
	for _, s := range touched { // only after all counts are written, because a split counts the tasks again
		if err := c.trim(s); err != nil {
			return 0, err
		}
	}
	if total == 0 {
		return -1, nil
	}
	left, _, err = c.stmt("INSERT INTO tally (scope, state, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n RETURNING n").
		int(scope).int(int64(state)).int(total).one()
	if left > 0 || err != nil {
		return left, err
	}
	return 0, c.stmt("DELETE FROM tally WHERE scope = ? AND state = ?").int(scope).int(int64(state)).exec()
}

// drop removes a scope that has no tasks left, so nothing remains of an erased owner.
func (t *tally) drop(c *conn, scope int64) error {
	_, gone, err := c.stmt("DELETE FROM scope WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM tally WHERE scope = ?1) RETURNING key").int(scope).one()
	if gone {
		maps.DeleteFunc(t.scopes, func(_ scopeName, key int64) bool { return key == scope })
	}
	return err
}

// grow creates a scope for an owner or a context that has too many tasks to count.
func (t *tally) grow(c *conn, name scopeName) error {
	index, of := "task_state", "tenant = ?1 AND owner = ?2"
	if name.context != "" {
		index, of = "task_context", "tenant = ?1 AND owner = ?2 AND context = ?3"
	}
	tasks := " FROM task INDEXED BY " + index + " WHERE " + of
	bind := func(sql string) *stmt {
		st := c.stmt(sql).text(name.tenant).text(name.owner)
		if name.context != "" {
			st.text(name.context)
		}
		return st
	}
	n, _, err := bind("SELECT count(*) FROM (SELECT 1" + tasks + " LIMIT ?)").int(bigScope + 1).one()
	if n <= bigScope || err != nil {
		return err
	}
	key, _, err := c.stmt("INSERT INTO scope (tenant, owner, context) VALUES (?, ?, ?) RETURNING key").
		text(name.tenant).text(name.owner).text(name.context).one()
	if err != nil {
		return err
	}
	t.scopes[name] = key
	if name.context != "" {
		if err := bind("INSERT INTO member (scope, kind, at, name, task) SELECT ?4, state, updated, id, key" + tasks).int(key).exec(); err != nil {
			return err
		}
	}
	spans, err := collect(bind("SELECT state, count(*)"+tasks+" GROUP BY state"), func(r *sqlite3.Stmt) span {
		return span{place{key, int32(r.ColumnInt64(0)), always}, r.ColumnInt64(1)}
	})
	for _, s := range spans {
		if err == nil {
			err = c.stmt("INSERT INTO tally (scope, state, n) VALUES (?, ?, ?)").int(key).int(int64(s.state)).int(s.n).exec()
		}
		if err == nil {
			_, err = c.addToSpan(s.place, s.n)
		}
		if err == nil {
			err = c.trim(s)
		}
	}
	return err
}
