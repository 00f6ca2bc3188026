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

// prepare builds the first statement of transactions that append. Rows should be found by
// their keys. A planner that has no statistics, or old ones of a small table, would rather
// read the whole table to join it. enable_seqscan stays on: where no other plan exists, as
// for sequences, the planner would assign a cost so high that the server compiles the
// statement, for hundreds of milliseconds. A prepared statement is planned once, not for each
// batch. The statement leaves out settings that the server does not know.
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

// patience is about how long appends are retried while the server cannot be reached or shuts
// down, because no task should fail for a restart.
const patience = 10 * time.Second

// patiently calls f until it succeeds, fails for good, or patience is over.
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

// transact writes the writer's batch in one transaction. errOdd means that some row was not
// as expected, or that the known scopes are out of date; then nothing was written.
func (w *writer) transact(ctx context.Context) error {
	shape := w.batch.ready()
	return w.patiently(ctx, func(ctx context.Context) error { return w.attempt(ctx, shape) })
}

// timeEvery is how often a COMMIT is timed. To time it, the server has to answer the
// statement before it separately, which wakes both sides once more.
const timeEvery = 50 * time.Millisecond

// committing is the number of statements that attempt has done when it commits.
const committing = 3

// attempt is one attempt of transact, in one round trip. If something is not as expected, the
// statement fails, and so does everything sent after it. The server holds row locks while it
// waits for this process only if COMMIT, which follows a few bytes later, does not arrive
// together with the statement.
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
		p.SendFlushRequest() // separates the answer, to time COMMIT
	}
	var without error // a failure that certainly had no effect
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
			// The server reported it. With a pooler, a FATAL may mean that the real answer
			// was lost.
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
	if !c.Conn().IsClosed() { // otherwise pgx is sending its goodbye, and another sender would interfere
		_, _, _ = roundTrip(p, "ROLLBACK") // if that fails the connection is closed, and the server rolls back
	}
	if is(without, uniqueViolation) { // another process continued the log, or a key was assigned twice
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

// direct reports whether a connection leads to the server without a pooler in between. Then
// its session belongs to this program, so statements may have names, and are planned once
// instead of for each batch, which saves a third of the server's work. A pooler does not
// report the server's process ID to its clients, so the IDs differ.
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

// unsent means that nothing was sent.
type unsent struct{ err error }

func (u *unsent) Error() string { return u.err.Error() }
func (u *unsent) Unwrap() error { return u.err }

// roundTrip sends the statements in a pipeline, followed by the one that ends the
// transaction. It returns how many statements were done, when the last but one was done, and
// the first error.
func roundTrip(p *pgconn.Pipeline, end string) (done int, before time.Time, err error) {
	p.SendQueryParams(end, nil, nil, nil, nil)
	at := time.Now()
	if err := p.Sync(); err != nil {
		if pgconn.SafeToRetry(err) { // which is reliable for sending, and for nothing else
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
