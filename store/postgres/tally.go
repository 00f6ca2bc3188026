package postgres

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// Tallies are what lists would have to count. An owner of many tasks is a scope
// (parley.scope with an empty context), and so is a context of many tasks of
// such an owner. Of each scope and state parley.tally has how many tasks there
// are: all of them (width 0, piece 0), and those that were last updated in each
// piece of time of 2^26, of 2^20 and of 2^14 milliseconds (piece = updated >> width).
// So
//
//   - the total of a list is the sum of n over the slots, of width 0;
//   - the total since a time is the sum of the pieces of width 26 behind the time's
//     own, of those of width 20 behind the time's own within that, of those of width
//     14 in the same way, and what is counted from the time on within the last one,
//     by the index: 64 pieces of a width at most, but of the widest;
//   - what is no scope has no tallies: it has few tasks, and is counted.
//
// A reader must look for the scope and sum in one statement (or snapshot), for
// tallies change with the tasks in the same transactions. There may be rows
// whose n is 0, and slots below zero. Tallies without a scope mean nothing.
//
// Which scopes there are changes only while nobody writes: every transaction that
// makes, moves or removes tasks has tallyLock shared from its first statement on
// (shareTally), and who makes a scope has it alone; counting it needs no lock, see
// promote_count.go. parley.scope_change then moves on: processes know the scopes by heart,
// and see by it that they must read them again. Without advisory locks there are no
// scopes.
//
// Whoever removes tasks calls shareTally first and then, in the same transaction,
// uncount; and when that is committed shrank.

// tallyLock is the advisory lock of tallies ("Prlt").
const tallyLock = 0x50726c74

// The widths of pieces of time, as powers of two of milliseconds.
const (
	widePiece   = 26 // 18.6 hours
	middlePiece = 20 // 17.5 minutes
	narrowPiece = 14 // 16.4 seconds
)

var widths = [...]int16{0, narrowPiece, middlePiece, widePiece}

// pieceOf is the piece of a width that a time, in milliseconds, is in.
func pieceOf(updated int64, width int16) int64 {
	if width == 0 {
		return 0
	}
	return updated >> width
}

// scopeName names a scope: an owner or, with a context, that.
type scopeName struct{ tenant, owner, context string }

// scopes are those that there are, as this process knows them.
type scopes struct {
	mu      sync.Mutex // protects the fields below
	version int64      // of parley.scope_change; 0: none is known
	keys    map[scopeName]int64
}

// known returns the scopes, which nobody changes, and their version.
func (s *scopes) known() (map[scopeName]int64, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.version
}

// place is where a task is counted.
type place struct {
	scope int64
	state int32
	width int16
	piece int64
}

// moves are how many tasks came to each place, less those that left it.
type moves struct {
	scopes map[scopeName]int64
	n      map[place]int64
}

// note counts n tasks more where they are of this context and state and were
// updated at this time. It returns the name of what is no scope yet; ok is false if all
// are, or need not be.
func (m *moves) note(tenant, owner, context string, state int32, updated, n int64) (name scopeName, ok bool) {
	name = scopeName{tenant, owner, ""}
	key, big := m.scopes[name]
	if !big {
		return name, true
	}
	m.add(key, state, updated, n)
	if context == "" { // no list can ask for it
		return name, false
	}
	name.context = context
	if key, big = m.scopes[name]; big {
		m.add(key, state, updated, n)
	}
	return name, !big
}

// reset forgets all moves; these are the scopes now.
func (m *moves) reset(scopes map[scopeName]int64) {
	m.scopes = scopes
	if m.n == nil {
		m.n = map[place]int64{}
	}
	clear(m.n)
}

func (m *moves) add(scope int64, state int32, updated, n int64) {
	for _, width := range widths {
		p := place{scope, state, width, pieceOf(updated, width)}
		if m.n[p] += n; m.n[p] == 0 {
			delete(m.n, p)
		}
	}
}

// into adds the moves to a table of newTallies, in an order that is the same for
// all who write, so that none waits for one who waits for it.
func (m *moves) into(t *table, slot int16) {
	all := make([]place, 0, len(m.n))
	for p := range m.n {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.state, b.state), cmp.Compare(a.width, b.width), cmp.Compare(a.piece, b.piece))
	})
	for _, p := range all {
		t.int8(p.scope).int4(p.state).int2(p.width).int8(p.piece).int8(m.n[p]).int2(slot)
	}
}

func param(n int) string { return "$" + strconv.Itoa(n) }

// shareTally is the first statement of a transaction that changes tasks.
func (s *Store) shareTally(ctx context.Context, tx pgx.Tx) error {
	if s.o.NoAdvisory {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared($1)", int64(tallyLock))
	return err
}

// scopesNow returns the scopes, to a transaction that has shareTally: they stay
// as they are until its end.
func (s *Store) scopesNow(ctx context.Context, q querier) (map[scopeName]int64, error) {
	var version int64
	if err := q.QueryRow(ctx, "SELECT last_value FROM parley.scope_change").Scan(&version); err != nil {
		return nil, err
	}
	if keys, at := s.scopes.known(); at == version {
		return keys, nil
	}
	keys := map[scopeName]int64{}
	err := each(ctx, q, func(r pgx.Rows) error {
		var n scopeName
		var key int64
		err := r.Scan((*name)(&n.tenant), (*name)(&n.owner), (*name)(&n.context), &key)
		keys[n] = key
		return err
	}, "SELECT tenant, owner, context, key FROM parley.scope")
	if err != nil {
		return nil, err
	}
	s.scopes.learn(keys, version)
	return keys, nil
}

// learn takes scopes as they are at a version. That may be a lower one than is known:
// the database was restored, or a standby took over that lacks the last commits.
func (s *scopes) learn(keys map[scopeName]int64, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.version = keys, version
}

// uncount takes tasks that this transaction removed out of the tallies. Of the
// rows it needs the names, Context, State and Updated, as they were stored last.
func (s *Store) uncount(ctx context.Context, tx pgx.Tx, gone []store.Row) error {
	if s.o.NoAdvisory || len(gone) == 0 {
		return nil
	}
	keys, err := s.scopesNow(ctx, tx)
	if err != nil {
		return err
	}
	var m moves
	m.reset(keys)
	for i := range gone {
		r := &gone[i]
		m.note(r.Tenant, r.Owner, r.Context, r.State, r.Updated.UnixMilli(), -1)
	}
	return s.addMoves(ctx, tx, &m)
}

// addMoves writes moves, by a transaction that has shareTally.
func (s *Store) addMoves(ctx context.Context, tx pgx.Tx, m *moves) error {
	if len(m.n) == 0 {
		return nil
	}
	b := batch{}
	b.tables[newTallies] = parts[newTallies].table()
	m.into(b.tables[newTallies], s.slot)
	b.args.add(b.tables[newTallies])
	return tx.Conn().PgConn().ExecParams(ctx, shape(1<<newTallies|1<<noTallies).statement(), b.args.values, b.args.types, allBinary, allBinary).Read().Err
}
