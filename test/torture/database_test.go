package torture

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// Kill ends the first process before its children, of which it would otherwise
// start new ones, and waits until all of them are gone. It is stopped before they are
// listed: one that it starts meanwhile would survive, wait forever for a lock of one
// that was killed, and keep the database from starting again.
func (d *database) Kill() error {
	first, err := d.PID()
	if err != nil {
		return err
	}
	if p, err := os.FindProcess(first); err == nil && freeze(p) == nil {
		for limit := time.Now().Add(readyWithin); ; time.Sleep(time.Millisecond) {
			if state, _ := statusOf(first); state == "T" || state == "" || state == "Z" || time.Now().After(limit) {
				break
			}
		}
	}
	children := childrenOf(first)
	for _, pid := range append([]int{first}, children...) {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	for limit := time.Now().Add(readyWithin); slices.ContainsFunc(children, lives); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return errors.New("processes of PostgreSQL survived kill -9")
		}
	}
	return d.Cluster.Stop(pgtest.Immediate) // which finds it gone
}

func lives(pid int) bool {
	state, _ := statusOf(pid)
	return state != "" && state != "Z"
}

// childrenOf returns the processes that a process has started.
func childrenOf(parent int) (all []int) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range found {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if _, of := statusOf(pid); of == parent {
			all = append(all, pid)
		}
	}
	return all
}

// statusOf returns what a process is doing, by its letter, and its parent; "" if
// there is none.
func statusOf(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// Behind the name, which may have anything in it.
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(words) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(words[1])
	return words[0], parent
}
