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

// A standby follows its primary and takes its place; the former primary then follows it.
func TestStandby(t *testing.T) {
	first := New(t, &Options{Durable: true, Host: "127.0.0.1", Name: "a", Settings: map[string]string{"wal_log_hints": "on", "wal_keep_size": "64MB", "wal_retrieve_retry_interval": "'100ms'", "synchronous_standby_names": "'ANY 1 (a, b)'", "synchronous_commit": "local"}})
	second, err := first.Standby(&Options{Host: "127.0.0.1", Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	if err := first.Exec("SET synchronous_commit = on; CREATE TABLE seen (n int)"); err != nil {
		t.Fatal(err)
	}
	if err := second.Follow(nil); err != nil {
		t.Fatal(err)
	}
	if err := first.Exec("INSERT INTO seen VALUES (1)"); err != nil { // which is not replicated
		t.Fatal(err)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if n, err := second.Received(); err != nil || n == 0 {
		t.Errorf("received: %d, %v", n, err)
	}
	if err := second.Promote(); err != nil {
		t.Fatal(err)
	}
	if rewound, err := first.Rejoin(second); err != nil || !rewound {
		t.Fatalf("rewound: %v, %v", rewound, err)
	}
	if err := second.Exec("SET synchronous_commit = remote_apply; INSERT INTO seen VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	if got, err := first.Ask("SELECT string_agg(n::text, ',') FROM seen"); err != nil || got != "2" {
		t.Errorf("%q, %v", got, err)
	}
}
