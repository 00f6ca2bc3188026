package database

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"

	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/postgres"
)

// Hint returns what to do about an error of the database, or "" if the error itself says so.
func (p *Location) Hint(err error) string {
	if p.Address != "" {
		return p.postgresHint(err)
	}
	path := plain.Quote(p.File)
	switch {
	case errors.Is(err, sqlite3.CORRUPT):
		return path + " is damaged inside: restore it from a backup, or name another directory with --data"
	case errors.Is(err, store.ErrFull):
		return "make room where " + path + " is: even to delete takes a little"
	case errors.Is(err, store.ErrBusy) && !strings.Contains(err.Error(), "in use by"): // the error names the server
		return "another program, such as sqlite3, has " + path + " locked: end it, and try again"
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, sqlite3.CANTOPEN):
		return path + " and its directory must be writable: look at their mode and owner, and whether the file system is read-only; --data names another directory"
	}
	return ""
}

func (p *Location) postgresHint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "28P01", "28000":
			return "PostgreSQL does not let this user in: look at the user and password of the address (" + Env + ", PGPASSWORD or ~/.pgpass), and at its pg_hba.conf"
		case "3D000":
			return "make the database first: createdb " + plain.Quote(p.database())
		case "42501":
			return "the user must be able to make the schema parley, once, or own it: GRANT CREATE ON DATABASE " + p.database() + " TO the user"
		case "25006":
			return "the server at " + p.Host() + " only lets read: name the primary, not a standby (target_session_attrs=read-write finds it)"
		}
	}
	switch {
	case errors.Is(err, postgres.ErrLossy):
		return "or accept the loss: --allow-async-commit, or store.allow_async_commit in parley.yaml"
	case errors.Is(err, store.ErrBusy):
		return "PostgreSQL has no connection left: each server takes up to pool_max_conns of the address (10) and one; raise max_connections, or put a pooler between"
	case errors.Is(err, store.ErrFull):
		return "make room on the disk of the database"
	case errors.Is(err, store.ErrUnreachable):
		return "see whether PostgreSQL runs at " + p.Host() + " and takes connections from this machine; --store, or " + Env + ", has the address"
	}
	return ""
}
