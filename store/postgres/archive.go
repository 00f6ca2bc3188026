package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-a2a/parley/store"
)

// archive is a source of some tasks as of one moment, read before they are asked
// for. What else it is asked for it takes from the store.
type archive struct {
	*Store
	tasks map[store.Key]*archived
}

// archived is all that an export has of a task.
type archived struct {
	rec      store.Record
	log      []store.Entry
	blobs    []string
	receipts []store.Receipt
	pushes   []store.PushConfig
	letters  []store.DeadLetter // by config, then seq
}

const (
	archivedTasks    = ", t.key FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS n (tenant, owner, id) JOIN parley.task AS t ON t.tenant = n.tenant AND t.owner = n.owner AND t.id = n.id"
	archivedEntries  = "SELECT e.task, e.first, e.last, e.body FROM parley.entry AS e WHERE e.task = ANY($1::bigint[]) ORDER BY e.task, e.last"
	archivedBlobs    = "SELECT b.task, b.hash FROM parley.blob_task AS b WHERE b.task = ANY($1::bigint[]) ORDER BY b.task, b.hash"
	archivedReceipts = "SELECT r.task, r.name, r.time, r.until, r.digest, r.seq, r.answer FROM parley.receipt AS r WHERE r.task = ANY($1::bigint[]) AND r.task > 0 ORDER BY r.task, r.name"
	archivedPushes   = "SELECT " + pushResult + ", p.task, p.key" + pushOf + "WHERE p.task = ANY($1::bigint[]) ORDER BY p.task, p.id"
	archivedLetters  = "SELECT l.push, l.seq, l.time, l.tries, l.reason, l.again FROM parley.letter AS l WHERE l.push = ANY($1::bigint[]) ORDER BY l.push, l.seq"
)

// Ahead reads all that an export has of some tasks, in a few statements.
func (s *Store) Ahead(ctx context.Context, keys []store.Key) (store.Source, error) {
	var a *archive
	err := s.snapshot(ctx, func(ctx context.Context, q querier) error {
		a = &archive{s, map[store.Key]*archived{}}
		return a.read(ctx, q, keys)
	})
	if err != nil {
		return nil, wrap("read tasks", err)
	}
	return a, nil
}

func (a *archive) read(ctx context.Context, q querier, keys []store.Key) error {
	byKey := map[int64]*archived{}
	var tasks, pushes []int64
	tenants, owners, ids := split(keys)
	err := each(ctx, q, "SELECT "+recordColumns(true)+archivedTasks, func(r pgx.Rows) error {
		t, key := &archived{}, int64(0)
		if err := scanRecord(r, &t.rec, &key); err != nil {
			return err
		}
		a.tasks[t.rec.Key], byKey[key] = t, t
		tasks = append(tasks, key)
		return nil
	}, tenants, owners, ids)
	if err != nil {
		return err
	}
	ofPush := map[int64]*store.PushConfig{}
	var key int64
	for _, part := range []struct {
		sql  string
		keys *[]int64
		f    func(r pgx.Rows) error
	}{
		{archivedEntries, &tasks, func(r pgx.Rows) error {
			var first, last int64
			var body pgtype.DriverBytes // which Unpack copies
			err := r.Scan(&key, &first, &last, &body)
			if err == nil {
				byKey[key].log, err = store.Unpack(byKey[key].log, body, first, last, 0)
			}
			return err
		}},
		{archivedBlobs, &tasks, func(r pgx.Rows) error {
			var hash string
			err := r.Scan(&key, (*name)(&hash))
			byKey[key].blobs = append(byKey[key].blobs, hash)
			return err
		}},
		{archivedReceipts, &tasks, func(r pgx.Rows) error {
			var x store.Receipt
			err := r.Scan(&key, (*name)(&x.Name), (*millis)(&x.Time), (*millis)(&x.Until), &x.Digest, &x.Seq, &x.Answer)
			t := byKey[key]
			x.TaskID, x.Context = t.rec.ID, t.rec.Context
			t.receipts = append(t.receipts, x)
			return err
		}},
		{archivedPushes, &tasks, func(r pgx.Rows) error {
			var p store.PushConfig
			var push int64
			err := scanPush(r, &p, &key, &push)
			byKey[key].pushes = append(byKey[key].pushes, p)
			ofPush[push], pushes = &p, append(pushes, push)
			return err
		}},
		{archivedLetters, &pushes, func(r pgx.Rows) error {
			var l store.DeadLetter
			err := r.Scan(&l.At, &l.Seq, (*millis)(&l.Time), &l.Tries, (*name)(&l.Reason), &l.Again)
			l.PushID = ofPush[l.At].PushID()
			t := a.tasks[l.Key]
			t.letters = append(t.letters, l)
			return err
		}},
	} {
		if len(*part.keys) > 0 && err == nil {
			err = each(ctx, q, part.sql, part.f, *part.keys)
		}
	}
	return err
}

// each calls f with every row of a query.
func each(ctx context.Context, q querier, sql string, f func(pgx.Rows) error, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Get implements store.Source.
func (a *archive) Get(_ context.Context, k store.Key, _ bool) (*store.Record, error) {
	if t := a.tasks[k]; t != nil {
		return new(t.rec), nil
	}
	return nil, store.ErrNotFound // gone since its row was read
}

// of is a task, or an empty one.
func (a *archive) of(k store.Key) *archived {
	if t := a.tasks[k]; t != nil {
		return t
	}
	return &archived{}
}

// Entries implements store.Source.
func (a *archive) Entries(_ context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	log := a.of(k).log
	log = log[min(max(after, 0), int64(len(log))):]
	if limit > 0 {
		log = log[:min(limit, len(log))]
	}
	return log, nil
}

// Blobs implements store.Source.
func (a *archive) Blobs(_ context.Context, k store.Key) ([]string, error) { return a.of(k).blobs, nil }

// Receipts implements store.Source.
func (a *archive) Receipts(_ context.Context, k store.Key) ([]store.Receipt, error) {
	return a.of(k).receipts, nil
}

// Pushes implements store.Source.
func (a *archive) Pushes(_ context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	all := a.of(k).pushes
	first, _ := slices.BinarySearchFunc(all, after, func(p store.PushConfig, after string) int {
		if p.ID <= after {
			return -1
		}
		return 1
	})
	return all[first:min(first+limit, len(all))], nil
}

// DeadLetters implements store.Source.
func (a *archive) DeadLetters(ctx context.Context, q store.LetterQuery) (found []store.DeadLetter, err error) {
	if q.Of == nil {
		return a.Store.DeadLetters(ctx, q)
	}
	var seq int64
	if q.After != nil {
		seq = q.After.Seq
	}
	for _, l := range a.of(q.Of.Key).letters {
		if l.ID == q.Of.ID && l.Seq > seq && (l.Again || !q.Again) && len(found) < q.Limit {
			found = append(found, l)
		}
	}
	return found, nil
}
