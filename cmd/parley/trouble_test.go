//go:build unix

package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestFullDisk: to a program, a limit on the size of files is a full disk. The
// sender learns that its message was not taken, the operator learns why, and
// everything acknowledged before is there when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	s := k.serve(t, "ulimit -f 800") // of 512 bytes or 1 KiB, by the shell
	big := strings.Repeat("0123456789abcde ", 4000)
	var kept []string
	for {
		call := k.start(t, "", "send", "-a", s.addr, "echo "+big)
		full := s.awaits(&s.err, `the store does not take writes`)
		select {
		case <-call.ended:
			if call.exit() != 0 {
				t.Fatalf("it failed without a word in the log: %s", call.err.String())
			}
			kept = append(kept, taskID.FindStringSubmatch(call.out.String())[1])
			continue
		case <-full:
		}
		wantUnready(t, s, `^the disk is full: tasks cannot be stored$`)
		// Of the message it can go either way, but it says which.
		if code := call.exit(); code != 1 || !strings.Contains(call.err.String(), "PARLEY_ERR_UNAVAILABLE: ") {
			t.Errorf("it exited with %d: %s", code, call.err.String())
		}
		break
	}
	if len(kept) == 0 {
		t.Fatal("nothing was kept")
	}
	for _, id := range kept {
		wantTask(t, s, id, big) // what is stored can be read
	}
	s.tell(syscall.SIGTERM)
	s.exit()

	s = k.serve(t, "")
	for _, id := range kept {
		wantTask(t, s, id, big)
	}
	if out, errs, code := k.run(t, "send", "-a", s.addr, "echo "+big); code != 0 {
		t.Errorf("with room again, %d: %.200s%s", code, out, errs)
	}
}

// TestFullDiskAtStart: the server says so, and not that it is there.
func TestFullDiskAtStart(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	for limit, end := range map[string]syscall.Signal{
		"ulimit -f 200": syscall.SIGKILL, // what the log has is beyond the limit, and is appended to
		"ulimit -f 8":   syscall.SIGTERM, // the files that SQLite makes anew are
	} {
		s := k.serve(t, "")
		for range 5 {
			if out, errs, code := k.run(t, "send", "-a", s.addr, "echo "+strings.Repeat("0123456789abcde ", 4000)); code != 0 {
				t.Fatalf("%d: %.200s%s", code, out, errs)
			}
		}
		s.tell(end)
		s.exit()
		p := k.start(t, limit, "serve", "--listen", "127.0.0.1:0", "--data", "data")
		code, out, errs := p.exit(), p.out.String(), p.err.String()
		if code != 1 || out != "" || !strings.Contains(errs, "Hint: make room where data/parley.db is") || strings.Contains(errs, "stopped") {
			t.Errorf("after %v, with %s, it exited with %d: %s%s", end, limit, code, out, errs)
		}
	}
	k.serve(t, "")
}

// TestLockedDatabase: somebody works on the file with another program. The
// server says so and waits, and who sent meanwhile gets an answer.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	s := k.serve(t, "")
	s.awaitReadiness(http.StatusOK, "^ok$") // or it does not start
	unlock := lockDatabase(t, k)
	call := k.start(t, "", "send", "-a", s.addr, "echo patience")
	s.await(&s.err, `level=ERROR msg="the store does not take writes"`)
	wantUnready(t, s, `^the database is locked by another program$`)
	unlock()
	if code := call.exit(); code != 0 || !strings.Contains(call.out.String(), "TASK_STATE_COMPLETED") {
		t.Errorf("it exited with %d:\n%s%s", code, call.out.String(), call.err.String())
	}
	s.await(&s.err, `level=INFO msg="the store takes writes again"`)
	s.awaitReadiness(http.StatusOK, "^ok$")
}

// TestLockedAtStart: the same before the server was there.
func TestLockedAtStart(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	s := k.serve(t, "")
	s.tell(syscall.SIGTERM)
	s.exit()
	unlock := lockDatabase(t, k)
	_, errs, code := k.run(t, "serve", "--listen", "127.0.0.1:0", "--data", "data")
	if code != 1 || !strings.Contains(errs, "Hint: another program, such as sqlite3, has data/parley.db locked: end it") {
		t.Errorf("it exited with %d: %s", code, errs)
	}
	unlock()
	k.serve(t, "")
}

// TestReadOnlyDatabase: neither the file nor its directory may be written.
func TestReadOnlyDatabase(t *testing.T) {
	// root may write everything, unless it gives up just that.
	mortal := ""
	if os.Geteuid() == 0 {
		const drop = "setpriv --bounding-set=-dac_override,-dac_read_search"
		if err := exec.Command("sh", "-c", drop+" true").Run(); err != nil {
			t.Skip("root may write everything, and there is no setpriv: ", err)
		}
		mortal = "exec " + drop + ` "$0" "$@"`
	}
	k := newTools(t)
	s := k.serve(t, "")
	s.tell(syscall.SIGTERM)
	s.exit()
	dir := filepath.Join(k.dir, "data")
	for name, mode := range map[string]os.FileMode{dir: 0o500, filepath.Join(dir, "parley.db"): 0o400} {
		old, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		p := k.start(t, mortal, "serve", "--listen", "127.0.0.1:0", "--data", "data")
		code, errs := p.exit(), p.err.String()
		if code != 1 || !strings.Contains(errs, "Hint: data/parley.db and its directory must be writable: ") {
			t.Errorf("with %s of mode %o it exited with %d: %s", filepath.Base(name), mode, code, errs)
		}
		if err := os.Chmod(name, old.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	k.serve(t, "")
}

// lockDatabase locks the database as another program would.
func lockDatabase(t *testing.T, k tools) (unlock func()) {
	t.Helper()
	c, err := sqlite3.Open(filepath.Join(k.dir, "data", "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.BusyTimeout(patience), c.Exec("BEGIN IMMEDIATE")); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := c.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func wantUnready(t *testing.T, s *process, reason string) {
	t.Helper()
	if status, got := s.readiness(); status != http.StatusServiceUnavailable || !regexp.MustCompile(reason).MatchString(got) {
		t.Errorf("readiness: %d %s", status, got)
	}
}

// wantTask checks that a task is there, with its artifact.
func wantTask(t *testing.T, s *process, id, text string) {
	t.Helper()
	out, errs, code := s.run(t, "task", "get", "-a", s.addr, id)
	if code != 0 || !strings.Contains(out, text) {
		t.Errorf("task %s, %d: %.200s%s", id, code, out, errs)
	}
}
