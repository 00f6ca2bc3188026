package store

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// Receipts is the part of a Store that remembers which messages were accepted. Receipts are
// stored by an Append and removed with their task or by Forget. Their names are unique within
// a tenant and owner.
type Receipts interface {
	// Receipt returns the receipt with a name in the tenant and owner of k, whether it is
	// still valid or not, or ErrNotFound.
	Receipt(ctx context.Context, k Key, name string) (*Receipt, error)

	// Receipts returns the receipts of a task, sorted by name. An unknown task
	// has none.
	Receipts(ctx context.Context, k Key) ([]Receipt, error)

	// Forget removes up to q.Limit receipts and returns how many it removed;
	// fewer than q.Limit means that none is left.
	Forget(ctx context.Context, q ForgetQuery) (int, error)
}

// Receipt records that a message was accepted, so that a repetition is recognized. Its name
// is unique within a tenant and owner. An append with the name of a valid receipt is refused;
// an expired receipt is replaced.
type Receipt struct {
	Name    string    // not empty
	Time    time.Time // when the message was accepted
	Until   time.Time // the receipt is valid before this
	Digest  []byte    // of the message; opaque
	TaskID  string    // the append's Row.ID, ignored on input; "": there is no task
	Context string    // the task's or, without a task, the append's Row.Context; ignored on input
	Seq     int64     // of the entry that has the message; 0 without a task
	Answer  []byte    // the answer, if there is no task; opaque
}

// ForgetQuery selects receipts: those that have expired or, if Context is set, all receipts
// of one context of an owner.
type ForgetQuery struct {
	Before                 time.Time // Until at or before this; ignored with Context
	Tenant, Owner, Context string
	Limit                  int // at least 1
}

// memoryReceipt is a receipt with its task. It keeps a pointer, since another task may get
// the same key later; nil: no task.
type memoryReceipt struct {
	Receipt
	task *memoryTask
}

// unused returns ErrDuplicate if a name of a's receipts is that of a receipt that is still valid.
func (d *memory) unused(a *Append) error {
	known := d.receipts[a.Row.Key.Scope()]
	for i := range a.Receipts {
		r := &a.Receipts[i]
		if old, ok := known[r.Name]; ok && old.Counts(r.Time) {
			return ErrDuplicate
		}
	}
	return nil
}

// issue stores the receipts of an append.
func (d *memory) issue(t *memoryTask, a *Append) {
	scope := a.Row.Key.Scope()
	for _, r := range a.Receipts {
		if d.receipts[scope] == nil {
			d.receipts[scope] = map[string]memoryReceipt{}
		}
		r.TaskID, r.Context = a.Row.ID, a.Row.Context
		r.Time, r.Until = Milli(r.Time), Milli(r.Until)
		d.receipts[scope][r.Name] = memoryReceipt{r, t}
	}
}

// Scope returns k without its ID: the tenant and owner within which receipt names are unique.
func (k Key) Scope() Key { return Key{Tenant: k.Tenant, Owner: k.Owner} }

// Counts reports whether r is valid at a time; while it is, another receipt of its name is
// refused.
func (r *Receipt) Counts(at time.Time) bool { return Milli(at).Before(Milli(r.Until)) }

// receipt copies r, because what a Store returns belongs to the caller.
func (m memoryReceipt) receipt() Receipt {
	r := m.Receipt
	r.Digest, r.Answer = bytes.Clone(r.Digest), bytes.Clone(r.Answer)
	r.Context = m.context()
	return r
}

func (m *memoryReceipt) context() string {
	if m.task != nil {
		return m.task.row.Context
	}
	return m.Context
}

// Receipt implements Store.
func (m *Memory) Receipt(ctx context.Context, k Key, name string) (*Receipt, error) {
	var found Receipt
	err := m.read(ctx, func(d *memory) error {
		r, ok := d.receipts[k.Scope()][name]
		if !ok {
			return ErrNotFound
		}
		found = r.receipt()
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
		for _, r := range d.receipts[k.Scope()] {
			if r.task != nil && r.task == d.tasks[k] {
				found = append(found, r.receipt())
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
		for scope := range d.receipts {
			d.forget(scope, func(r *memoryReceipt) bool {
				gone := n < q.Limit && q.forgets(scope, r)
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
func (q *ForgetQuery) forgets(scope Key, r *memoryReceipt) bool {
	if q.Context != "" {
		return scope == Key{Tenant: q.Tenant, Owner: q.Owner} && r.context() == q.Context
	}
	return !r.Counts(q.Before)
}

// forget removes the receipts for which gone returns true. After the last receipt of an owner
// it removes the owner's entry too.
func (d *memory) forget(scope Key, gone func(*memoryReceipt) bool) {
	names := d.receipts[scope]
	maps.DeleteFunc(names, func(_ string, r memoryReceipt) bool { return gone(&r) })
	if len(names) == 0 {
		delete(d.receipts, scope)
	}
}
