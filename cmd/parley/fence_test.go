//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// TestPausedProcessCannotWrite: a server that was stopped (SIGSTOP) while
// another took its task over wakes up and goes on where it was. It must not
// write a word.
//
// That there are two on one file takes the removal of the lock file, which
// nobody should do. It stands in for a store that is shared.
func TestPausedProcessCannotWrite(t *testing.T) {
	k := newTools(t)
	const chunks = 8
	a := k.serve(t, "")
	caller := k.start(t, "", "send", "-a", a.addr, "--stream", fmt.Sprintf("stream %d 500", chunks))
	id := caller.await(&caller.out, `^Task ID: (\S+)$`)
	caller.await(&caller.out, `^chunk 2$`) // so now it sleeps, and holds no lock of the database
	a.tell(syscall.SIGSTOP)
	if err := os.Remove(filepath.Join(k.dir, "data", "parley.db.lock")); err != nil {
		t.Fatal(err)
	}

	b := k.serve(t, "")
	at := k.start(t, "", "task", "subscribe", "-a", b.addr, "--stream", id)
	at.await(&at.out, `^chunk 4$`)
	a.tell(syscall.SIGCONT)
	a.await(&a.err, `level=ERROR msg="task given up by this process" task=`+id+` .*another owner`)
	if code := at.exit(); code != 0 || !strings.Contains(at.out.String(), "TASK_STATE_COMPLETED") {
		t.Errorf("the subscription at B ended with %d", code)
	}
	// The caller of A gets the truth, though A did not bring it about.
	if code := caller.exit(); code != 0 || !strings.Contains(caller.out.String(), "TASK_STATE_COMPLETED") {
		t.Errorf("the call at A ended with %d", code)
	}
	wantChunks(t, "the caller of A", caller.out.String(), chunks)

	for _, s := range []*process{a, b} {
		out, _, code := k.run(t, "task", "get", "-a", s.addr, id)
		if code != 0 || !strings.Contains(out, "State: TASK_STATE_COMPLETED\n") {
			t.Errorf("at %s the task is\n%s", s.addr, out)
		}
		wantChunks(t, s.addr, out, chunks)
	}
	a.tell(syscall.SIGTERM)
	if code := a.exit(); code != 0 {
		t.Errorf("A ended with %d", code)
	}
	// A has closed the database. B goes on with it, and still has its lock.
	if _, errs, code := k.run(t, "serve", "--listen", "127.0.0.1:0", "--data", "data"); code != 1 || !strings.Contains(errs, "in use by another process") {
		t.Errorf("a third server: %d %s", code, errs)
	}
	if out, errs, code := k.run(t, "send", "-a", b.addr, "echo still here"); code != 0 {
		t.Errorf("B: %d\n%s%s", code, out, errs)
	}
	b.tell(syscall.SIGTERM)
	if code := b.exit(); code != 0 {
		t.Errorf("B ended with %d", code)
	}
	var ends, chunkEntries int
	for _, en := range entries(t, k, id) {
		switch {
		case ends > 0:
			t.Errorf("entry %d is behind the end", en.Seq)
		case en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal():
			ends++
		case en.Kind == a2a.EntryArtifact:
			chunkEntries++
		}
	}
	if ends != 1 || chunkEntries != chunks {
		t.Errorf("the log has %d ends and %d chunks", ends, chunkEntries)
	}
}

// entries returns the log of a task of nobody in particular.
func entries(t *testing.T, k tools, id string) (log []*a2a.Entry) {
	t.Helper()
	r, err := sqlite.OpenReader(filepath.Join(k.dir, "data", "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stored, err := r.Entries(t.Context(), store.Key{ID: id}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, en := range stored {
		entry, err := a2a.DecodeEntry(en.Seq, en.Time, a2a.EntryKind(en.Kind), en.Body)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, entry)
	}
	return log
}

// wantChunks checks that a text has chunks 1 to n, once and in order.
func wantChunks(t *testing.T, who, text string, n int) {
	t.Helper()
	var got, want []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "chunk ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for i := range n {
		want = append(want, fmt.Sprintf("chunk %d", i+1))
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("%s has %q", who, got)
	}
}
