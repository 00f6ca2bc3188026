package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
)

// probe finds out what a server lacks, and does without it: some engines speak PostgreSQL's
// protocol but not all of its SQL. Options that are set stay set.
func (d *db) probe(ctx context.Context) error {
	const noAdvisory = "advisory locks: totals of long lists are counted each time, and a new version must be started on one server first"
	const noListen = "LISTEN: changes made by other processes are noticed when this one looks, once a second"
	if d.o.NoAdvisory {
		d.lacking = append(d.lacking, noAdvisory)
	} else {
		lacks, err := d.lacks(ctx, "SELECT pg_try_advisory_xact_lock_shared(0)")
		if err != nil {
			return err
		}
		// CockroachDB has these functions, but they lock nothing.
		if lacks || strings.Contains(d.server.Load().version, "CockroachDB") {
			d.o.NoAdvisory = true
			d.without(noAdvisory)
		}
	}
	if d.o.NoListen {
		d.lacking = append(d.lacking, noListen)
	} else if d.o.Listen == "" {
		lacks, err := d.lacks(ctx, "LISTEN "+channel)
		if err != nil {
			return err
		}
		if lacks {
			d.o.NoListen = true
			d.without(noListen)
		}
	}
	return nil
}

// without notes what the server lacks, and the consequence.
func (d *db) without(what string) {
	d.lacking = append(d.lacking, what)
	d.o.Logger.Info("the server has no " + what)
}

// errNoSkip means that the server cannot be used.
var errNoSkip = errors.New("the server has no FOR UPDATE … SKIP LOCKED, without which servers that share it would wait for each other; choose another one")

// askRows returns the isolation level and the clock, and fails if the server cannot skip
// locked rows. It locks no row, because no name is so long. YugabyteDB claims read committed
// even if that is not in effect, unless asked for its own setting.
const askRows = "SELECT coalesce(nullif(current_setting('yb_effective_transaction_isolation_level', true), ''), current_setting('transaction_isolation')), " +
	"(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " +
	"(SELECT count(*) FROM (SELECT 1 FROM parley.node WHERE name = decode(repeat('00', 999), 'hex') FOR UPDATE SKIP LOCKED) AS n)"

// probeRows is the part of probe that needs the schema.
func (d *db) probeRows(ctx context.Context) error {
	isolation, coarse := "", true
	for n := 0; coarse && n < 3; n++ { // by chance, one time in a thousand ends in zeros
		err := d.read(ctx, func(ctx context.Context, _ querier) error {
			return pgx.BeginTxFunc(ctx, d.pool, writing, func(tx pgx.Tx) error {
				var micros, locked int64
				err := tx.QueryRow(ctx, askRows).Scan(&isolation, &micros, &locked)
				coarse = micros%1000 == 0
				return err
			})
		})
		switch {
		case lacking(err):
			return errNoSkip
		case is(err, "25006"): // each write will report that
			return nil
		case err != nil:
			return err
		}
	}
	if isolation = strings.ToLower(isolation); isolation != "read committed" {
		d.without("transactions at read committed, but at " + isolation + ": more of them conflict (40001), and are tried again")
	}
	if coarse {
		d.without("clock with microseconds: delays between servers are measured in milliseconds")
	}
	return nil
}

// lacks reports whether the server does not know a statement. The statement is rolled back,
// because a pooler may give the connection to another program afterwards.
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
	switch {
	case errors.Is(err, errOver):
		return false, nil
	case lacking(err), is(err, "25006"): // a standby, for a command that only reads
		return true, nil
	}
	return false, err
}

// lacking reports whether a statement failed because the server does not know it: it is not
// supported, uses an unknown function, or is a syntax error.
func lacking(err error) bool { return is(err, "0A000", "42883", "42601") }

// Without returns what the server lacks, or which features were turned off, and the
// consequences.
func (s *Store) Without() []string { return s.lacking }
