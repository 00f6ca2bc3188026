package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// advance changes push configs and adds their dead letters, in one statement. A dead letter
// refers to its config by position in the first list. The lists are short, so each row is
// found by an index.
const advance = "WITH a AS MATERIALIZED (SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bytea[], " +
	"$7::bigint[], $8::integer[], $9::bigint[], $10::bigint[], $11::bytea[], $12::boolean[]) WITH ORDINALITY " +
	"AS a (tenant, owner, task, id, created, node, cursor, tries, since, due, reason, live, place)), " +
	"changed AS (UPDATE parley.push AS p SET cursor = a.cursor, tries = a.tries, since = a.since, due = a.due, reason = a.reason, live = a.live " +
	"FROM a JOIN parley.task AS t ON t.tenant = a.tenant AND t.owner = a.owner AND t.id = a.task " +
	"WHERE p.task = t.key AND p.id = a.id AND p.created = a.created AND (a.node = '' OR a.node = p.node) RETURNING p.key, a.place) " +
	"INSERT INTO parley.letter AS l (push, seq, time, tries, reason, again) SELECT c.key, d.seq, d.time, d.tries, d.reason, d.again " +
	"FROM unnest($13::bigint[], $14::bigint[], $15::bigint[], $16::integer[], $17::bytea[], $18::boolean[]) AS d (place, seq, time, tries, reason, again) " +
	"JOIN changed AS c ON c.place = d.place " + overLetter

// overLetter makes a dead letter replace an existing one of the same entry.
const overLetter = "ON CONFLICT (push, seq) DO UPDATE SET time = excluded.time, tries = excluded.tries, reason = excluded.reason, again = excluded.again"

// Advance implements store.Store.
func (s *Store) Advance(ctx context.Context, all []store.Advance) error {
	if len(all) == 0 {
		return s.usable(ctx)
	}
	err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for rest := all; len(rest) > 0; {
			n := apart(rest)
			if _, err := tx.Exec(ctx, advance, advances(rest[:n])...); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
	return wrap("advance", err)
}

// apart returns the length of the longest prefix of all in which no config occurs twice,
// because one statement can change a row only once.
func apart(all []store.Advance) int {
	seen := map[store.PushID]bool{}
	for i := range all {
		if seen[all[i].PushID] {
			return i
		}
		seen[all[i].PushID] = true
	}
	return len(all)
}

// advances returns the arguments of advance.
func advances(all []store.Advance) []any {
	places, dead := []int64{}, []store.DeadLetter(nil)
	for i := range all {
		for _, d := range lastOf(all[i].Dead, func(d store.DeadLetter) int64 { return d.Seq }) {
			places, dead = append(places, int64(i+1)), append(dead, d)
		}
	}
	args := []any{
		values(all, func(a store.Advance) []byte { return arg(a.Tenant) }),
		values(all, func(a store.Advance) []byte { return arg(a.Owner) }),
		values(all, func(a store.Advance) []byte { return arg(a.Key.ID) }),
		values(all, func(a store.Advance) []byte { return arg(a.ID) }),
		values(all, func(a store.Advance) int64 { return a.Created.UnixMilli() }),
		values(all, func(a store.Advance) []byte { return arg(a.Node) }),
		values(all, func(a store.Advance) int64 { return a.Cursor }),
		values(all, func(a store.Advance) int32 { return a.Tries }),
		values(all, func(a store.Advance) *int64 { return maybe(a.Since) }),
		values(all, func(a store.Advance) *int64 { return maybe(a.Due) }),
		values(all, func(a store.Advance) []byte { return arg(a.Reason) }),
		values(all, func(a store.Advance) bool { return a.Live }),
		places,
	}
	return append(args, letterColumns(dead)...)
}

// letterColumns returns seq, time, tries, reason and again of dead letters as arguments.
func letterColumns(all []store.DeadLetter) []any {
	return []any{
		values(all, func(d store.DeadLetter) int64 { return d.Seq }),
		values(all, func(d store.DeadLetter) int64 { return d.Time.UnixMilli() }),
		values(all, func(d store.DeadLetter) int32 { return d.Tries }),
		values(all, func(d store.DeadLetter) []byte { return arg(d.Reason) }),
		values(all, func(d store.DeadLetter) bool { return d.Again }),
	}
}
