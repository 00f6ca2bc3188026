package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// dropLetters is how many dead letters one step of a removal deletes.
const dropLetters = 1000

const pushResult = "t.tenant, t.owner, t.id, p.id, p.host, p.body, p.created, p.node, p.live, p.cursor, p.tries, p.since, p.due, p.reason"

// pushOf is the FROM clause for pushResult.
const pushOf = " FROM parley.push AS p JOIN parley.task AS t ON t.key = p.task "

// pushNamed selects a push config by its PushID.
const pushNamed = "WHERE t.tenant = $1 AND t.owner = $2 AND t.id = $3 AND p.id = $4"

// intoPush scans pushResult.
func intoPush(p *store.PushConfig) []any {
	return []any{
		(*name)(&p.Tenant), (*name)(&p.Owner), (*name)(&p.Key.ID), (*name)(&p.ID), (*name)(&p.Host), &p.Body, (*millis)(&p.Created), (*name)(&p.Node), &p.Live,
		&p.Cursor, &p.Tries, (*millis)(&p.Since), (*millis)(&p.Due), (*name)(&p.Reason),
	}
}

// maybe returns a time as an argument, or NULL if it is zero.
func maybe(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}

// full returns bytes as an argument; nil becomes empty bytes, not NULL.
func full(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// setPush writes a push config with the key $1, or replaces the one with the same ID. Its
// lock keeps the task from being deleted meanwhile, but does not block appends.
const setPush = "WITH t AS (SELECT key FROM parley.task WHERE tenant = $2 AND owner = $3 AND id = $4 FOR KEY SHARE) " +
	"INSERT INTO parley.push AS p (key, task, id, host, body, created, node, live, cursor, tries, since, due, reason) " +
	"SELECT $1::bigint, t.key, $5::bytea, $6::bytea, $7::bytea, $8::bigint, $9::bytea, $10::boolean, $11::bigint, $12::integer, $13::bigint, $14::bigint, $15::bytea FROM t " +
	overPush

// overPush makes a push config replace an existing one with the same ID.
const overPush = "ON CONFLICT (task, id) DO UPDATE SET host = excluded.host, body = excluded.body, created = excluded.created, node = excluded.node, live = excluded.live, " +
	"cursor = excluded.cursor, tries = excluded.tries, since = excluded.since, due = excluded.due, reason = excluded.reason"

// SetPush implements store.Store.
func (s *Store) SetPush(ctx context.Context, p *store.PushConfig) error {
	if err := p.Validate(); err != nil {
		return err
	}
	for n := 1; ; n++ {
		key, err := s.pushes.take(ctx, s.db, s.again)
		if err != nil {
			return wrap("set push config", err)
		}
		rows, err := s.exec(ctx, "set push config", setPush, key, arg(p.Tenant), arg(p.Owner), arg(p.Key.ID), arg(p.ID), arg(p.Host), full(p.Body), p.Created.UnixMilli(), arg(p.Node), p.Live,
			p.Cursor, p.Tries, maybe(p.Since), maybe(p.Due), arg(p.Reason))
		switch {
		case n < tries && is(err, uniqueViolation):
			s.pushes.drop()
		case err == nil && rows == 0:
			return store.ErrNotFound
		default:
			return err
		}
	}
}

// Push implements store.Store.
func (s *Store) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	return findOne(ctx, s.db, "push config", intoPush, "SELECT "+pushResult+pushOf+pushNamed, arg(id.Tenant), arg(id.Owner), arg(id.Key.ID), arg(id.ID))
}

// pushesOf selects the push configs of a task.
const pushesOf = "SELECT " + pushResult + pushOf + "WHERE t.tenant = $1 AND t.owner = $2 AND t.id = $3 AND p.id > $4 ORDER BY p.id LIMIT $5"

// Pushes implements store.Store.
func (s *Store) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return find(ctx, s.db, "push configs", intoPush, pushesOf, arg(k.Tenant), arg(k.Owner), arg(k.ID), arg(after), limit)
}

// A push config is removed together with the last of its dead letters. Many dead letters are
// removed in several steps.
const (
	dropSome = "DELETE FROM parley.letter AS l WHERE (l.push, l.seq) IN (SELECT x.push, x.seq FROM parley.letter AS x WHERE x.push = $1 ORDER BY x.push, x.seq LIMIT $2)"
	dropPush = "DELETE FROM parley.push AS p WHERE p.key = $1"
	lockPush = "SELECT p.key" + pushOf + pushNamed + " FOR UPDATE OF p"
)

// DropPush implements store.Store.
func (s *Store) DropPush(ctx context.Context, id store.PushID) error {
	for done := false; !done; {
		err := s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
			done = true
			var key int64
			// Adding dead letters locks the config too, see Advance.
			err := tx.QueryRow(ctx, lockPush, arg(id.Tenant), arg(id.Owner), arg(id.Key.ID), arg(id.ID)).Scan(&key)
			if err != nil {
				return missing(err)
			}
			tag, err := tx.Exec(ctx, dropSome, key, dropLetters)
			if err == nil && tag.RowsAffected() == dropLetters {
				done = false
				return nil
			}
			if err == nil {
				_, err = tx.Exec(ctx, dropPush, key)
			}
			return err
		})
		if err == store.ErrNotFound {
			return nil
		}
		if err != nil {
			return wrap("drop push config", err)
		}
	}
	return nil
}

// claimPushes is giveLost for push configs. It skips configs of a deleted task.
var claimPushes = lostOf("parley.push", "x.live", "") +
	"UPDATE parley.push AS p SET node = $1 WHERE p.key = ANY (ARRAY(SELECT l.key FROM lost CROSS JOIN LATERAL (" +
	"SELECT x.key FROM parley.push AS x WHERE x.live AND x.node = lost.name AND EXISTS (SELECT 1 FROM parley.task AS t WHERE t.key = x.task) " +
	"LIMIT $3 FOR UPDATE OF x SKIP LOCKED) AS l LIMIT $3))"

// ClaimPushes implements store.Store. Like Claim, its cost depends only on what it claims.
func (s *Store) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	return s.exec(ctx, "claim push configs", claimPushes, arg(node), deadBefore.UnixMilli(), max(limit, 0))
}

// LivePushes implements store.Store.
func (s *Store) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	return s.pushStates(ctx, "p.live AND p.node = $3 AND ", after, limit, arg(node))
}

// AllPushes returns up to limit push configs of all tasks and nodes, live or not, in the
// order of LivePushes, starting after the config whose At is after (0: from the first). limit
// must be at least 1. It is for operators.
func (s *Store) AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error) {
	return s.pushStates(ctx, "", after, limit)
}

// pushStates reads a page of the push configs that which selects.
func (s *Store) pushStates(ctx context.Context, which string, after int64, limit int, args ...any) ([]store.PushState, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return find(ctx, s.db, "push configs", func(p *store.PushState) []any { return append(intoPush(&p.PushConfig), &p.Last, &p.At) },
		"SELECT "+pushResult+", t.last, p.key"+pushOf+"WHERE "+which+"p.key > $1 ORDER BY p.key LIMIT $2", append([]any{after, limit}, args...)...)
}
