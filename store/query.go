package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Index is the part of a Store that finds tasks by their rows, and deletes them. One call
// shows the state at one moment; two calls may see different moments.
type Index interface {
	// List returns a page of an owner's tasks, newest Updated first, then by ID descending,
	// then, with AnyOwner, by owner descending. It holds no more than the page and one record
	// in memory, see Query.MaxBytes.
	List(ctx context.Context, q Query) (*Page, error)

	// Owners returns up to limit owners in a tenant who have a task with this ID, sorted by
	// bytes. Its cost grows with the number of owners in the tenant. limit must be at least
	// 1.
	Owners(ctx context.Context, tenant, id string, limit int) ([]string, error)

	// Rows returns the rows of those keys that exist, each once, in any order.
	Rows(ctx context.Context, keys []Key) ([]Row, error)

	// Tasks returns up to limit rows of all tasks in the order of their keys (tenant, owner,
	// ID, each by its bytes), starting after the key after (nil: from the first). limit must
	// be at least 1.
	Tasks(ctx context.Context, after *Key, limit int) ([]Row, error)

	// Idle returns up to q.Limit rows of tasks, of all tenants and owners, that are not
	// Active, are in q.State, and were last updated before q.Before. The task updated longest
	// ago comes first, then by tenant, owner and ID.
	Idle(ctx context.Context, q IdleQuery) ([]Row, error)

	// Delete removes those tasks that are still as their rows say: with the same Last, Epoch
	// and Updated. It leaves others alone, so a task that continued in the meantime, or was
	// deleted and created again, is safe. It removes a task together with its log, seal,
	// receipts, push configs and dead letters, and the blobs that no other task refers to.
	// Readers see a task as a whole or not at all.
	//
	// Delete returns how many tasks it removed. The driver divides the work so that
	// concurrent appends wait only for a small part of it. After an error some tasks may be
	// deleted and others not. If an interrupted call left data that readers no longer see,
	// the next call removes it, whatever its rows.
	Delete(ctx context.Context, rows []Row) (int, error)
}

// Query selects a page. Tenant always applies; Owner applies unless AnyOwner is set.
type Query struct {
	Tenant, Owner string
	AnyOwner      bool      // of all owners of the tenant; the cost grows with their number
	Context       string    // "": any
	State         int32     // 0: any
	Since         time.Time // Updated at or after this; zero: any
	Before        *Position // nil: from the start
	Limit         int       // at least 1

	// Body says whether records have Seal.Body. Without it, Record.Size of a sealed task is
	// the length of its Seal.Head.
	Body bool

	// MaxBytes limits the sum of the sizes of the page's records: the page ends, with
	// Page.More set, before the record that would exceed it. If the first record alone is
	// larger, it is returned without its Seal: read it with Get. 0: no limit.
	MaxBytes int64
}

// Position is a place in the order of List. Owner matters only in lists of all owners.
type Position struct {
	Updated time.Time
	ID      string
	Owner   string
}

// Page is a part of a list.
type Page struct {
	Records []Record
	Total   int  // matches of the query, ignoring Before and Limit
	More    bool // whether there is a next page
}

// IdleQuery selects tasks of all tenants and owners by state and age.
type IdleQuery struct {
	State  int32
	Before time.Time // Updated before this
	After  *Row      // last row of the previous page; nil: from the start
	Limit  int       // at least 1
}

// Validate reports an error in q's form. Drivers call it first.
func (q *Query) Validate() error {
	if err := CheckLimit(q.Limit); err != nil {
		return err
	}
	if q.MaxBytes < 0 {
		return errors.New("store: the bound of a query in bytes is negative")
	}
	return nil
}

// Validate reports an error in q's form. Drivers call it first.
func (q *IdleQuery) Validate() error { return CheckLimit(q.Limit) }

// CheckLimit returns an error if a limit is below 1: the caller forgot it, and would page for
// ever. Drivers call it first.
func CheckLimit(limit int) error {
	if limit < 1 {
		return errors.New("store: the limit of a query must be at least 1")
	}
	return nil
}

// List implements Store. With AnyOwner it looks at all tasks.
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

// search looks for a page of all owners' tasks, among all tasks.
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

// AllNamed returns up to limit keys of the tasks that have an ID, of all tenants and owners,
// in any order. It is for operators, and reads the key of each task; drivers have this method
// too.
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

// Work is the number of a tenant's tasks in a state.
type Work struct {
	Tenant string
	State  int32
	Tasks  int
}

// AllWork counts the tasks that are Active or in one of the idle states, by tenant and state,
// in any order. It is for operators. Drivers have this method too; there it reads each task
// that it counts.
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
