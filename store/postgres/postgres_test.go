package postgres

import (
	"fmt"
	"os"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var _ store.Store = (*Store)(nil)

// cluster is the server of all tests here that do not end theirs; nil if there is
// none on this machine.
var cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if pgtest.Available() == nil {
			var err error
			if cluster, err = pgtest.Make(nil); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer cluster.Close()
		}
		return m.Run()
	}())
}

// seen has what all tests with a store of fresh run.
var seen recorder

// fresh returns the Opener of an empty database.
func fresh(t testing.TB) storetest.Opener {
	t.Helper()
	pgtest.Require(t)
	address := cluster.Database(t)
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
func TestSuite(t *testing.T) { storetest.Run(t, fresh) }

func BenchmarkSuite(b *testing.B) { storetest.Benchmark(b, fresh) }
