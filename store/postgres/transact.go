package postgres

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// prepare makes the first statement of transactions of appends. Rows are to be
// found by their keys: a planner that knows little of a table, or that it was
// small, would rather read all of it to join it. enable_seqscan stays on: where
// there is no other way, as with sequences, a plan without it counts as so dear
// that the server compiles it, for hundreds of milliseconds. A prepared statement is
// planned once, not for each batch. A setting that a server does not know is not
// sent to it.
func (s *Store) prepare(ctx context.Context) error {
	s.prelude = "SELECT true"
	if !s.o.NoAdvisory {
		s.prelude += ", pg_advisory_xact_lock_shared(" + strconv.Itoa(tallyLock) + ")"
	}
	return s.read(ctx, func(ctx context.Context, q querier) error {
		all, err := collect(ctx, q, func(s *string) []any { return []any{s} },
			"SELECT name FROM pg_catalog.pg_settings WHERE name IN ('jit', 'enable_hashjoin', 'enable_mergejoin', 'plan_cache_mode')")
		for _, name := range all {
			value := "off"
			if name == "plan_cache_mode" {
				value = "force_generic_plan"
			}
			s.prelude += ", set_config('" + name + "', '" + value + "', true)"
		}
		return err
	})
}

const (
	divisionByZero  = "22012" // see shape.statement
	uniqueViolation = "23505"
)

// patience is for how long appends are tried again while the server cannot be
// reached or shuts down, about: a restart is not worth the failure of a task.
const patience = 10 * time.Second

// patiently calls f until it succeeds, fails for good, or patience is at an end.
func (w *writer) patiently(ctx context.Context, f func(context.Context) error) error {
	end := time.Now().Add(patience)
	for n := 1; ; n++ {
		err := w.s.once(ctx, f)
		if err == nil || !passing(err) || time.Now().After(end) {
			return err
		}
		if !w.s.pause(ctx, min(time.Duration(n*n)*5*time.Millisecond, 250*time.Millisecond)) {
			return err
		}
	}
}

// transact writes the writer's batch in one transaction. errOdd means that some row
// was not as it should be, or that there are other scopes than known; then nothing was
// written.
func (w *writer) transact(ctx context.Context) error {
	shape := w.batch.ready()
	return w.patiently(ctx, func(ctx context.Context) error { return w.attempt(ctx, shape) })
}

// timeEvery is how often a COMMIT is timed. The server answers the statement before it
// separately then, which wakes both sides once more.
const timeEvery = 50 * time.Millisecond

// committing is how many statements of attempt are done when it commits.
const committing = 3

// attempt is one try of transact. It is one round trip: the statement fails where
// something is not as it should be, and with it all that was sent behind it. The
// server has rows locked while it waits for this process only if COMMIT, some bytes
// behind the statement, does not come with it.
func (w *writer) attempt(ctx context.Context, shape shape) error {
	c, err := w.s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	named, err := direct(ctx, c.Conn())
	if err != nil {
		return err
	}
	const prelude = "parley_prelude"
	sql, prepared := shape.statement(), "parley_append_"+strconv.Itoa(int(shape))
	if named {
		if _, err := c.Conn().Prepare(ctx, prelude, w.s.prelude); err != nil {
			return err
		}
		if _, err := c.Conn().Prepare(ctx, prepared, sql); err != nil {
			return err
		}
	}
	if c.Conn().IsClosed() {
		return errClosed
	}
	p := c.Conn().PgConn().StartPipeline(ctx)
	defer p.Close()
	p.SendQueryParams("BEGIN ISOLATION LEVEL READ COMMITTED", nil, nil, nil, nil)
	if args := &w.batch.args; named {
		p.SendQueryPrepared(prelude, nil, nil, nil)
		p.SendQueryPrepared(prepared, args.values, allBinary, allBinary)
	} else {
		p.SendQueryParams(w.s.prelude, nil, nil, nil, nil)
		p.SendQueryParams(sql, args.values, args.types, allBinary, allBinary)
	}
	timed := w.s.watcher.Load() != nil && time.Since(w.timed) >= timeEvery
	if timed {
		p.SendFlushRequest() // to see how long COMMIT takes
	}
	var without error // what failed, certainly without effect
	err = w.s.deciding(ctx, c.Conn().PgConn(), func() error {
		done, sent, err := roundTrip(p, "COMMIT")
		if w.sync = 0; timed {
			w.timed = time.Now()
			w.sync = w.timed.Sub(sent)
		}
		var not *unsent
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &not):
		case errors.As(err, &pg) && done < committing && (named || cmp.Or(pg.SeverityUnlocalized, pg.Severity) == "ERROR"):
			// The server says so. A pooler may have lost what the server said.
		default:
			return err
		}
		without = err
		return nil
	})
	switch {
	case err != nil:
		return &uncertain{err}
	case without == nil:
		return nil
	}
	if !c.Conn().IsClosed() { // else pgx is about to say goodbye, and who sends meanwhile is in its way
		_, _, _ = roundTrip(p, "ROLLBACK") // if that fails the connection is given up, and the server rolls back
	}
	if is(without, uniqueViolation) { // the log has gone on by another's hand, or a key was given out twice
		w.s.tasks.drop()
		w.s.pushes.drop()
		clear(w.places)
		return errOdd
	}
	if is(without, divisionByZero) {
		return errOdd
	}
	return without
}

// direct reports whether a connection leads to the server without a pooler in
// between: then its session is this program's, and a statement may have a name, to
// be planned once rather than for each batch, which is a third of the server's
// work. A pooler that lends sessions cannot tell its clients the process of one.
func direct(ctx context.Context, c *pgx.Conn) (bool, error) {
	const key = "parley.direct"
	is, known := c.PgConn().CustomData()[key].(bool)
	if known {
		return is, nil
	}
	switch c.Config().DefaultQueryExecMode {
	case pgx.QueryExecModeCacheStatement:
		is = true
	case pgx.QueryExecModeCacheDescribe:
		var pid uint32
		if err := c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return false, err
		}
		is = pid == c.PgConn().PID()
	}
	c.PgConn().CustomData()[key] = is
	return is, nil
}

// unsent is the failure to send anything.
type unsent struct{ err error }

func (u *unsent) Error() string { return u.err.Error() }
func (u *unsent) Unwrap() error { return u.err }

// roundTrip sends what a pipeline holds, and behind it what ends the transaction. It
// returns how many statements were done, when the one before the last of them was, and
// the first error.
func roundTrip(p *pgconn.Pipeline, end string) (done int, before time.Time, err error) {
	p.SendQueryParams(end, nil, nil, nil, nil)
	at := time.Now()
	if err := p.Sync(); err != nil {
		if pgconn.SafeToRetry(err) { // which is reliable of what is sent, and of nothing else
			err = &unsent{err}
		}
		return 0, at, err
	}
	var last *pgconn.Result
	for {
		results, failed := p.GetResults()
		var pg *pgconn.PgError
		switch {
		case failed != nil:
			if err == nil {
				err = failed
			}
			if !errors.As(failed, &pg) {
				return done, before, err
			}
			continue
		case results == nil:
			return done, before, cmp.Or(err, errors.New("the server's answer has no end"))
		}
		switch r := results.(type) {
		case *pgconn.ResultReader:
			if last = r.Read(); last.Err == nil {
				done++
				before, at = at, time.Now()
			} else if err == nil {
				err = last.Err
			}
		case *pgconn.PipelineSync:
			if err == nil && (last == nil || last.CommandTag.String() != end) {
				err = errors.New("the transaction was over")
			}
			return done, before, err
		}
	}
}
