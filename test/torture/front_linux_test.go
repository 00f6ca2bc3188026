package torture

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// front is a host with HAProxy, which leads to the primary, and with PgBouncer in
// transaction mode before it. HAProxy asks for each server whether it is the primary,
// as it asks Patroni; here whoever watches over the servers answers.
type front struct {
	*host
	primary  atomic.Pointer[member]
	programs [fronts]program
	restarts [fronts]int
}

// program is one of the two.
type program struct {
	name string
	port string
	args []string
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// The programs of a front.
const (
	haproxy = iota
	pgbouncer
	fronts
)

// newFront makes the host's programs, which end with the test.
func newFront(t *testing.T, n *network, at *host, a *ha) *front {
	t.Helper()
	f := &front{host: at}
	f.primary.Store(a.primary)
	dir, err := os.MkdirTemp("", "front")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var servers strings.Builder
	for _, m := range a.members {
		l, err := net.Listen("tcp", net.JoinHostPort(n.address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		says := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if f.primary.Load() != m {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})}
		go says.Serve(l) // ends with the test
		t.Cleanup(func() { says.Close() })
		host, port, _ := net.SplitHostPort(l.Addr().String())
		fmt.Fprintf(&servers, "  server %s %s check addr %s port %s\n", m.Name(), m.Address(), host, port)
	}
	config := map[string]string{
		"haproxy.cfg": "global\n  maxconn 1000\ndefaults\n  mode tcp\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\n  timeout check 1s\n" +
			"listen primary\n  bind " + at.address + ":5432\n  option httpchk GET /primary\n  http-check expect status 200\n" +
			"  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions\n" + servers.String(),
		"pgbouncer.ini": "[databases]\n" + a.name + " = host=" + at.address + " port=5432 user=parley\n" +
			"[pgbouncer]\nlisten_addr = " + at.address + "\nlisten_port = 6432\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n" +
			"max_client_conn = 500\ndefault_pool_size = 20\nserver_login_retry = 1\nserver_connect_timeout = 3\nignore_startup_parameters = extra_float_digits\n",
	}
	for name, text := range config {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.programs[haproxy] = program{name: "haproxy", port: "5432", args: []string{"-db", "-f", filepath.Join(dir, "haproxy.cfg")}}
	f.programs[pgbouncer] = program{name: "pgbouncer", port: "6432", args: []string{filepath.Join(dir, "pgbouncer.ini")}}
	if os.Getuid() == 0 { // as whom it does not run
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		f.programs[pgbouncer].args = append([]string{"-u", "nobody"}, f.programs[pgbouncer].args...)
	}
	t.Cleanup(func() { // after what they use
		for i := range f.programs {
			f.programs[i].kill()
		}
	})
	for i := range f.programs {
		if err := f.start(i); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// start starts one of the programs, and waits until it listens.
func (f *front) start(i int) error {
	p := &f.programs[i]
	path, err := exec.LookPath(p.name)
	if err != nil {
		path = "/usr/sbin/" + p.name
	}
	cmd := f.command(path, p.args...)
	over, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("%s, which Debian has a package of: %w", p.name, err)
	}
	p.cmd, p.over = cmd, over
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(readyWithin)
	defer tick.Stop()
	for {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(f.address, p.port), time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-over:
			return fmt.Errorf("%s ended: %v", p.name, cmd.ProcessState)
		case <-limit:
			return fmt.Errorf("%s does not listen: %w", p.name, err)
		}
	}
}

// launch starts a program that ends with the test, however that ends. over is closed
// when it has ended.
func launch(cmd *exec.Cmd) (over chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	over, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the program ends with the thread that started it
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
			close(over)
		}
	}()
	return over, <-started
}

func (p *program) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.over
	}
}

// restart ends one of the programs as kill -9 does, and starts it again.
func (f *front) restart(i int) error {
	f.restarts[i]++
	f.programs[i].kill()
	return f.start(i)
}

// url is the address of a database by way of PgBouncer; hints come by HAProxy alone.
func (f *front) url(name string) string {
	direct := "postgres://parley@" + f.address + ":5432/" + name + "?sslmode=disable"
	return "postgres://parley@" + f.address + ":6432/" + name + "?sslmode=disable&listen=" + url.QueryEscape(direct)
}
