package pgtest

import (
	"net"
	"os"
	"testing"
)

func TestCluster(t *testing.T) {
	c := New(t, &Options{Durable: true})
	if url := c.Database(t); url != c.URL("d1") {
		t.Errorf("the first database is %s", url)
	}
	for _, mode := range []string{Fast, Immediate} {
		if err := c.Stop(mode); err != nil {
			t.Fatal(err)
		}
		if err := c.Exec("SELECT 1"); err == nil {
			t.Errorf("a server stopped by %s answers", mode)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create("d1"); err != nil {
		t.Error(err)
	}
	if err := c.Start(); err == nil {
		t.Error("a server that runs was started")
	}
	if pid, err := c.PID(); err != nil || pid == 0 {
		t.Errorf("PID: %d, %v", pid, err)
	}
}

func TestAddress(t *testing.T) {
	c := New(t, &Options{TCP: true})
	conn, err := net.Dial("tcp", c.Address())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := os.Stat(c.Socket()); err != nil {
		t.Error(err)
	}
	if err := c.Exec("SELECT 1"); err != nil {
		t.Error(err)
	}
}
