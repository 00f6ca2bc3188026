package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// ha is a PostgreSQL server with two standbys, each on a host of its own, and what
// watches over them, as Patroni does: when the primary is gone it promotes the standby
// that has most of its log, and makes the old primary a standby of the new one.
type ha struct {
	members []*member
	primary *member
	name    string // of the database
	front   *front // what servers reach the primary through; nil: they look for it
}

// member is one server.
type member struct {
	*pgtest.Cluster
	*host
}

// newHA starts it. Without synchronous replication a commit waits for no standby. The
// clock of each server is ahead of that of the one before it by skew.
func newHA(t *testing.T, hosts []*host, synchronous bool, skew time.Duration) *ha {
	t.Helper()
	pgtest.Require(t)
	names := make([]string, len(hosts))
	for i := range hosts {
		names[i] = fmt.Sprintf("h%d", i+1)
	}
	settings := map[string]string{
		"wal_log_hints": "on", "wal_keep_size": "128MB", "max_wal_size": "128MB", "wal_retrieve_retry_interval": "'100ms'", "authentication_timeout": "5s",
		"wal_receiver_timeout": "5s", "wal_sender_timeout": "5s",
	}
	if synchronous {
		settings["synchronous_standby_names"] = "'ANY 1 (" + strings.Join(names, ", ") + ")'"
	}
	of := func(i int) *pgtest.Options {
		o := &pgtest.Options{Durable: true, Host: hosts[i].address, Space: hosts[i].path(), Name: names[i], Settings: settings}
		if skew != 0 {
			o.Env = []string{
				"LD_PRELOAD=" + fakeTime(t), "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
				fmt.Sprintf("FAKETIME=%+.3f", (time.Duration(i-1) * skew).Seconds()),
			}
		}
		return o
	}
	a := &ha{name: "parley"}
	t.Cleanup(func() {
		for _, m := range a.members {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	first, err := pgtest.Make(of(0))
	if err != nil {
		t.Fatal(err)
	}
	a.members = append(a.members, &member{first, hosts[0]})
	a.primary = a.members[0]
	for i := 1; i < len(hosts); i++ {
		c, err := first.Standby(of(i))
		if err != nil {
			t.Fatal(err)
		}
		a.members = append(a.members, &member{c, hosts[i]})
	}
	if err := a.whole(); err != nil {
		t.Fatal(err)
	}
	if err := first.Exec("CREATE DATABASE " + a.name); err != nil {
		t.Fatal(err)
	}
	return a
}

// fakeTime is the library that changes the clock of a program.
func fakeTime(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("FAKETIME_LIBRARY"); path != "" {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if len(found) == 0 {
		t.Fatal("no libfaketime here, which Debian has a package of; FAKETIME_LIBRARY says where it is elsewhere")
	}
	return found[0]
}

// url is the address of the database, whichever of the servers is the primary.
func (a *ha) url() string {
	if a.front != nil {
		return a.front.url(a.name)
	}
	var all []string
	for _, m := range a.members {
		all = append(all, m.Address())
	}
	return "postgres://parley@" + strings.Join(all, ",") + "/" + a.name + "?sslmode=disable&target_session_attrs=read-write"
}

// standbys are the others.
func (a *ha) standbys() []*member {
	return slices.DeleteFunc(slices.Clone(a.members), func(m *member) bool { return m == a.primary })
}

// whole waits until all standbys follow the primary.
func (a *ha) whole() error {
	return a.primary.Await("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", fmt.Sprint(len(a.members)-1))
}

// failover makes the standby the primary that has most of the log. First none takes
// anything more from the old primary, so that what is acknowledged from then on by one
// that lives is what one of them has. All must be there: with one standby away, the one
// left may lack what only the other has. It returns how much that is, in bytes.
func (a *ha) failover() (had int64, err error) {
	for _, m := range a.standbys() {
		if err := m.Follow(nil); err != nil {
			return 0, err
		}
	}
	var best *member
	most := int64(-1)
	for _, m := range a.standbys() {
		n, err := m.Received()
		if err != nil {
			return 0, err
		}
		if n > most {
			best, most = m, n
		}
	}
	return most, a.promote(best)
}

// promote makes a standby the primary, and the other one its standby.
func (a *ha) promote(m *member) error {
	old := a.primary
	if err := m.Promote(); err != nil {
		return err
	}
	a.primary = m
	if a.front != nil {
		a.front.primary.Store(m)
	}
	for _, s := range a.standbys() {
		if s == old {
			continue
		}
		if err := s.Follow(m.Cluster); err != nil {
			return err
		}
	}
	return nil
}

// rejoin makes what was the primary a standby, and waits until all is well.
func (a *ha) rejoin(old *member) (rewound bool, err error) {
	if old.Runs() {
		if err := errors.Join(old.Resume(), old.Stop(pgtest.Immediate)); err != nil {
			return false, err
		}
	}
	if rewound, err = old.Rejoin(a.primary.Cluster); err != nil {
		return false, err
	}
	return rewound, a.whole()
}
