package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// With synchronous replication a COMMIT is on the primary's disk before it waits for a
// standby. Whatever ends that wait early (a cancel request, pg_terminate_backend, a
// restart; statement_timeout does not) makes the transaction visible although no
// standby has it, and a failover would take it back. So nothing here cancels a COMMIT,
// an answer that came without the wait counts as no answer, and each new connection
// first waits until a standby has all that the connection could be shown.

// commitGuard is what a connection knows of a COMMIT that was sent and has no answer.
type commitGuard struct {
	pending atomic.Bool
	alone   atomic.Bool // the server says that it has stopped waiting for standbys
}

const guardKey = "parley.commit"

// guard gives a connection that is to be made its commitGuard.
func guard(c *pgx.ConnConfig) {
	g := &commitGuard{}
	dial, after, notice := c.DialFunc, c.AfterConnect, c.OnNotice
	// pgx sends a cancel request for each connection that it gives up, on a connection
	// of its own, and has no switch for that.
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.pending.Load() {
			return nil, errors.New("a COMMIT is not canceled")
		}
		return dial(ctx, network, address)
	}
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[guardKey] = g
		if after != nil {
			return after(ctx, conn)
		}
		return nil
	}
	c.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" {
			g.alone.Store(true)
		}
		if notice != nil {
			notice(conn, n)
		}
	}
}

// errAlone is the outcome of a COMMIT that the server answered before a standby had it.
var errAlone = errors.New("the server stopped waiting for a standby")

// deciding calls f, which sends what may commit and returns what the answer was. After
// one that leaves the outcome open all connections are given up, for what they show may
// not be replicated. The exception is an answer that did not come in time: the server
// goes on waiting for a standby, and shows nobody what waits.
func (d *db) deciding(ctx context.Context, conn *pgconn.PgConn, f func() error) error {
	g, ok := conn.CustomData()[guardKey].(*commitGuard)
	if !ok {
		g = &commitGuard{} // a test's connection
	}
	g.pending.Store(true)
	err := f()
	if !conn.IsClosed() {
		g.pending.Store(false)
	}
	alone := g.alone.Swap(false)
	if alone {
		err = errAlone
	}
	if alone || err != nil && ctx.Err() == nil && d.replicated() {
		d.pool.Reset()
	}
	return err
}

// replicated reports whether commits wait for standbys.
func (d *db) replicated() bool {
	is := d.server.Load()
	return is != nil && is.names != "" && !is.standby
}

// errUnconfirmed is why a connection is not used.
var errUnconfirmed = errors.New("no synchronous standby confirms what this server has: see pg_stat_replication, and synchronous_standby_names")

// confirm waits until a standby has all that a new connection could be shown: what was
// committed before may be visible without, after a restart or because its wait was
// ended by hand. Canceling this wait takes nothing back.
func (d *db) confirm(ctx context.Context, c *pgx.Conn) error {
	limited, cancel := context.WithTimeout(ctx, d.o.wait*2/3) // those who wait for the connection are to hear of it
	defer cancel()
	_, err := c.Exec(limited, "SELECT pg_catalog.pg_logical_emit_message(true, 'parley', '')", pgx.QueryExecModeSimpleProtocol)
	g, ok := c.PgConn().CustomData()[guardKey].(*commitGuard)
	switch {
	case ok && g.alone.Swap(false), limited.Err() != nil && ctx.Err() == nil:
		return errUnconfirmed
	case is(err, "42", "0A"): // there is no such function, or not for this role
		d.o.Logger.Debug("the server does not say whether a standby has what it shows", "error", err)
		return nil
	}
	return err
}
