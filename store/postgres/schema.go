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

// schema describes the database of a version of the program. The version of a database is the
// number of steps that were applied to it.
type schema struct {
	steps []string // SQL, in order; steps[0] makes version 1
	// works is the oldest version of the program that can work with a database of the newest
	// version. Replicas of two releases run side by side while one replaces the other. So a
	// step only adds things (expand), and a step of a later release removes what is no longer
	// needed (contract).
	works int
}

// current is this program's schema.
var current = schema{steps: store.Migrations(migrations), works: 1}

func (s *schema) version() int { return len(s.steps) }

// migrationLock is the advisory lock for changing the schema ("Prly").
const migrationLock = 0x50726c79

// state is what a database says about its schema.
type state struct {
	version int // 0: there is no schema
	works   int // the oldest version of the program that can work with it
}

// look reads the state of the schema.
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
	// Something exists that is not ours, unless another process created the schema just now.
	if s, err = version(ctx, q); err == errNoTable {
		err = errForeign
	}
	return s, err
}

var (
	errNoTable = errors.New("there is no table that tells the version")
	errForeign = errors.New("the schema parley of this database was not made by this program; choose another database")
)

// version reads the table that has the version.
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

// errNoSchema is an fs.ErrNotExist with a better text.
var errNoSchema = store.Because(errors.New("there is nothing of parley's in this database; it is made when a server starts with it"), fs.ErrNotExist)

// exists checks that a database has this version, or a newer one that this program can work
// with. Programs beside servers do not migrate it.
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

// check returns an error if this program cannot work with a database.
func (s *schema) check(at state) error {
	if at.works > s.version() {
		return fmt.Errorf("the database was made by a newer version of this program (schema %d, which programs from schema %d on can work with; this one has %d); use that version, or another database",
			at.version, at.works, s.version())
	}
	return nil
}

// migrate brings the database from its version to the schema's, one step per transaction. If
// several programs start at once, one of them migrates and the others wait. A database of a
// newer version is left as it is.
func (s *schema) migrate(ctx context.Context, d *db) error {
	from := 0 // the version before the migration; 0: none, or the database was empty
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

// step applies the next step, unless another program has done so meanwhile.
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
		if !there { // roles that may not create schemas have been given one
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
		if _, err := tx.Exec(ctx, s.steps[version]); err != nil { // without arguments, so that it may have many statements
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO parley.schema (one, version, works) VALUES (true, $1, $2) ON CONFLICT (one) DO UPDATE SET version = excluded.version, works = excluded.works",
			version+1, min(s.works, version+1))
		return err
	})
}
