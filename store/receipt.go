package store

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// keep stores the receipts of an append, all or none.
func (d *memory) keep(a *Append) error {
	scope := a.Row.Key.scope()
	known := d.receipts[scope]
	for i := range a.Receipts {
		r := &a.Receipts[i]
		if old, ok := known[r.Name]; ok && old.Counts(r.Time) {
			return ErrDuplicate
		}
	}
	for _, r := range a.Receipts {
		if d.receipts[scope] == nil {
			d.receipts[scope] = map[string]Receipt{}
		}
		r.TaskID, r.Context = a.Row.ID, a.Row.Context
		r.Time, r.Until = Milli(r.Time), Milli(r.Until)
		d.receipts[scope][r.Name] = r
	}
	return nil
}

// scope is k without its task.
func (k Key) scope() Key { return Key{Tenant: k.Tenant, Owner: k.Owner} }

// Counts reports whether r stands in the way of another of its name that is
// taken at a time.
func (r *Receipt) Counts(at time.Time) bool { return Milli(at).Before(Milli(r.Until)) }

// clone copies a receipt, because what a Store returns belongs to the caller.
func (r Receipt) clone() Receipt {
	r.Digest, r.Answer = bytes.Clone(r.Digest), bytes.Clone(r.Answer)
	return r
}

// Receipt implements Store.
func (m *Memory) Receipt(ctx context.Context, k Key, name string) (*Receipt, error) {
	var found Receipt
	err := m.read(ctx, func(d *memory) error {
		r, ok := d.receipts[k.scope()][name]
		if !ok {
			return ErrNotFound
		}
		found = r.clone()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// Receipts implements Store.
func (m *Memory) Receipts(ctx context.Context, k Key) ([]Receipt, error) {
	var found []Receipt
	err := m.read(ctx, func(d *memory) error {
		if d.tasks[k] == nil {
			return nil
		}
		for _, r := range d.receipts[k.scope()] {
			if r.TaskID == k.ID {
				found = append(found, r.clone())
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Receipt) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// Forget implements Store.
func (m *Memory) Forget(ctx context.Context, q ForgetQuery) (int, error) {
	if err := CheckLimit(q.Limit); err != nil {
		return 0, err
	}
	n := 0
	err := m.write(ctx, func(d *memory) {
		for scope, names := range d.receipts {
			maps.DeleteFunc(names, func(_ string, r Receipt) bool {
				gone := n < q.Limit && q.forgets(scope, &r)
				if gone {
					n++
				}
				return gone
			})
		}
	})
	return n, err
}

// forgets reports whether q selects a receipt.
func (q *ForgetQuery) forgets(scope Key, r *Receipt) bool {
	if q.Context != "" {
		return scope == Key{Tenant: q.Tenant, Owner: q.Owner} && r.Context == q.Context
	}
	return !r.Counts(q.Before)
}

// forget removes the receipts of a task.
func (d *memory) forget(k Key) {
	maps.DeleteFunc(d.receipts[k.scope()], func(_ string, r Receipt) bool { return r.TaskID == k.ID })
}
