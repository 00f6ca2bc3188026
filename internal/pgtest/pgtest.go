// Package pgtest starts throw-away PostgreSQL servers for tests: a cluster in its own
// directory, reached over a socket there, which is removed after the test.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ErrMissing says that there is no PostgreSQL server on this machine.
var ErrMissing = errors.New("no PostgreSQL server here: neither PATH nor /usr/lib/postgresql has initdb and postgres")

// Options describes a cluster. A nil *Options means all defaults.
type Options struct {
	// Durable makes commits wait for the disk, as in production. Without it, tests that do
	// not kill the server are faster.
	Durable bool
	// TCP makes the server also listen on 127.0.0.1, see Address.
	TCP bool
	// Host is the address to listen on in place of 127.0.0.1. Other hosts of its network may
	// connect to the server and copy it.
	Host string
	// Space is the path of the network namespace in which the server runs. Empty: the
	// namespace of the test. It requires Linux and root.
	Space string
	// Name is the server's name. A standby tells it to its primary.
	Name string
	// Settings are added to the server's configuration, by name.
	Settings map[string]string
	// Env is added to the server's environment.
	Env []string
}

// Cluster is an empty PostgreSQL server. Only one goroutine at a time may call Start and
// Stop.
type Cluster struct {
	bin  string // directory of the programs
	dir  string
	user *owner // user that runs the server, if not the one that runs the test
	o    Options
	port int
	made atomic.Int64
	copy string   // option of CREATE DATABASE that says how to copy
	on   *process // nil while it is stopped
}

// Available returns nil if there is a PostgreSQL server on this machine, or
// ErrMissing.
func Available() error {
	_, err := programs()
	return err
}

// Require skips a test on a machine without a PostgreSQL server. With CI=true it fails the
// test instead.
func Require(t testing.TB) {
	t.Helper()
	err := Available()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// New starts a cluster that ends with the test. Without a PostgreSQL server it skips the
// test, see Require.
func New(t testing.TB, o *Options) *Cluster {
	t.Helper()
	Require(t)
	c, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Make is New without a test, for TestMain. Close ends it.
func Make(o *Options) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	user, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short, because the socket's path is limited to 107 bytes
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir, user: user, port: 5432, o: *o}
	err = c.place()
	if err == nil {
		err = c.prepare(o)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return c, nil
}

// place prepares the server's directory and chooses its port.
func (c *Cluster) place() (err error) {
	if c.o.TCP && c.o.Host == "" {
		c.o.Host = "127.0.0.1"
	}
	if c.o.Host != "" && c.o.Space == "" { // otherwise it is alone at its address
		if c.port, err = freePort(c.o.Host); err != nil {
			return err
		}
	}
	return c.user.give(c.dir)
}

// own returns the settings that are the server's own and not those of a copy.
func (c *Cluster) own() []string {
	return []string{
		"-c", "listen_addresses=" + c.o.Host, "-c", "port=" + strconv.Itoa(c.port),
		"-c", "unix_socket_directories=" + c.dir, "-c", "cluster_name=" + c.o.Name,
	}
}

func (c *Cluster) prepare(o *Options) error {
	if err := c.run("initdb", "-D", c.data(), "-U", "parley", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"); err != nil {
		return err
	}
	settings := map[string]string{
		"max_connections": "200",
		"shared_buffers":  "64MB",
	}
	if !o.Durable {
		settings["parley.allow_async_commit"] = "on" // otherwise a Parley server would not start
		settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"] = "off", "off", "off"
		if version(c.bin) >= 15 { // older versions have no other way
			c.copy = " STRATEGY FILE_COPY" // the fastest way if checkpoints cost nothing
		}
	}
	maps.Copy(settings, o.Settings)
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = %s\n", name, settings[name])
	}
	if err := c.adds("postgresql.conf", text.String()); err != nil {
		return err
	}
	if o.Host != "" {
		if err := c.adds("pg_hba.conf", "host all all samenet trust\nhost replication all samenet trust\n"); err != nil {
			return err
		}
	}
	return c.Start()
}

// adds appends text to a file of the server.
func (c *Cluster) adds(name, text string) error {
	f, err := os.OpenFile(filepath.Join(c.data(), name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Log returns the server's log.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log")) // empty before the first start
	return string(text)
}

// PID returns the process id of the server's first process.
func (c *Cluster) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// Close ends the server, if it runs, and removes its directory.
func (c *Cluster) Close() error {
	var err error
	if c.on != nil {
		err = c.Stop(Immediate)
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// Socket returns the path of the server's socket.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL."+strconv.Itoa(c.port)) }

// URL returns the address of a database of the cluster.
func (c *Cluster) URL(database string) string {
	q := url.Values{"host": {c.dir}}
	if c.port != 5432 {
		q.Set("port", strconv.Itoa(c.port))
	}
	return "postgres://parley@/" + database + "?" + q.Encode()
}

// Address returns the address on which the server listens with Options.TCP or Host.
func (c *Cluster) Address() string { return net.JoinHostPort(c.o.Host, strconv.Itoa(c.port)) }

// Via is URL over another address: Address, or that of a proxy to it.
func (c *Cluster) Via(address, database string) string {
	return "postgres://parley@" + address + "/" + database + "?sslmode=disable"
}

// freePort returns an unused port. It is below the ports that the system assigns by itself,
// so that it is still free after a restart of the server.
func freePort(host string) (int, error) {
	var last error
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, last
}

// Database creates an empty database and returns its address.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	address, err := c.Create("")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Create creates a database, as a copy of another one of the cluster if template is not
// empty, and returns its address.
func (c *Cluster) Create(template string) (string, error) {
	name := "d" + strconv.FormatInt(c.made.Add(1), 10)
	sql := "CREATE DATABASE " + name + c.copy
	if template != "" {
		sql += " TEMPLATE " + template
	}
	return c.URL(name), c.Exec(sql)
}

// Exec runs a statement as the cluster's superuser, in its database postgres.
func (c *Cluster) Exec(sql string) error {
	_, err := c.Ask(sql)
	return err
}

// Ask is Exec for a statement that returns a value.
func (c *Cluster) Ask(sql string) (string, error) {
	return c.output("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", c.dir, "-p", strconv.Itoa(c.port), "-U", "parley", "-d", "postgres", "-c", sql)
}

// run runs one of PostgreSQL's programs.
func (c *Cluster) run(program string, args ...string) error {
	_, err := c.output(program, args...)
	return err
}

func (c *Cluster) output(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	text, err := c.command(ctx, program, args...).CombinedOutput()
	if text = bytes.TrimSpace(text); err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, text)
	}
	return string(text), nil
}

func (c *Cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + c.dir}
	c.user.become(cmd)
	return cmd
}

// programs returns the directory of a PostgreSQL server's programs, of the newest version.
func programs() (string, error) {
	all := []string{"initdb", "postgres", "psql"}
	has := func(dir string) bool {
		return !slices.ContainsFunc(all, func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err != nil
		})
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); found != nil {
		slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
		for _, dir := range found {
			if has(dir) {
				return dir, nil
			}
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && has(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	return "", ErrMissing
}

// version returns the version number in the path of a directory of programs.
func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // 0 if there is none
	return n
}
