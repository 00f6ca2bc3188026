package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// probe finds out what a server lacks, and does without: some engines speak
// PostgreSQL's protocol and not all of its SQL. Switches that were given stay.
func (d *db) probe(ctx context.Context) error {
	if !d.o.NoAdvisory {
		lacks, err := d.lacks(ctx, "SELECT pg_try_advisory_xact_lock_shared(0)")
		if err != nil {
			return err
		}
		// It has the functions, and they lock nothing.
		if lacks || strings.Contains(d.server.Load().version, "CockroachDB") {
			d.o.NoAdvisory = true
			d.o.Logger.Info("the server has no advisory locks: totals of long lists are counted each time, and a new version must be started on one server first")
		}
	}
	if !d.o.NoListen && d.o.Listen == "" {
		lacks, err := d.lacks(ctx, "LISTEN "+channel)
		if err != nil {
			return err
		}
		if lacks {
			d.o.NoListen = true
			d.o.Logger.Info("the server has no LISTEN: changes made by other processes are noticed when this one looks, once a second")
		}
	}
	return nil
}

// lacks reports whether the server knows nothing of a statement, which has no effect: a
// pooler may give the connection to others afterwards.
func (d *db) lacks(ctx context.Context, sql string) (lacks bool, err error) {
	errOver := errors.New("tried")
	err = d.read(ctx, func(ctx context.Context, _ querier) error {
		return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			return errOver
		})
	})
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, errOver):
		return false, nil
	case errors.As(err, &pg) && (pg.Code == "0A000" || pg.Code == "42883" || pg.Code == "42601"): // not supported, no such function, a syntax error
		return true, nil
	}
	return false, err
}
