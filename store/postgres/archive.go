package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-a2a/parley/store"
)

const (
	archivedSizes = "SELECT t.key, coalesce(octet_length(t.head) + octet_length(t.body), 0) + coalesce((SELECT sum(octet_length(e.body)) FROM parley.entry AS e WHERE e.task = t.key), 0) " +
		"FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS n (tenant, owner, id) JOIN parley.task AS t ON t.tenant = n.tenant AND t.owner = n.owner AND t.id = n.id WHERE t.last <= $4"
	archivedTasks    = "SELECT " + columns + ", t.head, t.body, 0::bigint, t.key FROM parley.task AS t WHERE t.key = ANY($1::bigint[])"
	archivedEntries  = "SELECT e.task, e.first, e.last, e.body FROM parley.entry AS e WHERE e.task = ANY($1::bigint[]) ORDER BY e.task, e.last"
	archivedBlobs    = "SELECT b.task, b.hash FROM parley.blob_task AS b WHERE b.task = ANY($1::bigint[]) ORDER BY b.task, b.hash"
	archivedReceipts = "SELECT r.task, r.name, r.time, r.until, r.digest, r.seq, r.answer FROM parley.receipt AS r WHERE r.task = ANY($1::bigint[]) AND r.task > 0 ORDER BY r.task, r.name"
	archivedPushes   = "SELECT " + pushResult + ", p.task, p.key" + pushOf + "WHERE p.task = ANY($1::bigint[]) ORDER BY p.task, p.id"
	archivedLetters  = "SELECT l.push, l.seq, l.time, l.tries, l.reason, l.again FROM parley.letter AS l WHERE l.push = ANY($1::bigint[]) ORDER BY l.push, l.seq"
)

// These limits make Ahead end well before callWait, even over a slow connection.
var (
	aheadBytes   int64 = 8 << 20  // of logs and seals; not constant, for tests
	aheadEntries       = 16 << 10 // of a task; finding the size of a longer log takes long
)

// Ahead reads those of keys that exist, as of one moment and in a few statements. It is for
// exports, which would otherwise read them one by one. It leaves out tasks that exceed its
// limits.
func (s *Store) Ahead(ctx context.Context, keys []store.Key) (map[store.Key]*store.Task, error) {
	var found map[store.Key]*store.Task
	err := s.snapshot(ctx, func(ctx context.Context, q querier) (err error) {
		found, err = readTasks(ctx, q, keys)
		return err
	})
	return found, wrap("read tasks", err)
}

func readTasks(ctx context.Context, q querier, keys []store.Key) (map[store.Key]*store.Task, error) {
	found := map[store.Key]*store.Task{}
	byKey := map[int64]*store.Task{}
	var tasks, pushes []int64
	tenants, owners, ids := split(keys)
	room := aheadBytes
	var key, size int64
	err := each(ctx, q, func(r pgx.Rows) error {
		err := r.Scan(&key, &size)
		if err == nil && size <= room {
			room -= size
			tasks = append(tasks, key)
		}
		return err
	}, archivedSizes, tenants, owners, ids, aheadEntries)
	ofPush := map[int64]store.PushID{}
	for _, part := range []struct {
		sql  string
		keys *[]int64
		f    func(r pgx.Rows) error
	}{
		{archivedTasks, &tasks, func(r pgx.Rows) error {
			t := &store.Task{}
			if err := scanRecord(r, &t.Record, &key); err != nil {
				return err
			}
			found[t.Key], byKey[key] = t, t
			return nil
		}},
		{archivedEntries, &tasks, func(r pgx.Rows) error {
			var first, last int64
			var body pgtype.DriverBytes // Unpack copies it
			err := r.Scan(&key, &first, &last, &body)
			if err == nil {
				byKey[key].Log, err = store.Unpack(byKey[key].Log, body, first, last, 0)
			}
			return err
		}},
		{archivedBlobs, &tasks, func(r pgx.Rows) error {
			var b store.Blob
			err := r.Scan(&key, (*name)(&b.Hash))
			byKey[key].Blobs = append(byKey[key].Blobs, b)
			return err
		}},
		{archivedReceipts, &tasks, func(r pgx.Rows) error {
			var x store.Receipt
			err := r.Scan(&key, (*name)(&x.Name), (*millis)(&x.Time), (*millis)(&x.Until), &x.Digest, &x.Seq, &x.Answer)
			t := byKey[key]
			x.TaskID, x.Context = t.ID, t.Context
			t.Receipts = append(t.Receipts, x)
			return err
		}},
		{archivedPushes, &tasks, func(r pgx.Rows) error {
			var p store.PushConfig
			var push int64
			err := r.Scan(append(intoPush(&p), &key, &push)...)
			byKey[key].Pushes = append(byKey[key].Pushes, p)
			ofPush[push], pushes = p.PushID(), append(pushes, push)
			return err
		}},
		{archivedLetters, &pushes, func(r pgx.Rows) error {
			var l store.DeadLetter
			err := r.Scan(&l.At, &l.Seq, (*millis)(&l.Time), &l.Tries, (*name)(&l.Reason), &l.Again)
			l.PushID = ofPush[l.At]
			t := found[l.Key]
			t.Letters = append(t.Letters, l)
			return err
		}},
	} {
		if len(*part.keys) > 0 && err == nil {
			err = each(ctx, q, part.f, part.sql, *part.keys)
		}
	}
	return found, err
}
