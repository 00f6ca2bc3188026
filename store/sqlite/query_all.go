package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Lists and searches across owners are for operators. An index for them would have to be
// written with each change of each task. So they go from owner to owner instead, with one
// index step each. Across 10,000 owners of 10 tasks, a page costs 70 to 200 ms on a busy
// machine, and so does a search (BenchmarkAllOwners). The cost grows with the number of
// owners, not with their tasks: owners with many tasks have a tally.

// owners is a table of all owners of a tenant.
const owners = "WITH RECURSIVE o(name) AS (SELECT min(owner) FROM task WHERE tenant = ?1 " +
	"UNION ALL SELECT (SELECT min(owner) FROM task WHERE tenant = ?1 AND owner > o.name) FROM o WHERE o.name IS NOT NULL) "

// Owners implements store.Store.
func (r *Reader) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	found, err := find(ctx, r, scanText, func(c *conn) *stmt {
		return c.stmt(owners + "SELECT name FROM o WHERE name IS NOT NULL AND EXISTS (SELECT 1 FROM task WHERE tenant = ?1 AND owner = o.name AND id = ?2) LIMIT ?3").
			text(tenant).text(id).int(int64(limit))
	})
	slices.Sort(found)
	return found, err
}

// AllNamed returns up to limit keys of the tasks that have an ID, of all tenants and owners,
// in any order. It is for operators.
func (r *Reader) AllNamed(ctx context.Context, id string, limit int) ([]store.Key, error) {
	scan := func(r *sqlite3.Stmt) store.Key {
		return store.Key{Tenant: r.ColumnText(0), Owner: r.ColumnText(1), ID: id}
	}
	return find(ctx, r, scan, func(c *conn) *stmt {
		return c.stmt("SELECT tenant, owner FROM task INDEXED BY task_name WHERE id = ? LIMIT ?").text(id).int(int64(limit))
	})
}

// pageOfAll is page over all owners of a tenant. It reads each owner's newest task once, and
// then reads pages only of owners whose newest task may be on this page.
func (c *conn) pageOfAll(q *store.Query, p *store.Page) error {
	heads, err := c.heads(q, p)
	if err != nil {
		return err
	}
	one := *q
	one.MaxBytes = 0 // read only rows here; seals are read for the records of the page
	for _, h := range heads {
		if n := len(p.Records); n == q.Limit && h.newest.Before(p.Records[n-1].Updated) {
			p.More = true
			break // all that follow are older
		}
		one.Owner = h.owner
		var page store.Page
		if err := c.pageOfOne(&one, &page); err != nil {
			return err
		}
		p.More = p.More || page.More
		p.Records = append(p.Records, page.Records...)
		slices.SortFunc(p.Records, func(a, b store.Record) int {
			return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Owner, a.Owner))
		})
		if len(p.Records) > q.Limit {
			p.Records, p.More = p.Records[:q.Limit], true
		}
	}
	rows := p.Records
	p.Records = nil
	page := store.Fill(q, p)
	for i := range rows {
		rec, err := c.get(rows[i].Key, fieldsOf(q), q.Most())
		if err != nil {
			return err
		}
		if !page.Add(*rec) {
			break
		}
	}
	return nil
}

// pageOfOne is page for q.Owner.
func (c *conn) pageOfOne(q *store.Query, p *store.Page) error {
	sc, err := c.scopeFor(q)
	if err != nil {
		return err
	}
	return c.page(sc, q, columns, p)
}

// head is an owner's newest task that a query matches.
type head struct {
	owner  string
	newest time.Time // of the tasks at or after Query.Before
}

// heads returns the owners that may have a task on the page, newest first, and counts all
// matches.
func (c *conn) heads(q *store.Query, p *store.Page) (heads []head, err error) {
	scopes, err := c.scopesOf("tenant = ? AND context = ?", func(st *stmt) { st.text(q.Tenant).text(q.Context) })
	for _, sc := range scopes {
		if err != nil {
			return nil, err
		}
		one := *q
		one.Owner, one.Limit, one.MaxBytes = sc.owner, 1, 0
		var first store.Page
		var n int64
		if n, err = c.totalOf(sc, &one); err == nil {
			err = c.page(sc, &one, columns, &first)
		}
		p.Total += int(n)
		for i := range first.Records {
			heads = append(heads, head{sc.owner, first.Records[i].Updated})
		}
	}
	if err == nil {
		heads, err = c.smallHeads(q, p, heads, len(scopes) > 0)
	}
	slices.SortFunc(heads, func(a, b head) int { return b.newest.Compare(a.newest) })
	return heads, err
}

// smallHeads adds the heads and the matches of the owners that have no scope for the query.
// scopes says whether any owner has one.
func (c *conn) smallHeads(q *store.Query, p *store.Page, heads []head, scopes bool) ([]head, error) {
	all := where(q)
	all.terms[0], all.terms[1] = "tenant = ?1", "owner = o.name"
	page := *all
	page.terms = slices.Clone(all.terms)
	if q.Before != nil {
		page.and("(updated, id) <= (?, ?)")
	}
	// Without a filter, one count of the tenant's tasks replaces the count of each owner.
	simple := len(all.terms) == 2 && !scopes
	count := "0"
	if !simple {
		count = "(SELECT count(*) FROM task " + all.sql() + ")"
	}
	small := ""
	if scopes {
		small = " AND NOT EXISTS (SELECT 1 FROM scope WHERE tenant = ?1 AND owner = o.name AND context = ?)"
	}
	st := c.stmt(owners + "SELECT name, " + count + ", (SELECT updated FROM task " + page.sql() +
		" ORDER BY updated DESC, id DESC LIMIT 1) FROM o WHERE name IS NOT NULL" + small).text(q.Tenant)
	if !simple {
		all.bindRest(st, q)
	}
	page.bindRest(st, q)
	if q.Before != nil {
		st.time(q.Before.Updated).text(q.Before.ID)
	}
	if scopes {
		st.text(q.Context)
	}
	err := st.each(func(r *sqlite3.Stmt) error {
		p.Total += r.ColumnInt(1)
		if r.ColumnType(2) != sqlite3.NULL {
			heads = append(heads, head{r.ColumnText(0), milli(r.ColumnInt64(2))})
		}
		return nil
	})
	if err == nil && simple {
		var n int64
		n, _, err = c.stmt("SELECT count(*) FROM task WHERE tenant = ?").text(q.Tenant).one()
		p.Total = int(n)
	}
	return heads, err
}
