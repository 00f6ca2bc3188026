package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var _ store.Store = (*Store)(nil)

// cluster is the server of all tests here that do not stop it; nil if this machine has no
// PostgreSQL.
var cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if pgtest.Available() == nil {
			var err error
			// Statistics are collected only when a test asks for them, and plans are not
			// compiled.
			if cluster, err = pgtest.Make(&pgtest.Options{TCP: true, Settings: map[string]string{"autovacuum": "off", "jit": "off"}}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer cluster.Close()
		}
		return m.Run()
	}())
}

// seen records what all tests with a fresh store run.
var seen recorder

// template is a database of the cluster with the schema and nothing else. Copying it is
// faster than creating the schema for each of hundreds of tests.
var template = sync.OnceValues(func() (string, error) {
	address, err := cluster.Create("")
	if err != nil {
		return "", err
	}
	s, err := Open(context.Background(), address, nil)
	if err != nil {
		return "", err
	}
	return nameOf(address), s.Close()
})

// nameOf returns the name of the database in an address.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // it is of pgtest
	}
	return strings.TrimPrefix(u.Path, "/")
}

// copied returns the address of a new database with the schema and nothing else.
func copied(t testing.TB) string {
	t.Helper()
	pgtest.Require(t)
	name, err := template()
	if err != nil {
		t.Fatal(err)
	}
	address, err := cluster.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// database is one with the schema and nothing else, and the connection that empties it. The
// connection stays open, because the server starts a process for each new one.
type database struct {
	address string
	c       *pgx.Conn
}

// left are emptied databases of tests that passed. Emptying one is much cheaper than copying
// one.
var left = make(chan database, 64)

// empty is like copied, for a test that leaves nothing but rows and closes its stores before it
// ends, because other tests may use its database before and after.
func empty(t testing.TB) (address string) {
	t.Helper()
	var d database
	select {
	case d = <-left:
	default:
		d.address = copied(t)
		d.c = cleaner(t, d.address)
	}
	t.Cleanup(func() {
		if !t.Failed() && clean(d.c) == nil {
			select {
			case left <- d:
				return
			default:
			}
		}
		d.c.Close(context.Background())
	})
	return d.address
}

// cleaner connects to a database for clean.
func cleaner(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), address+"&application_name=clean")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clean restores the state of template in the database of a connection.
func clean(c *pgx.Conn) error {
	_, err := c.Exec(context.Background(), `SET lock_timeout = '10s'; DO $$ BEGIN
		EXECUTE (SELECT coalesce('TRUNCATE ' || string_agg('parley.' || relname, ', '), 'SELECT') FROM pg_class
			WHERE relnamespace = 'parley'::regnamespace AND relkind = 'r' AND relname <> 'schema' AND pg_relation_size(oid) > 0);
		PERFORM setval('parley.' || sequencename, start_value, false) FROM pg_sequences WHERE schemaname = 'parley' AND last_value IS NOT NULL;
	END $$`)
	return err
}

// fresh returns the Opener of an empty store.
func fresh(t testing.TB) storetest.Opener {
	t.Helper()
	address := empty(t)
	if _, ok := t.(*testing.T); ok {
		address = seen.to(t, address)
	}
	return func(t testing.TB) store.Store {
		s, err := Open(t.Context(), address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestSuite runs the suite of all drivers.
func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Opener {
		t.(*testing.T).Parallel() // most of them wait for the server, and each has a database of its own
		return fresh(t)
	})
}

// Push configs are listed in the order of their appends, even if an earlier statement of the
// commit writes a later append, as with this seed.
func TestPushesOfTwoStatements(t *testing.T) {
	t.Parallel()
	storetest.Random(t, fresh(t), 1795791695252769056, 661)
}

func BenchmarkSuite(b *testing.B) { storetest.Benchmark(b, fresh) }
