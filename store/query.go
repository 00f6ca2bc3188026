package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Index is the part of a Store that finds tasks by their rows, and deletes them. A
// page or a record is from one moment; two calls are not.
type Index interface {
	// List returns a page of an owner's tasks, newest Updated first, then by
	// ID descending, then, with AnyOwner, by owner descending. It holds no more
	// than the page and one record, see Query.MaxBytes.
	List(ctx context.Context, q Query) (*Page, error)

	// Owners returns up to limit owners who have a task of an ID in a tenant,
	// sorted by bytes. It costs a look at each owner of the tenant. limit must be
	// at least 1.
	Owners(ctx context.Context, tenant, id string, limit int) ([]string, error)

	// Rows returns the rows of those of keys that there are, each once, in any order.
	Rows(ctx context.Context, keys []Key) ([]Row, error)

	// Tasks returns up to limit rows of all tasks in the order of their keys
	// (tenant, owner, ID, each by its bytes), from behind after; nil: from the
	// first. limit must be at least 1.
	Tasks(ctx context.Context, after *Key, limit int) ([]Row, error)

	// Idle returns up to q.Limit rows of tasks, of all tenants and owners, that
	// are not Active, in q.State, and were last updated before q.Before: those
	// updated longest ago first, then by tenant, owner and ID.
	Idle(ctx context.Context, q IdleQuery) ([]Row, error)

	// Delete removes tasks, each if it is still as its row says: with the same
	// Last, Epoch and Updated. Others are left alone, so that a task that went
	// on meanwhile, or one that is gone and began anew, is safe. With a task go
	// its log, its seal, its receipts, its push configs and dead letters, and the
	// blobs that no other task refers to. For readers a task is there or not:
	// none sees a part of it.
	//
	// It returns how many it removed. The driver divides the work so that
	// appends in between wait for no more than a small part of it. After an
	// error some tasks may be gone and others not, and what a lost call left
	// behind out of sight is removed by the next one, whatever its rows.
	Delete(ctx context.Context, rows []Row) (int, error)
}

// Query selects a page. Tenant always applies, and Owner unless AnyOwner is
// set.
type Query struct {
	Tenant, Owner string
	AnyOwner      bool      // of all owners of the tenant; costs a look at each of them
	Context       string    // "": any
	State         int32     // 0: any
	Since         time.Time // Updated not before this; zero: any
	Before        *Position // nil: from the start
	Limit         int       // at least 1

	// Body says whether records carry Seal.Body. Without it Record.Size of a
	// sealed task is the length of its Seal.Head.
	Body bool

	// MaxBytes ends the page, with Page.More set, before the record with which the
	// sizes of its records would exceed it. A first record that is larger comes
	// alone and without its Seal: read it with Get. 0: no bound.
	MaxBytes int64
}

// Position is a place in the order of List. Owner matters only in lists of any
// owner.
type Position struct {
	Updated time.Time
	ID      string
	Owner   string
}

// Page is a part of a list.
type Page struct {
	Records []Record
	Total   int  // matches of the query without Before and Limit
	More    bool // whether there is a next page
}

// IdleQuery selects tasks of all tenants and owners by state and age.
type IdleQuery struct {
	State  int32
	Before time.Time // Updated before this
	After  *Row      // the last one of the page before; nil: from the start
	Limit  int       // at least 1
}

// errLimit says that a caller forgot Query.Limit, which would page for ever.
var errLimit = errors.New("store: the limit of a query must be at least 1")

// Validate reports what is wrong with q's form. Drivers call it first.
func (q *Query) Validate() error {
	if q.Limit < 1 {
		return errLimit
	}
	if q.MaxBytes < 0 {
		return errors.New("store: the bound of a query in bytes is negative")
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

// CheckLimit returns an error if a limit is below 1. Drivers call it first.
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
	if !q.Since.IsZero() {
		s = s[s.find(Position{Updated: Milli(q.Since)}):]
	}
	p.Total = len(s)
	if q.Before != nil {
		s = s[:s.find(Position{Updated: Milli(q.Before.Updated), ID: q.Before.ID})]
	}
	page := Fill(q, p)
	for _, t := range slices.Backward(s) {
		if !page.Add(d.record(t, q.Body, q.Most())) {
			return
		}
	}
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
	page := Fill(q, p)
	for _, t := range found {
		if !page.Add(d.record(t, q.Body, q.Most())) {
			return
		}
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

// Rows implements Store.
func (m *Memory) Rows(ctx context.Context, keys []Key) ([]Row, error) {
	var rows []Row
	err := m.read(ctx, func(d *memory) error {
		seen := map[Key]bool{}
		for _, k := range keys {
			if t := d.tasks[k]; t != nil && !seen[k] {
				seen[k] = true
				rows = append(rows, t.row)
			}
		}
		return nil
	})
	return rows, err
}

// Tasks implements Store.
func (m *Memory) Tasks(ctx context.Context, after *Key, limit int) ([]Row, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []Row
	err := m.read(ctx, func(d *memory) error {
		for k, t := range d.tasks {
			if after == nil || k.Compare(*after) > 0 {
				found = append(found, t.row)
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Row) int { return a.Key.Compare(b.Key) })
	return found[:min(len(found), limit)], err
}

// AllNamed returns up to limit keys of the tasks that have an ID, of all tenants and
// owners, in any order. It is for operators, and costs a look at the key of each task;
// drivers have it, too.
func (m *Memory) AllNamed(ctx context.Context, id string, limit int) ([]Key, error) {
	var found []Key
	err := m.read(ctx, func(d *memory) error {
		for k := range d.tasks {
			if k.ID == id && len(found) < limit {
				found = append(found, k)
			}
		}
		return nil
	})
	return found, err
}

// Work is how many tasks of a tenant are in a state.
type Work struct {
	Tenant string
	State  int32
	Tasks  int
}

// AllWork counts the tasks that are Active, and of the others those in some states, by
// tenant and state, in any order. It is for operators; drivers have it, too, where it
// costs a look at each task that it counts.
func (m *Memory) AllWork(ctx context.Context, idle []int32) ([]Work, error) {
	counts := map[Work]int{}
	err := m.read(ctx, func(d *memory) error {
		for _, t := range d.tasks {
			if t.row.Active || slices.Contains(idle, t.row.State) {
				counts[Work{Tenant: t.row.Tenant, State: t.row.State}]++
			}
		}
		return nil
	})
	var all []Work
	for w, n := range counts {
		w.Tasks = n
		all = append(all, w)
	}
	return all, err
}
