package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// Idle implements Store.
func (m *Memory) Idle(ctx context.Context, q IdleQuery) ([]Row, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var found []Row
	err := m.read(ctx, func(d *memory) error {
		for _, t := range d.tasks {
			r := &t.row
			if r.Active || r.State != q.State || !r.Updated.Before(Milli(q.Before)) {
				continue
			}
			if q.After == nil || compareAge(r, q.After) > 0 {
				found = append(found, *r)
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Row) int { return compareAge(&a, &b) })
	return found[:min(len(found), q.Limit)], err
}

// compareAge orders rows as Idle does.
func compareAge(a, b *Row) int {
	return cmp.Or(Milli(a.Updated).Compare(Milli(b.Updated)), a.Key.Compare(b.Key))
}

// Compare orders keys by tenant, owner and ID, each by its bytes.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, o.Tenant), cmp.Compare(k.Owner, o.Owner), cmp.Compare(k.ID, o.ID))
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, rows []Row) (int, error) {
	n := 0
	err := m.write(ctx, func(d *memory) {
		for i := range rows {
			t := d.tasks[rows[i].Key]
			if t == nil || !t.row.Same(&rows[i]) {
				continue
			}
			d.forget(t.row.Scope(), func(r *memoryReceipt) bool { return r.task == t })
			d.unlist(t)
			for _, p := range t.pushes {
				d.unpush(p)
			}
			delete(d.tasks, rows[i].Key)
			n++
		}
		used := map[string]bool{}
		for _, t := range d.tasks {
			maps.Copy(used, t.blobs)
		}
		maps.DeleteFunc(d.blobs, func(hash string, _ []byte) bool { return !used[hash] })
	})
	return n, err
}

// Same reports whether r and was are rows of the same task, without a change in between.
func (r *Row) Same(was *Row) bool {
	return r.Key == was.Key && r.Last == was.Last && r.Epoch == was.Epoch && Milli(r.Updated).Equal(Milli(was.Updated))
}
