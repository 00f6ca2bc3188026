package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// With synchronous replication, a COMMIT is on the primary's disk before it waits for a
// standby. If something ends that wait early (a cancel request, pg_terminate_backend, or a
// restart, but not statement_timeout), the transaction becomes visible although no standby
// has it, and a failover would lose it. So nothing here cancels a COMMIT, an answer without
// the wait counts as no answer, and each new connection first waits until a standby has
// everything that the connection may see.

// commitGuard tells whether a connection has sent a COMMIT that has no answer yet.
type commitGuard struct {
	pending atomic.Bool
	alone   atomic.Bool // the server reported that it stopped waiting for standbys
}

const guardKey = "parley.commit"

// guard gives a new connection its commitGuard.
func guard(c *pgx.ConnConfig) {
	g := &commitGuard{}
	dial, after, notice := c.DialFunc, c.AfterConnect, c.OnNotice
	// pgx sends a cancel request, on a separate connection, for each connection that it gives
	// up, and has no option to prevent that.
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

// errAlone means that the server answered a COMMIT before a standby had it.
var errAlone = errors.New("the server stopped waiting for a standby")

// deciding calls f, which sends something that may commit and returns the answer. If the
// outcome is unknown, deciding closes all connections, because what they show may not be
// replicated. An answer that did not come in time is an exception: the server keeps waiting
// for a standby, and meanwhile shows the transaction to no one.
func (d *db) deciding(ctx context.Context, conn *pgconn.PgConn, f func() error) error {
	g, ok := conn.CustomData()[guardKey].(*commitGuard)
	if !ok {
		g = &commitGuard{} // a connection made by a test
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

// errUnconfirmed means that a connection must not be used.
var errUnconfirmed = errors.New("no synchronous standby confirms what this server has: see pg_stat_replication, and synchronous_standby_names")

// confirm waits until a standby has everything that a new connection may see. After a
// restart, or if its wait was ended by hand, an earlier commit may be visible although no
// standby has it. Canceling this wait undoes nothing.
func (d *db) confirm(ctx context.Context, c *pgx.Conn) error {
	limited, cancel := context.WithTimeout(ctx, d.o.wait*2/3) // leaves the callers that wait for the connection time for the error
	defer cancel()
	_, err := c.Exec(limited, "SELECT pg_catalog.pg_logical_emit_message(true, 'parley', '')", pgx.QueryExecModeSimpleProtocol)
	g, ok := c.PgConn().CustomData()[guardKey].(*commitGuard)
	switch {
	case ok && g.alone.Swap(false), limited.Err() != nil && ctx.Err() == nil:
		return errUnconfirmed
	case is(err, "42", "0A"): // no such function, or not for this role
		d.o.Logger.Debug("the server does not say whether a standby has what it shows", "error", err)
		return nil
	}
	return err
}
