package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// governed are three PostgreSQL servers that Patroni watches over, on a host each, and
// an etcd that tells the Patronis who leads: all that decides which is the primary.
type governed struct {
	hosts []*host
	dir   string
	http  http.Client
}

// patroniYAML is what Patroni's own documents propose, but that it notices more quickly
// that a primary is gone: ttl is the least that it takes.
const patroniYAML = `scope: parley
name: %[1]s
restapi: {listen: "%[2]s:8008", connect_address: "%[2]s:8008"}
etcd3: {hosts: "%[3]s:2379"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, use_slots: true, parameters: {max_connections: 200, wal_log_hints: "on"}}
  initdb: [{encoding: UTF8}, {locale: C}]
postgresql:
  listen: "%[2]s:5432"
  connect_address: "%[2]s:5432"
  data_dir: %[4]s/%[1]s
  bin_dir: %[5]s
  pgpass: %[4]s/%[1]s.pgpass
  pg_hba: ["local all all trust", "host all all samenet trust", "host replication all samenet trust"]
  parameters: {unix_socket_directories: ''}
  authentication: {superuser: {username: parley, password: p}, replication: {username: standby, password: p}}
`

// newGoverned starts them, and waits until two standbys follow.
func newGoverned(t *testing.T, n *network, hosts []*host) *governed {
	t.Helper()
	if hosts[0].space == "" {
		t.Fatal("-patroni is for root, and for machines with iproute2: each server needs a network of its own")
	}
	dir, err := os.MkdirTemp("", "ha")
	if err != nil {
		t.Fatal(err)
	}
	g := &governed{hosts: hosts, dir: dir, http: http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin, err := exec.Command("pg_config", "--bindir").Output()
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		if len(found) == 0 {
			t.Fatal("no programs of PostgreSQL in /usr/lib/postgresql")
		}
		bin = []byte(found[len(found)-1])
	}
	if err := exec.Command("chown", "postgres", dir).Run(); err != nil {
		t.Fatal(err)
	}
	url := "http://" + n.address + ":2379"
	etcd := exec.Command("etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", "http://"+n.address+":2380", "--log-level", "error")
	over, err := launch(etcd)
	if err != nil {
		t.Fatalf("etcd, which Debian has in etcd-server: %v", err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill() // it may have ended
		<-over
	})
	t.Cleanup(func() { // after what they use
		for i := range g.hosts {
			g.kill(i)
		}
	})
	for i, h := range hosts {
		if err := os.WriteFile(g.file(i, "yml"), fmt.Appendf(nil, patroniYAML, g.name(i), h.address, n.address, dir, bytes.TrimSpace(bin)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := g.start(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.whole(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *governed) name(i int) string { return "h" + strconv.Itoa(i+1) }

func (g *governed) file(i int, kind string) string { return filepath.Join(g.dir, g.name(i)+"."+kind) }

// start starts a host's Patroni, which starts its PostgreSQL.
func (g *governed) start(i int) error {
	log, err := os.OpenFile(g.file(i, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := g.hosts[i].command("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "patroni", g.file(i, "yml"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.dir, log, log
	if _, err := launch(cmd); err != nil {
		return fmt.Errorf("patroni, which Debian has a package of: %w", err)
	}
	return nil
}

// kill ends all that runs on a host, as the loss of its power does.
func (g *governed) kill(i int) {
	for range 3 { // one that is being started may not be seen at first
		running, _ := exec.Command("ip", "netns", "pids", g.hosts[i].space).Output()
		for pid := range strings.FieldsSeq(string(running)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// leads is which host has the primary, so far as the Patronis know, and how many
// standbys follow it; -1: none.
func (g *governed) leads(ctx context.Context) (leader, standbys int) {
	for i := range g.hosts {
		var said struct {
			Members []struct {
				Name, Role, State string
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.hosts[i].address+":8008/cluster", nil)
		if err != nil {
			return -1, 0
		}
		res, err := g.http.Do(req)
		if err != nil {
			continue
		}
		err = json.NewDecoder(res.Body).Decode(&said)
		res.Body.Close()
		if err != nil {
			continue
		}
		leader = -1
		for _, m := range said.Members {
			switch {
			case m.Role == "leader" && m.State == "running":
				leader, _ = strconv.Atoi(m.Name[1:])
				leader--
			case m.Role != "leader" && m.State == "running":
				standbys++
			}
		}
		return leader, standbys
	}
	return -1, 0
}

// whole waits until another than one leads, and two follow it.
func (g *governed) whole(ctx context.Context, not string) (leader int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errTooLong) // the old primary is rewound
	defer cancel()
	for ctx.Err() == nil {
		i, standbys := g.leads(ctx)
		if i >= 0 && g.name(i) != not && standbys == len(g.hosts)-1 {
			return i, nil
		}
		pause(ctx, 200*time.Millisecond)
	}
	var logs strings.Builder
	for i := range g.hosts {
		text, _ := os.ReadFile(g.file(i, "log")) // there is none before it starts
		fmt.Fprintf(&logs, "\n%s: %s", g.name(i), text[max(0, len(text)-1500):])
	}
	return -1, fmt.Errorf("Patroni: %w%s", context.Cause(ctx), logs.String())
}

// url is the address of the database, whichever server is the primary.
func (g *governed) url() string {
	var all []string
	for _, h := range g.hosts {
		all = append(all, h.address+":5432")
	}
	return "postgres://parley@" + strings.Join(all, ",") + "/postgres?sslmode=disable&target_session_attrs=read-write"
}

// roundsOfPatroni have primaries end as by a loss of power, or cut off, and let Patroni
// choose another.
func (f *failing) roundsOfPatroni(ctx context.Context) error {
	g := f.governed
	f.rng = rand.New(rand.NewPCG(f.o.Seed, 11))
	for n := range f.o.Rounds {
		if err := f.live(ctx, ms(1000+f.rng.IntN(2000))); err != nil {
			return err
		}
		old, _ := g.leads(ctx)
		if old < 0 {
			return errors.New("nobody leads")
		}
		how := []ending{primaryKilled, primaryBack}[n%2]
		f.ends[how]++
		f.w.note("failover %d: primary %s %s", n+1, g.name(old), endingNames[how])
		began := time.Now()
		if how == primaryKilled {
			g.kill(old)
		} else if err := g.hosts[old].cut(true); err != nil {
			return err
		}
		leader := -1
		if err := f.until(ctx, 2*servedWithin, func() bool {
			leader, _ = g.leads(ctx)
			return leader >= 0 && leader != old
		}); err != nil {
			return fmt.Errorf("nobody else leads: %w", err)
		}
		promoted := time.Now()
		f.w.note("Patroni made %s the primary after %v", g.name(leader), promoted.Sub(began))
		if err := f.served(ctx, n, nil); err != nil {
			return err
		}
		f.took[0], f.took[1] = append(f.took[0], time.Since(began)), append(f.took[1], time.Since(promoted))
		if how == primaryBack {
			if err := g.hosts[old].cut(false); err != nil {
				return err
			}
		} else if err := g.start(old); err != nil {
			return err
		}
		if _, err := g.whole(ctx, g.name(old)); err != nil {
			return err
		}
	}
	return nil
}
