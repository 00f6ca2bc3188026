package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// errLimit says that a caller forgot Query.Limit, which would page for ever.
var errLimit = errors.New("store: the limit of a query must be at least 1")

// Validate reports what is wrong with q's form. Drivers call it first.
func (q *Query) Validate() error {
	if q.Limit < 1 {
		return errLimit
	}
	return nil
}

// Validate reports what is wrong with q's form. Drivers call it first.
func (q *IdleQuery) Validate() error {
	if q.Limit < 1 {
		return errLimit
	}
	return nil
}

// CheckLimit is Validate for a bare limit.
func CheckLimit(limit int) error {
	if limit < 1 {
		return errLimit
	}
	return nil
}

// List implements Store. One of any owner's tasks looks at all tasks.
func (m *Memory) List(ctx context.Context, q Query) (*Page, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	p := &Page{}
	err := m.read(ctx, func(d *memory) error {
		if q.AnyOwner {
			d.search(&q, p)
		} else {
			d.list(&q, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// list reads a page of the list that has the query's filters.
func (d *memory) list(q *Query, p *Page) {
	s := d.lists[listName{q.Tenant, q.Owner, q.Context, q.State}]
	if s == nil {
		return
	}
	p.Total = s.n
	if !q.Since.IsZero() {
		p.Total = s.since(Position{Updated: Milli(q.Since)})
	}
	var from *Position
	if q.Before != nil {
		from = &Position{Updated: Milli(q.Before.Updated), ID: q.Before.ID}
	}
	s.before(from, func(t *memoryTask) bool {
		if !q.matches(&t.row) { // it is too old, and so are all that follow
			return false
		}
		if p.More = len(p.Records) == q.Limit; p.More {
			return false
		}
		p.Records = append(p.Records, t.record(q.Body))
		return true
	})
}

// search looks for a page of any owner's among all tasks.
func (d *memory) search(q *Query, p *Page) {
	var found []*memoryTask
	for _, t := range d.tasks {
		if q.matches(&t.row) {
			found = append(found, t)
		}
	}
	p.Total = len(found)
	slices.SortFunc(found, func(a, b *memoryTask) int {
		return a.position().compare(b.position())
	})
	if q.Before != nil {
		from := Position{Milli(q.Before.Updated), q.Before.ID, q.Before.Owner}
		found = slices.DeleteFunc(found, func(t *memoryTask) bool { return t.position().compare(from) <= 0 })
	}
	if len(found) > q.Limit {
		found, p.More = found[:q.Limit], true
	}
	for _, t := range found {
		p.Records = append(p.Records, t.record(q.Body))
	}
}

// matches applies everything but Before and Limit.
func (q *Query) matches(r *Row) bool {
	return r.Tenant == q.Tenant && (q.AnyOwner || r.Owner == q.Owner) &&
		(q.Context == "" || r.Context == q.Context) &&
		(q.State == 0 || r.State == q.State) &&
		(q.Since.IsZero() || !r.Updated.Before(Milli(q.Since)))
}

func (t *memoryTask) position() Position { return Position{t.row.Updated, t.row.ID, t.row.Owner} }

// compare orders positions as lists do: newest first, then by ID descending.
func (p Position) compare(o Position) int {
	return cmp.Or(o.Updated.Compare(p.Updated), cmp.Compare(o.ID, p.ID), cmp.Compare(o.Owner, p.Owner))
}

// Owners implements Store.
func (m *Memory) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []string
	err := m.read(ctx, func(d *memory) error {
		for k := range d.tasks {
			if k.Tenant == tenant && k.ID == id {
				found = append(found, k.Owner)
			}
		}
		return nil
	})
	slices.Sort(found)
	return found[:min(limit, len(found))], err
}
