package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-a2a/parley/store"
)

// db is the database as the rest of the package uses it: a pool of connections that have no
// settings beyond a transaction.
type db struct {
	pool *pgxpool.Pool
	o    Options // with all defaults filled in
	over context.Context

	seen    *timelines
	lacking []string                   // what the server lacks, set by Open
	server  atomic.Pointer[durability] // of the newest connection; nil: there was none yet
}

// querier has the methods that a pool and a transaction share.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// SQLSTATEs that the package distinguishes.
const (
	undefinedTable    = "42P01"
	invalidSchemaName = "3F000"
	undefinedColumn   = "42703"
)

// callWait is how long one transaction may take, including the wait for a connection. Without
// it, a database that does not answer would block its callers for ever.
const callWait = 15 * time.Second

// idleWait is how long the server lets a transaction wait for its client. If a process is
// paused within a transaction, it then loses the transaction and its locks, which others may
// need to take over its tasks.
const idleWait = 2 * time.Second

// tries is how many times a transaction is attempted while it has no effect.
const tries = 5

// usable returns why a call must not begin, or nil.
func (d *db) usable(ctx context.Context) error {
	if d.over.Err() != nil {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

// exec runs one statement in a write, and returns how many rows it changed.
func (d *db) exec(ctx context.Context, what, sql string, args ...any) (n int, err error) {
	err = d.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, wrap(what, err)
	}
	return n, nil
}

// read calls f until it succeeds, fails for good, or was tried often enough. f must not
// change anything.
func (d *db) read(ctx context.Context, f func(ctx context.Context, q querier) error) error {
	return d.again(ctx, func(ctx context.Context) error { return f(ctx, d.pool) })
}

// snapshot is read for several queries that must see the same state.
func (d *db) snapshot(ctx context.Context, f func(ctx context.Context, q querier) error) error {
	return d.again(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			return f(ctx, tx)
		})
	})
}

// write calls f in a transaction until that is committed, fails for good, or was tried often
// enough. It repeats only a transaction that certainly had no effect; if a COMMIT got no
// answer, the error says that the effect is unknown. Once begun, it ignores the end of ctx
// and gives f another context, because a caller that left early would not know whether the
// write happened.
func (d *db) write(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return d.finish(ctx, func(ctx context.Context) error { return d.transact(ctx, f) })
}

// statement is write for a single statement that is its own transaction. It costs one round
// trip.
func (d *db) statement(ctx context.Context, f func(ctx context.Context, q querier) error) error {
	return d.finish(ctx, func(ctx context.Context) error {
		c, err := d.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer c.Release()
		if c.Conn().IsClosed() {
			return errClosed
		}
		err = d.deciding(ctx, c.Conn().PgConn(), func() error { return f(ctx, c.Conn()) })
		if err == nil || is(err, "") {
			return err
		}
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "write" { // the end of the statement was not sent, so the server does nothing
			return err
		}
		return &uncertain{err}
	})
}

// finish is again for writes: once begun, they ignore the end of ctx.
func (d *db) finish(ctx context.Context, f func(ctx context.Context) error) error {
	if err := d.usable(ctx); err != nil {
		return err
	}
	return d.again(context.WithoutCancel(ctx), f)
}

// writing are the options of transactions that change something, whatever the server's
// defaults.
var writing = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// transact is one attempt of write.
func (d *db) transact(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	tx, err := c.BeginTx(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after a commit; otherwise, if it fails, the connection is closed
	if _, err := tx.Exec(ctx, setIdle); err != nil {
		return err
	}
	if err := f(ctx, tx); err != nil {
		return err
	}
	if tx.Conn().IsClosed() {
		return errClosed
	}
	if err := d.deciding(ctx, tx.Conn().PgConn(), func() error { return tx.Commit(ctx) }); err != nil {
		return &uncertain{err}
	}
	return nil
}

// setIdle sets idleWait for a transaction.
var setIdle = "SELECT set_config('idle_in_transaction_session_timeout', '" + strconv.Itoa(int(idleWait.Milliseconds())) + "', true)"

// again calls f until it succeeds, fails for good, or was tried often enough.
func (d *db) again(ctx context.Context, f func(ctx context.Context) error) error {
	if err := d.usable(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := d.once(ctx, f)
		if err == nil || n == tries || !passing(err) || ctx.Err() != nil {
			return err
		}
		if !d.pause(ctx, time.Duration(n*n)*5*time.Millisecond) {
			return err
		}
	}
}

func (d *db) once(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, d.o.wait, errSlow)
	defer cancel()
	err := f(limited)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

var errSlow = errors.New("the database did not answer in time")

// pause waits for t. It returns false if ctx ends or the store is closed before.
func (d *db) pause(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-d.over.Done():
	}
	return false
}

// leave closes a connection that is not of the pool.
func leave(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// uncertain is the failure of a COMMIT that may have taken effect.
type uncertain struct{ err error }

func (u *uncertain) Error() string { return "commit: " + u.err.Error() }
func (u *uncertain) Unwrap() error { return u.err }

// without reports whether the COMMIT certainly had no effect, because the server refused it,
// so that the transaction can be repeated. A report that the server shuts down, or that a
// pooler lost it, does not prove that. Nor does pgx.SafeToRetry: it includes a missing answer
// on a cut connection.
func (u *uncertain) without() bool { return is(u.err, "40001", "40P01", "25P03") }

// errClosed means that the connection was cut before anything was sent that could take
// effect.
var errClosed = fmt.Errorf("the connection is closed: %w", net.ErrClosed)

// passing reports whether a failed attempt can be repeated at once: it had no effect, and the
// next one may succeed.
func passing(err error) bool {
	var u *uncertain
	if errors.As(err, &u) {
		return u.without()
	}
	if is(err, "") { // the server reports the failure, so it rolled back
		return is(err, "40001", "40P01", // serialization failure, deadlock
			"57P01", "57P02", "57P03", // shutting down, or not up yet
			"25P03", // the transaction was idle for too long
			"08")
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, errSlow) && !errors.Is(err, store.ErrNotFound) && isConnection(err)
}

// isConnection reports whether an error concerns the connection to the server.
func isConnection(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err) || isNetwork(err)
}

// wrap adds what was attempted, and the reason of the failure if it is known, to errors that
// no caller tests for.
func wrap(what string, err error) error {
	if err == nil || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound) {
		return err
	}
	return classified(fmt.Errorf("postgres: %s: %w", what, err))
}
