package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schema is what a version of the program makes of a database. The version of a
// database is the number of steps it has behind it.
type schema struct {
	steps []string // SQL, in order; steps[0] makes version 1
	// works is the oldest version of the program that can work with a database
	// of the newest version: replicas of two releases run side by side while one
	// replaces the other, so a step only adds (expand), and what it makes needless
	// goes with a step of a later release (contract).
	works int
}

// current is this program's schema.
var current = schema{steps: store.Migrations(migrations), works: 1}

func (s *schema) version() int { return len(s.steps) }

// migrationLock is the advisory lock of those who change the schema ("Prly").
const migrationLock = 0x50726c79

// state is what a database says of its schema.
type state struct {
	version int // 0: there is nothing of ours
	works   int // the oldest version of the program that can work with it
}

// look reads what a database says of its schema.
func look(ctx context.Context, d *db) (s state, err error) {
	err = d.read(ctx, func(ctx context.Context, q querier) error {
		s, err = lookOnce(ctx, q)
		return err
	})
	return s, err
}

func lookOnce(ctx context.Context, q querier) (state, error) {
	s, err := version(ctx, q)
	if err != errNoTable {
		return s, err
	}
	var others bool
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'parley')").Scan(&others)
	if err != nil || !others {
		return state{}, err
	}
	// Something is there, and not ours, unless another program made it just now.
	if s, err = version(ctx, q); err == errNoTable {
		err = errForeign
	}
	return s, err
}

var (
	errNoTable = errors.New("there is no table that tells the version")
	errForeign = errors.New("the schema parley of this database was not made by this program; choose another database")
)

// version reads the table that tells it.
func version(ctx context.Context, q querier) (s state, err error) {
	err = q.QueryRow(ctx, "SELECT version, works FROM parley.schema").Scan(&s.version, &s.works)
	switch {
	case is(err, undefinedTable, invalidSchemaName):
		return state{}, errNoTable
	case errors.Is(err, pgx.ErrNoRows), is(err, undefinedColumn):
		return state{}, errForeign
	case err != nil:
		return state{}, fmt.Errorf("read the schema's version: %w", err)
	}
	return s, nil
}

// errNoSchema is fs.ErrNotExist, which says less.
var errNoSchema = store.Because(errors.New("there is nothing of parley's in this database; it is made when a server starts with it"), fs.ErrNotExist)

// exists wants a database of this version, or of a newer one that this program can work
// with: programs beside servers leave it as it is.
func (s *schema) exists(ctx context.Context, d *db) error {
	at, err := look(ctx, d)
	switch {
	case err != nil:
		return err
	case at.version == 0:
		return errNoSchema
	case at.version < s.version():
		return fmt.Errorf("the database was made by an older version of this program (schema %d, this one has %d); start a server of this version with it once", at.version, s.version())
	}
	return s.check(at)
}

// check says whether this program can work with a database as it is.
func (s *schema) check(at state) error {
	if at.works > s.version() {
		return fmt.Errorf("the database was made by a newer version of this program (schema %d, which programs from schema %d on can work with; this one has %d); use that version, or another database",
			at.version, at.works, s.version())
	}
	return nil
}

// migrate takes the database from its version to the schema's, one step per
// transaction. Of several programs that start at once one does it, and the
// others wait. A database of a newer version is left as it is.
func (s *schema) migrate(ctx context.Context, d *db) error {
	from := 0 // the version that is migrated; 0: none, or there was nothing before
	tell := func(version int) {
		if from > 0 && d.o.Migrating != nil {
			d.o.Migrating(version-from, s.version()-from)
		}
	}
	for first := true; ; first = false {
		at, err := look(ctx, d)
		if err != nil {
			return err
		}
		if err := s.check(at); err != nil || at.version >= s.version() {
			tell(s.version())
			return err
		}
		if first {
			from = at.version
		}
		tell(at.version)
		if err := s.step(ctx, d); err != nil {
			return fmt.Errorf("migrate to version %d: %w", at.version+1, err)
		}
	}
}

// step does the next one, unless another program has done it meanwhile.
func (s *schema) step(ctx context.Context, d *db) error {
	return d.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if !d.o.NoAdvisory {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
				return err
			}
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'parley')").Scan(&there); err != nil {
			return err
		}
		if !there { // whoever may not make schemas has been given one
			if _, err := tx.Exec(ctx, "CREATE SCHEMA parley"); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS parley.schema (one boolean PRIMARY KEY CHECK (one), version integer NOT NULL, works integer NOT NULL)"); err != nil {
			return err
		}
		var version int
		err := tx.QueryRow(ctx, "SELECT version FROM parley.schema FOR UPDATE").Scan(&version)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if version >= s.version() {
			return nil
		}
		if _, err := tx.Exec(ctx, s.steps[version]); err != nil { // without arguments: many statements at once
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO parley.schema (one, version, works) VALUES (true, $1, $2) ON CONFLICT (one) DO UPDATE SET version = excluded.version, works = excluded.works",
			version+1, min(s.works, version+1))
		return err
	})
}
