package postgres

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// pooler starts pgbouncer in transaction mode in front of the cluster of all tests and
// returns its address. Without that program the test is skipped, even in CI, because it is
// not a part of PostgreSQL.
func pooler(t *testing.T) string {
	pgtest.Require(t)
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; exec.Command(program, "--version").Run() != nil {
			t.Skip("no pgbouncer here")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	config := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=parley\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\n"+
		"pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 4\nignore_startup_parameters = extra_float_digits\n", filepath.Dir(cluster.Socket()), strings.TrimPrefix(filepath.Base(cluster.Socket()), ".s.PGSQL."), port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{config}
	if os.Getuid() == 0 { // it does not run as root
		who := "nobody" // this user runs the server, too: its socket is in a folder of theirs
		if _, err := user.Lookup("postgres"); err == nil {
			who = "postgres"
		}
		args = append([]string{"-u", who}, args...)
		for dir := filepath.Dir(config); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	var log strings.Builder
	cmd := exec.Command(program, args...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(log.String())
		}
	})
	eventually(t, "the pooler listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return address
}

// TestThroughAPooler: all share four connections to the server, and none keeps one longer
// than a transaction. Hints use a direct connection.
func TestThroughAPooler(t *testing.T) {
	address := pooler(t)
	storetest.Main(t, func(t testing.TB) storetest.Opener {
		direct := empty(t)
		through := cluster.Via(address, nameOf(direct)) + "&listen=" + url.QueryEscape(direct)
		return func(t testing.TB) store.Store { return mustOpen(t, through, nil) }
	})
}

// TestDirect: statements have names only if no pooler is in between.
func TestDirect(t *testing.T) {
	ask := func(t *testing.T, st *Store) bool {
		t.Helper()
		c, err := st.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		is, err := direct(t.Context(), c.Conn())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := direct(t.Context(), c.Conn()); again != is || err != nil {
			t.Errorf("asked again: %v %v", again, err)
		}
		return is
	}
	t.Run("server", func(t *testing.T) {
		pgtest.Require(t)
		st := mustOpen(t, cluster.Database(t), nil)
		if !ask(t, st) {
			t.Error("a connection to the server is taken for one to a pooler")
		}
	})
	t.Run("pooler", func(t *testing.T) {
		address := pooler(t)
		st := mustOpen(t, cluster.Via(address, nameOf(cluster.Database(t))), &Options{NoListen: true})
		if ask(t, st) {
			t.Error("a connection to a pooler is taken for one to the server")
		}
	})
}
