package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Now implements Store.
func (m *Memory) Now(ctx context.Context) (time.Time, error) {
	err := m.read(ctx, func(*memory) error { return nil })
	return time.Now(), err
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

// Draw implements Store.
func (m *Memory) Draw(ctx context.Context, node, after string, limit int) ([]Row, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var drawn []Row
	err := m.write(ctx, func(d *memory) {
		waiting := map[string][]*memoryTask{}
		for _, t := range d.tasks {
			if t.waits() {
				waiting[t.row.Tenant] = append(waiting[t.row.Tenant], t)
			}
		}
		var tenants []string
		for tenant, tasks := range waiting {
			tenants = append(tenants, tenant)
			slices.SortFunc(tasks, func(a, b *memoryTask) int {
				return cmp.Or(a.row.Updated.Compare(b.row.Updated), a.row.Key.Compare(b.row.Key))
			})
		}
		slices.SortFunc(tenants, func(a, b string) int {
			return cmp.Or(cmp.Compare(rank(a <= after), rank(b <= after)), cmp.Compare(a, b))
		})
		for turn := 0; ; turn++ {
			was := len(drawn)
			for _, tenant := range tenants {
				if turn < len(waiting[tenant]) && len(drawn) < limit {
					t := waiting[tenant][turn]
					t.row.Node = node
					t.row.Epoch++
					drawn = append(drawn, t.row)
				}
			}
			if len(drawn) == was {
				return
			}
		}
	})
	return drawn, err
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// waits reports whether t waits for a process.
func (t *memoryTask) waits() bool { return t.row.Active && t.row.Node == "" }

// Post implements Store.
func (m *Memory) Post(ctx context.Context, all []Mail) error {
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
		return err
	}
	if err := m.data.mail.Post(ctx, all); err != nil {
		return err
	}
	for _, l := range all {
		m.data.hub.Tell(Hint{Node: l.Node})
	}
	return nil
}

// Mail implements Store.
func (m *Memory) Mail(ctx context.Context, node string, limit int) ([]Mail, error) {
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
		return nil, err
	}
	return m.data.mail.Take(ctx, node, limit)
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, f func(Hint)) error {
	if err := m.read(ctx, func(*memory) error { return nil }); err != nil {
		return err
	}
	return m.data.hub.Watch(ctx, m.data.over, f)
}

// tell tells watchers what appends have changed.
func (d *memory) tell(appends []*Append, errs []error) {
	var hints []Hint
	for i, a := range appends {
		if errs[i] == nil && a.Row.ID != "" {
			hints = append(hints, Hint{Task: a.Row.Hash(), Work: a.Row.Active && a.Row.Node == ""})
		}
	}
	d.hub.Tell(hints...)
}
