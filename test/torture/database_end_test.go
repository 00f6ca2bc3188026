//go:build unix

package torture

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// TestDatabaseEndsInEachWay: the driver can end PostgreSQL in each of its ways and
// start it again, and what was committed is there.
func TestDatabaseEndsInEachWay(t *testing.T) {
	d := newDatabase(t)
	if err := d.Exec("DROP TABLE IF EXISTS ends; CREATE TABLE ends (way text)"); err != nil {
		t.Fatal(err)
	}
	for way, end := range map[string]func() error{
		"fast":      func() error { return d.Stop(false) },
		"immediate": func() error { return d.Stop(true) },
		"kill -9":   d.Kill,
	} {
		if err := d.Exec("INSERT INTO ends VALUES ('" + way + "')"); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if c, err := d.Dial(); err == nil {
			c.Close()
			t.Errorf("%s: somebody listens", way)
		}
		if err := d.Start(); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
	}
	if err := d.Exec("SELECT 1/(count(*) - 2) + 1/(count(*) / 3) FROM ends"); err != nil {
		t.Errorf("what was committed is not there: %v", err)
	}
}

// TestDatabaseEndsWithSilentClients: who connects while PostgreSQL ends and says
// nothing holds it up for a moment, not for the minute after which the driver
// gives up.
func TestDatabaseEndsWithSilentClients(t *testing.T) {
	d := newDatabase(t)
	first, err := d.PID()
	if err != nil {
		t.Fatal(err)
	}
	// While its checkpointer stands still it does not come to its end.
	before := pgtest.Children(first)
	still := slices.IndexFunc(before, func(pid int) bool {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return strings.Contains(string(title), "checkpointer")
	})
	if still < 0 {
		t.Fatal("no checkpointer")
	}
	checkpointer, err := os.FindProcess(before[still])
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpointer.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- d.Stop(false) }()
	held := false
	for limit := time.Now().Add(readyWithin); !held && time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		c, err := d.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// A child for it, and none that is as before, but the checkpointer.
		now := pgtest.Children(first)
		held = slices.ContainsFunc(now, func(pid int) bool { return !slices.Contains(before, pid) && pgtest.Lives(pid) }) &&
			!slices.ContainsFunc(before, func(pid int) bool { return pid != checkpointer.Pid && pgtest.Lives(pid) })
	}
	if err := checkpointer.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 40*time.Second || !held {
		t.Errorf("it took %v; a silent client was there: %v", took, held)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
}
