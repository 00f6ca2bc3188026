package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
)

// probe finds out what a server lacks, and does without: some engines speak
// PostgreSQL's protocol and not all of its SQL. Switches that were given stay.
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
		// It has the functions, and they lock nothing.
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

// without notes what the server lacks, and what that means.
func (d *db) without(what string) {
	d.lacking = append(d.lacking, what)
	d.o.Logger.Info("the server has no " + what)
}

// errNoSkip is why a server cannot be used.
var errNoSkip = errors.New("the server has no FOR UPDATE … SKIP LOCKED, without which servers that share it would wait for each other; choose another one")

// askRows is how transactions run, and the clock, if the server can pass over locked
// rows: none is, for no name is so long. YugabyteDB says that a transaction is at read
// committed while it is not, unless it is asked in its own words.
const askRows = "SELECT coalesce(nullif(current_setting('yb_effective_transaction_isolation_level', true), ''), current_setting('transaction_isolation')), " +
	"(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " +
	"(SELECT count(*) FROM (SELECT 1 FROM parley.node WHERE name = decode(repeat('00', 999), 'hex') FOR UPDATE SKIP LOCKED) AS n)"

// probeRows is probe for what needs the schema.
func (d *db) probeRows(ctx context.Context) error {
	isolation, coarse := "", true
	for n := 0; coarse && n < 3; n++ { // one time of a thousand ends in zeros by chance
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
		case is(err, "25006"): // whatever writes will say so
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
	switch {
	case errors.Is(err, errOver):
		return false, nil
	case lacking(err), is(err, "25006"): // a standby, for a command that only reads
		return true, nil
	}
	return false, err
}

// lacking reports whether a statement failed because the server does not know it: it is
// not supported, has no such function, or is a syntax error.
func lacking(err error) bool { return is(err, "0A000", "42883", "42601") }

// Without returns what the server lacks, or was said to, and what that means.
func (s *Store) Without() []string { return s.lacking }
