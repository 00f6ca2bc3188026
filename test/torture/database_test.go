package torture

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// cluster is the PostgreSQL server of these tests, whose commits wait for the disk.
// It is made for the first test that asks for it, and TestMain ends it.
var cluster = sync.OnceValues(func() (*pgtest.Cluster, error) {
	c, err := pgtest.Make(&pgtest.Options{Durable: true, Settings: map[string]string{
		// A server that ends waits this long for silent clients: a replica stopped
		// in its tracks, or one whose line went dark.
		"authentication_timeout": "5s",
	}})
	if err == nil {
		endCluster = c.Close
	}
	return c, err
})

var endCluster = func() error { return nil }

// database is a database of the cluster, for replicas.
type database struct {
	*pgtest.Cluster
	name string
	more string // parameters of its address
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	pgtest.Require(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	if !c.Runs() { // a test before this one failed while it was away
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	d := &database{Cluster: c}
	url := c.Database(t)
	d.name = strings.TrimPrefix(url[:strings.IndexByte(url, '?')], "postgres://parley@/")
	return d
}

// by is the address of the database for clients that reach it over TCP.
func (d *database) by(addr string) string {
	return "postgres://parley@" + addr + "/" + d.name + "?sslmode=disable" + d.more
}

func (d *database) Dial() (net.Conn, error) { return net.Dial("unix", d.Socket()) }

func (d *database) Stop(hard bool) error {
	if hard {
		return d.Cluster.Stop(pgtest.Immediate)
	}
	return d.Cluster.Stop(pgtest.Fast)
}
