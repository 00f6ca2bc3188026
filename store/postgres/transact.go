package postgres

import (
	"context"
	"encoding/binary"
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
// that the server compiles it, for hundreds of milliseconds. A setting that a
// server does not know is not sent to it.
func (s *Store) prepare(ctx context.Context) error {
	s.prelude = setIdle
	if !s.o.NoAdvisory {
		s.prelude += ", pg_advisory_xact_lock_shared(" + strconv.Itoa(tallyLock) + ")"
	}
	return s.read(ctx, func(ctx context.Context, q querier) error {
		all, err := collect(ctx, q, func(s *string) []any { return []any{s} }, "SELECT name FROM pg_catalog.pg_settings WHERE name IN ('jit', 'enable_hashjoin', 'enable_mergejoin')")
		for _, name := range all {
			s.prelude += ", set_config('" + name + "', 'off', true)"
		}
		return err
	})
}

const uniqueViolation = "23505"

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
// was not as it should be, and stale that there are other scopes than known; in
// both cases nothing was written.
func (w *writer) transact(ctx context.Context) (stale bool, err error) {
	shape := w.batch.ready()
	err = w.patiently(ctx, func(ctx context.Context) error {
		stale, err = w.attempt(ctx, shape)
		return err
	})
	return stale, err
}

// attempt is one try of transact. It is two round trips: rows are locked only
// when all that is to be written has arrived, and COMMIT is sent when it is known
// that it was as it should be. A process that is paused in between loses its
// transaction soon.
func (w *writer) attempt(ctx context.Context, shape shape) (stale bool, err error) {
	c, err := w.s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer c.Release()
	sql, prepared := shape.statement(), ""
	if named, err := direct(ctx, c.Conn()); err != nil {
		return false, err
	} else if named {
		prepared = "parley_append_" + strconv.Itoa(int(shape))
		if _, err := c.Conn().Prepare(ctx, prepared, sql); err != nil {
			return false, err
		}
	}
	p := c.Conn().PgConn().StartPipeline(ctx)
	defer p.Close()
	p.SendQueryParams("BEGIN ISOLATION LEVEL READ COMMITTED", nil, nil, nil, nil)
	p.SendQueryParams(w.s.prelude, nil, nil, nil, nil)
	if args := &w.batch.args; prepared != "" {
		p.SendQueryPrepared(prepared, args.values, allBinary, allBinary)
	} else {
		p.SendQueryParams(sql, args.values, args.types, allBinary, allBinary)
	}
	last, err := roundTrip(p)
	if err != nil {
		if !c.Conn().IsClosed() { // else pgx is about to say goodbye, and who sends meanwhile is in its way
			_ = end(p, "ROLLBACK") // if that fails the connection is given up, and the server rolls back
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == uniqueViolation { // the log has gone on by another's hand
			return false, errOdd
		}
		return false, err
	}
	wrote, version, err := counts(last)
	switch {
	case err != nil:
	case version != w.batch.scopes:
		return true, end(p, "ROLLBACK")
	case wrote != [3]int64{w.rows(newTasks), w.rows(oldTasks), w.rows(newReceipts)}:
		err = errOdd
	}
	if err != nil {
		_ = end(p, "ROLLBACK")
		return false, err
	}
	if w.s.beforeCommit != nil {
		w.s.beforeCommit()
	}
	if c.Conn().IsClosed() {
		return false, errClosed
	}
	sent := time.Now()
	err = w.s.deciding(ctx, c.Conn().PgConn(), func() error { return end(p, "COMMIT") })
	w.sync = time.Since(sent)
	if err != nil {
		var not *unsent
		if errors.As(err, &not) { // the server has given up what stood still for too long
			return false, err
		}
		return false, &uncertain{err}
	}
	return false, nil
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

func (w *writer) rows(part int) int64 { return int64(w.batch.tables[part].rows) }

// counts reads the row that a statement of a shape returns.
func counts(r *pgconn.Result) (wrote [3]int64, version int64, err error) {
	if r == nil || len(r.Rows) != 1 || len(r.Rows[0]) != len(wrote)+1 {
		return wrote, 0, errors.New("the statement did not return its row")
	}
	for i, v := range r.Rows[0] {
		if len(v) != 8 {
			return wrote, 0, errors.New("the statement did not return numbers")
		}
		n := int64(binary.BigEndian.Uint64(v))
		if i < len(wrote) {
			wrote[i] = n
		} else {
			version = n
		}
	}
	return wrote, version, nil
}

// unsent is the failure to send anything.
type unsent struct{ err error }

func (u *unsent) Error() string { return u.err.Error() }
func (u *unsent) Unwrap() error { return u.err }

// end ends the transaction of a pipeline.
func end(p *pgconn.Pipeline, how string) error {
	p.SendQueryParams(how, nil, nil, nil, nil)
	r, err := roundTrip(p)
	if err == nil && (r == nil || r.CommandTag.String() != how) {
		err = errors.New("the transaction was over")
	}
	return err
}

// roundTrip sends what a pipeline holds and returns the last result, or the first
// error.
func roundTrip(p *pgconn.Pipeline) (last *pgconn.Result, err error) {
	if err := p.Sync(); err != nil {
		if pgconn.SafeToRetry(err) { // which is reliable of what is sent, and of nothing else
			err = &unsent{err}
		}
		return nil, err
	}
	for {
		results, failed := p.GetResults()
		var pg *pgconn.PgError
		switch {
		case failed != nil:
			if err == nil {
				err = failed
			}
			if !errors.As(failed, &pg) {
				return nil, err
			}
			continue
		case results == nil:
			return last, err
		}
		switch r := results.(type) {
		case *pgconn.ResultReader:
			if last = r.Read(); last.Err != nil && err == nil {
				err = last.Err
			}
		case *pgconn.PipelineSync:
			return last, err
		}
	}
}
