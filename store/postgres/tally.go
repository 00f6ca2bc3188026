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

// Tallies store counts that lists would otherwise have to compute. An owner of many tasks is
// a scope (parley.scope with an empty context), and so is a context of many tasks of such an
// owner. For each scope and state, parley.tally has the number of tasks: of all tasks (width
// 0, piece 0), and of the tasks last updated in each piece of time, for pieces of 2^26, 2^20
// and 2^14 milliseconds (piece = updated >> width). So
//
//   - the total of a list is the sum of n over the slots, of width 0;
//   - the total since a time is the sum of the pieces of width 26 after the piece that has
//     the time, of the pieces of width 20 after that time within this piece, of those of
//     width 14 in the same way, and of the tasks from the time on within the last piece,
//     counted by the index: at most 64 pieces of each width except the widest;
//   - an owner or context without a scope has no tallies: it has few tasks, and is counted.
//
// A reader must find the scope and sum its tallies in one statement (or snapshot), because
// tallies change with the tasks in the same transactions. n may be 0 in a row, and negative
// in a single slot. Tallies without a scope mean nothing.
//
// The set of scopes changes only while no transaction writes. Every transaction that adds,
// moves or removes tasks holds tallyLock shared from its first statement on (shareTally), and
// a process that creates a scope holds it alone; counting a scope needs no lock, see
// promote_count.go. Then parley.scope_change advances. Processes cache the scopes, and read
// them again when it has advanced. Without advisory locks there are no scopes.
//
// A transaction that removes tasks calls shareTally first and uncount later. After its
// commit, call shrank.

// tallyLock is the advisory lock of tallies ("Prlt").
const tallyLock = 0x50726c74

// The widths of pieces of time, as powers of two in milliseconds.
const (
	widePiece   = 26 // 18.6 hours
	middlePiece = 20 // 17.5 minutes
	narrowPiece = 14 // 16.4 seconds
)

var widths = [...]int16{0, narrowPiece, middlePiece, widePiece}

// pieceOf returns the piece of a width that contains a time in milliseconds.
func pieceOf(updated int64, width int16) int64 {
	if width == 0 {
		return 0
	}
	return updated >> width
}

// scopeName names a scope: an owner or, if context is set, a context.
type scopeName struct{ tenant, owner, context string }

// scopes caches the existing scopes.
type scopes struct {
	mu      sync.Mutex // protects the fields below
	version int64      // of parley.scope_change; 0: not read yet
	keys    map[scopeName]int64
}

// known returns the scopes, which must not be changed, and their version.
func (s *scopes) known() (map[scopeName]int64, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.version
}

// place is a row of parley.tally, except for its slot.
type place struct {
	scope int64
	state int32
	width int16
	piece int64
}

// moves counts for each place the tasks added minus the tasks removed.
type moves struct {
	scopes map[scopeName]int64
	n      map[place]int64
}

// note adds n to the counts of the places for an owner, context, state and time of update. If
// the owner or the context has no scope yet, it returns that name and true; ok is false if
// both have one, or need none.
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

// reset forgets all moves and sets the scopes.
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

// into adds the moves to a table of newTallies. All writers use the same order, so that they
// cannot deadlock.
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

// shareTally must be the first statement of a transaction that changes tasks.
func (s *Store) shareTally(ctx context.Context, tx pgx.Tx) error {
	if s.o.NoAdvisory {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared($1)", int64(tallyLock))
	return err
}

// lockTally keeps all other transactions from changing tasks, so that scopes can change.
func lockTally(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(tallyLock))
	return err
}

// scopesNow returns the scopes within a transaction that called shareTally. They do not
// change before it ends.
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

// learn sets the scopes at a version. The version may be lower than the known one if the
// database was restored, or if a standby took over that lacks the last commits.
func (s *scopes) learn(keys map[scopeName]int64, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.version = keys, version
}

// uncount subtracts from the tallies the tasks that this transaction deleted. In gone it needs
// tenant, owner, Context, State and Updated, as last stored.
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

// addMoves writes moves within a transaction that called shareTally.
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
