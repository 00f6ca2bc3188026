package postgres

import (
	"context"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// Not constant, for tests.
var (
	// bigScope is the largest number of tasks of an owner or a context that are counted
	// instead of tallied: counting so many takes less than a millisecond, and most contexts
	// have one.
	bigScope int64 = 1024
	// sampleEvery is the interval at which tasks are sampled: one in so many of the tasks that
	// are added or moved. When a second task of the same owner or context is sampled, its tasks
	// are counted. Lists are right in the meantime too, because they count.
	sampleEvery = 64
)

// maxSampled limits the names of owners and contexts of which one task was sampled.
const maxSampled = 1024

// grows notes that an owner or context without a scope may have become big. promote counts
// its tasks, or drops the note if it is busy; then another task will be sampled. Most contexts
// have one task: counting each sampled one would cost the database more than writing it,
// because without statistics the database reads all tasks of the owner.
func (w *writer) grows(name scopeName) {
	if w.s.o.NoAdvisory || rand.IntN(sampleEvery) > 0 {
		return
	}
	if _, again := w.sampled[name]; !again {
		if len(w.sampled) >= maxSampled {
			clear(w.sampled) // simpler than tracking which are the oldest
		}
		w.sampled[name] = struct{}{}
		return
	}
	w.s.grown(name)
}

// grown makes promote look at an owner or a context, unless it is busy.
func (s *Store) grown(name scopeName) {
	select {
	case s.growing <- name:
	default:
	}
}

// promote creates scopes for owners and contexts that have become big and drops those without
// tasks, until the store is closed.
func (s *Store) promote() {
	for {
		select {
		case <-s.shrunk:
			s.dropNow(s.over)
		case name := <-s.growing:
			if err := s.promoteOne(s.over, name); err != nil && s.over.Err() == nil {
				s.o.Logger.Warn("no tally was made; lists are counted, and it is tried again", "error", err)
			}
		case <-s.over.Done():
			return
		}
	}
}

// promoteOne creates a scope for an owner or a context if it is big, or counts a scope again
// that was left unfinished.
func (s *Store) promoteOne(ctx context.Context, name scopeName) error {
	if keys, _ := s.scopes.known(); keys[name] > 0 {
		var left bool
		err := s.read(ctx, func(ctx context.Context, q querier) error {
			return q.QueryRow(ctx, "SELECT "+unfinished("$1::bigint"), keys[name]).Scan(&left)
		})
		if !left || err != nil {
			return wrap("tally", err)
		}
		return wrap("tally", s.countScope(ctx, name))
	}
	of, args := name.tasks()
	var n int64
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM parley.task WHERE "+of+" ORDER BY state, updated LIMIT "+param(len(args)+1)+") AS t", append(args, bigScope+1)...).Scan(&n)
	})
	if n <= bigScope || err != nil {
		return wrap("count", err)
	}
	return wrap("tally", s.countScope(ctx, name))
}

// shrank notes that tasks were deleted. promote then looks for empty scopes, and Close looks
// once more, in case promote was busy.
func (s *Store) shrank() {
	s.deleted.Store(true)
	select {
	case s.shrunk <- struct{}{}:
	default:
	}
}

// emptyScopes selects scopes without a task, of owners and of contexts: nothing shall remain
// of an erased owner.
const emptyScopes = "SELECT c.key FROM parley.scope AS c WHERE c.context = '' AND NOT EXISTS (" +
	"SELECT 1 FROM parley.task AS t WHERE t.tenant = c.tenant AND t.owner = c.owner) UNION ALL " +
	"SELECT c.key FROM parley.scope AS c WHERE c.context <> '' AND NOT EXISTS (" +
	"SELECT 1 FROM parley.task AS t WHERE t.tenant = c.tenant AND t.owner = c.owner AND t.context = c.context)"

func (s *Store) dropNow(ctx context.Context) {
	if err := s.dropScopes(ctx); err != nil && s.over.Err() == nil {
		s.o.Logger.Warn("old tallies could not be dropped now; they are dropped later", "error", err)
	}
}

// dropScopes removes scopes without a task, with their tallies.
func (s *Store) dropScopes(ctx context.Context) error {
	any := false
	err := s.read(ctx, func(ctx context.Context, q querier) error { // check without the lock first, so that others do not wait for nothing
		return q.QueryRow(ctx, "SELECT EXISTS ("+emptyScopes+")").Scan(&any)
	})
	if !any || err != nil {
		return wrap("tally", err)
	}
	return wrap("tally", s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := lockTally(ctx, tx); err != nil {
			return err
		}
		gone, err := collect(ctx, tx, intoNumber, "DELETE FROM parley.scope WHERE key IN ("+emptyScopes+") RETURNING key")
		if len(gone) == 0 || err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM parley.tally WHERE scope = ANY ($1)", gone); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "SELECT nextval('parley.scope_change')")
		return err
	}))
}

// readScopes reads the current scopes.
func (s *Store) readScopes(ctx context.Context) error {
	return s.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.shareTally(ctx, tx); err != nil {
			return err
		}
		_, err := s.scopesNow(ctx, tx)
		return err
	})
}
