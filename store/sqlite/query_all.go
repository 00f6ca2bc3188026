package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Lists and look-ups across owners are for operators. An index for them would
// have to be written with each change of each task, so they go from owner to
// owner instead, each a step in the index of names: about 5 µs.

// owners is a table of all owners of a tenant.
const owners = "WITH RECURSIVE o(name) AS (SELECT min(owner) FROM task WHERE tenant = ?1 " +
	"UNION ALL SELECT (SELECT min(owner) FROM task WHERE tenant = ?1 AND owner > o.name) FROM o WHERE o.name IS NOT NULL) "

// Owners implements store.Store.
func (r *Reader) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []string
	err := r.read(ctx, func(c *conn) error {
		return c.stmt(owners + "SELECT name FROM o WHERE name IS NOT NULL AND EXISTS (SELECT 1 FROM task WHERE tenant = ?1 AND owner = o.name AND id = ?2) LIMIT ?3").
			text(tenant).text(id).int(int64(limit)).
			each(func(r *sqlite3.Stmt) error {
				found = append(found, r.ColumnText(0))
				return nil
			})
	})
	slices.Sort(found)
	return found, err
}

// pageOfAll is page over all owners of a tenant: the first of what each has.
func (c *conn) pageOfAll(q *store.Query, p *store.Page) error {
	var names []string
	err := c.stmt(owners + "SELECT name FROM o WHERE name IS NOT NULL").text(q.Tenant).
		each(func(r *sqlite3.Stmt) error {
			names = append(names, r.ColumnText(0))
			return nil
		})
	if err != nil {
		return err
	}
	one := *q
	one.Body = false // read of those that are on the page
	for _, one.Owner = range names {
		total, err := c.total(&one)
		if err != nil {
			return err
		}
		if p.Total += total; total == 0 {
			continue
		}
		var page store.Page
		if err := c.page(&one, &page); err != nil {
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
	if !q.Body {
		return nil
	}
	for i := range p.Records {
		k := p.Records[i].Key
		err := c.stmt(record(true) + "WHERE tenant = ? AND owner = ? AND id = ?").text(k.Tenant).text(k.Owner).text(k.ID).
			each(func(r *sqlite3.Stmt) error { p.Records[i] = scanRecord(r, true); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}
