package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// carefully writes changes of which at least one cannot be written, while it is unknown
// which. Changes for which the database shows a reason are refused. The others are tried
// again together, and if that fails, one by one.
func (w *writer) carefully(ctx context.Context, all []*store.Append, errs []error) {
	changes := w.changes
	why, err := w.examine(ctx, all, changes)
	if err != nil {
		settle(changes, errs, err)
		return
	}
	var good, alone []change
	for i, c := range changes {
		switch {
		case why[i] == nil:
			good = append(good, c)
		case len(c.appends) == 1:
			errs[c.appends[0]] = why[i]
		default: // the first append may be at fault, so try each alone
			alone = append(alone, c)
		}
	}
	if len(good) > 0 {
		err := errOdd
		if len(good) < len(changes) {
			err = w.try(ctx, all, good)
		}
		switch {
		case err == nil:
		case errors.Is(err, errOdd), len(changes) > 1 && itsOwn(err):
			alone = append(alone, good...)
		default:
			settle(good, errs, err)
		}
	}
	for i := range alone {
		for _, at := range alone[i].appends {
			errs[at] = w.single(ctx, all[at])
		}
	}
}

// single writes one append, or returns why it cannot be written.
func (w *writer) single(ctx context.Context, a *store.Append) error {
	all := []*store.Append{a}
	for range tries {
		changes := []change{{appends: []int{0}, old: a.After > 0}}
		why, err := w.examine(ctx, all, changes)
		if err != nil {
			return err
		}
		if why[0] != nil {
			return why[0]
		}
		if err := w.try(ctx, all, changes); !errors.Is(err, errOdd) {
			return err
		}
	}
	return wrap("append", errOdd) // another process keeps changing the task
}

// itsOwn reports whether an error of the server concerns the written data rather than the
// server.
func itsOwn(err error) bool {
	if _, open := errors.AsType[*uncertain](err); open {
		return false
	}
	return is(err, "22", "23", "54", // data exception, constraint violation, program limit exceeded
		"53200") // out of memory
}

// know sets was of each change: the task's row as the writer left it or, if the writer does
// not know the task, as read from the database.
func (w *writer) know(ctx context.Context, all []*store.Append, changes []change) error {
	var keys []store.Key
	var at []int
	for i := range changes {
		c := &changes[i]
		if !c.old {
			continue
		}
		a := c.first(all)
		if c.was = w.known[a.Row.Key]; c.was.last != a.After || c.was.epoch != a.Epoch { // all zero if unknown
			keys = append(keys, a.Row.Key)
			at = append(at, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := w.look(ctx, keys)
	if err != nil {
		return err
	}
	for i, was := range rows {
		c := &changes[at[i]]
		if c.first(all).Refusal(was.last, was.epoch) != nil {
			return errOdd
		}
		c.was = was
	}
	return nil
}

// look reads the rows of tasks. For a missing task it returns zeros.
func (w *writer) look(ctx context.Context, tasks []store.Key) ([]stored, error) {
	tenants, owners, ids := split(tasks)
	found := make([]stored, len(tasks))
	err := w.patiently(ctx, func(ctx context.Context) error {
		return each(ctx, w.s.pool, func(r pgx.Rows) error {
			var i int64
			var was stored
			if err := r.Scan(&i, &was.key, (*name)(&was.context), &was.state, &was.updated, &was.last, &was.epoch); err != nil {
				return err
			}
			found[i-1] = was
			return nil
		}, lookUp, tenants, owners, ids)
	})
	return found, wrap("append", err)
}

const (
	lookUp = "SELECT n.i, t.key, t.context, t.state, t.updated, t.last, t.epoch " +
		"FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS n (tenant, owner, id, i) " +
		"JOIN parley.task AS t ON t.tenant = n.tenant AND t.owner = n.owner AND t.id = n.id"
	lookUpReceipts = "SELECT n.i FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[]) WITH ORDINALITY AS n (tenant, owner, name, time, i) " +
		"JOIN parley.receipt AS r ON r.tenant = n.tenant AND r.owner = n.owner AND r.name = n.name AND r.until > n.time"
)

// examine returns for each change why it cannot be written now, or nil if the database shows
// no reason.
func (w *writer) examine(ctx context.Context, all []*store.Append, changes []change) ([]error, error) {
	why := make([]error, len(changes))
	taken, err := w.taken(ctx, all, changes)
	if err != nil {
		return nil, err
	}
	tasks := make([]store.Key, len(changes))
	for i := range changes {
		tasks[i] = changes[i].first(all).Row.Key
	}
	rows, err := w.look(ctx, tasks)
	if err != nil {
		return nil, err
	}
	for i := range changes {
		if a := changes[i].first(all); !a.Alone() {
			why[i] = a.Refusal(rows[i].last, rows[i].epoch)
		}
		if why[i] == nil && taken[i] {
			why[i] = store.ErrDuplicate
		}
	}
	return why, nil
}

// taken reports for each change whether one of its receipts is already stored and valid.
func (w *writer) taken(ctx context.Context, all []*store.Append, changes []change) ([]bool, error) {
	var tenants, owners, names [][]byte
	var times []int64
	var of []int
	for i := range changes {
		for _, at := range changes[i].appends {
			a := all[at]
			for j := range a.Receipts {
				r := &a.Receipts[j]
				tenants, owners, names = append(tenants, arg(a.Row.Tenant)), append(owners, arg(a.Row.Owner)), append(names, arg(r.Name))
				times = append(times, r.Time.UnixMilli())
				of = append(of, i)
			}
		}
	}
	found := make([]bool, len(changes))
	if len(of) == 0 {
		return found, nil
	}
	err := w.patiently(ctx, func(ctx context.Context) error {
		places, err := collect(ctx, w.s.pool, intoNumber, lookUpReceipts, tenants, owners, names, times)
		for _, i := range places {
			found[of[i-1]] = true
		}
		return err
	})
	return found, wrap("append", err)
}
