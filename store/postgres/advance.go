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
	n := len(all)
	tenants, owners, tasks, ids, nodes, reasons := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	created, cursors, since, due := make([]int64, n), make([]int64, n), make([]*int64, n), make([]*int64, n)
	tries, live := make([]int32, n), make([]bool, n)
	l := noLetters()
	for i := range all {
		a := &all[i]
		tenants[i], owners[i], tasks[i], ids[i], nodes[i], reasons[i] = arg(a.Tenant), arg(a.Owner), arg(a.Key.ID), arg(a.ID), arg(a.Node), arg(a.Reason)
		created[i], cursors[i], since[i], due[i] = a.Created.UnixMilli(), a.Cursor, maybe(a.Since), maybe(a.Due)
		tries[i], live[i] = a.Tries, a.Live
		for j := range a.Dead {
			l.add(int64(i+1), &a.Dead[j])
		}
	}
	return append([]any{tenants, owners, tasks, ids, created, nodes, cursors, tries, since, due, reasons, live}, l.args()...)
}

// letters are dead letters as arguments, without duplicates, each with the position of its
// config.
type letters struct {
	at     map[[2]int64]int // index by position and seq
	places []int64
	seqs   []int64
	times  []int64
	tries  []int32
	reason [][]byte
	again  []bool
}

func noLetters() *letters {
	// Not nil, because an empty array is not NULL.
	return &letters{at: map[[2]int64]int{}, places: []int64{}, seqs: []int64{}, times: []int64{}, tries: []int32{}, reason: [][]byte{}, again: []bool{}}
}

// add adds a dead letter; of several for one entry, the last one wins.
func (l *letters) add(place int64, d *store.DeadLetter) {
	i, ok := l.at[[2]int64{place, d.Seq}]
	if !ok {
		i = len(l.places)
		l.at[[2]int64{place, d.Seq}] = i
		l.places, l.seqs, l.times, l.tries = append(l.places, place), append(l.seqs, d.Seq), append(l.times, 0), append(l.tries, 0)
		l.reason, l.again = append(l.reason, nil), append(l.again, false)
	}
	l.times[i], l.tries[i], l.reason[i], l.again[i] = d.Time.UnixMilli(), d.Tries, arg(d.Reason), d.Again
}

func (l *letters) args() []any {
	return []any{l.places, l.seqs, l.times, l.tries, l.reason, l.again}
}
