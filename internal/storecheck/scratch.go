package storecheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/store/postgres"
)

// Scratch is a place for tests on a server: a new database or, in an existing one, a new
// schema parley. Nothing else on the server is changed.
type Scratch struct {
	Name string // of the database
	Made bool   // the place exists: Make made it, and Remove has not removed it

	state   *postgres.State
	server  string // address of the given database, without Parley's parameters
	address string // address of the place
	here    bool
}

// ErrSchemaThere means that a database cannot be used for tests. ErrMayNotCreate means that
// no database could be created.
var (
	ErrSchemaThere  = errors.New("the database has a schema parley already, which may hold tasks")
	ErrMayNotCreate = errors.New("the role may not create a database")
)

// NewScratch examines a server and chooses the place: a database with an unused name or, with
// here, the database of the address. It changes nothing yet.
func NewScratch(ctx context.Context, address string, here bool) (*Scratch, error) {
	state, err := postgres.Look(ctx, address, time.Minute)
	if err != nil {
		return nil, err
	}
	if state.Standby != nil {
		return nil, state.Standby
	}
	s := &Scratch{state: state, address: address, here: here}
	if s.server, err = inDatabase(address, "", true); err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig(s.server)
	if err != nil {
		return nil, err // pgx omits the password
	}
	if s.Name = c.Database; !here {
		s.Name = "parley_check_" + strings.ToLower(rand.Text()[:12])
		s.address, err = inDatabase(address, s.Name, false)
	}
	return s, err
}

// inDatabase returns an address with the database replaced by name, if that is not empty, and
// also in its listen parameter. plain omits the parameters that only Parley knows.
func inDatabase(address, name string, plain bool) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address is not a URL") // its text may contain a password
	}
	var all []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case plain && slices.Contains([]string{"listen", "advisory", "default_query_exec_mode"}, key), plain && strings.HasPrefix(key, "pool_"), name != "" && key == "dbname", pair == "":
			continue
		case key == "listen" && value != "off" && name != "":
			if value, err = url.PathUnescape(value); err == nil {
				value, err = inDatabase(value, name, false)
			}
			if err != nil {
				return "", err
			}
			pair = "listen=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20") // libpq does not read + as a space
		}
		all = append(all, pair)
	}
	if name != "" {
		u.Path, u.RawPath = "/"+name, ""
	}
	u.RawQuery = strings.Join(all, "&")
	return u.String(), nil
}

// Make makes the place. It is empty until the first open.
func (s *Scratch) Make(ctx context.Context) error {
	statement := "CREATE SCHEMA parley"
	if !s.here {
		statement = "CREATE DATABASE " + s.Name
	}
	err := run(ctx, s.server, statement)
	switch {
	case s.here && is(err, "42P06"):
		err = ErrSchemaThere
	case !s.here && is(err, "42501", "0A000"):
		err = fmt.Errorf("%w: %w", ErrMayNotCreate, err)
	}
	s.Made = err == nil
	return err
}

// open opens the place as a store.
func (s *Scratch) open(ctx context.Context) (*postgres.Store, error) {
	return postgres.Open(ctx, s.address, &postgres.Options{AllowAsyncCommit: true})
}

// empty removes all rows. No store may be open. It uses statements that each engine executes
// quickly: some take seconds to truncate a table.
func (s *Scratch) empty(ctx context.Context) error {
	address, err := inDatabase(s.address, "", true)
	if err != nil {
		return err
	}
	c, err := connect(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	rows, err := c.Query(ctx, "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = 'parley' AND tablename <> 'schema'")
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		sql := "DELETE FROM parley." + pgx.Identifier{table}.Sanitize()
		for n := 0; ; n++ {
			if _, err = c.Exec(ctx, sql); !is(err, "40001", "40P01") || n == 9 { // a conflict with transactions that a store left behind
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes what Make made.
func (s *Scratch) Remove(ctx context.Context) error {
	if !s.Made {
		return nil
	}
	var err error
	if s.here {
		err = run(ctx, s.server, "DROP SCHEMA parley CASCADE")
	} else {
		err = run(ctx, s.server, "DROP DATABASE "+s.Name+" WITH (FORCE)") // a connection may still be closing
		if is(err, "0A000", "42601") {
			err = run(ctx, s.server, "DROP DATABASE "+s.Name)
		}
	}
	s.Made = err != nil
	return err
}

// run runs a statement that must not be in a transaction.
func run(ctx context.Context, address, sql string) error {
	c, err := connect(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	_, err = c.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return pgx.Connect(ctx, address)
}

// is reports whether an error comes from the server and has one of these codes.
func is(err error, codes ...string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains(codes, pg.Code)
}
