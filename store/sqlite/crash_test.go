package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// crashEnv tells a copy of the test binary to write until it is killed, to
// the database it names.
const crashEnv = "PARLEY_TEST_CRASH"

func TestMain(m *testing.M) {
	smallScopes()
	if path := os.Getenv(crashEnv); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	if path := os.Getenv(deleteEnv); path != "" {
		fmt.Fprintln(os.Stderr, deleteUntilKilled(path))
		os.Exit(1)
	}
	if dir := os.Getenv(mountEnv); dir != "" {
		onSmallFileSystem(dir)
	}
	os.Exit(m.Run())
}

// crashWriters is how many tasks are written at once.
const crashWriters = 8

func crashKey(w int) store.Key { return store.Key{Owner: "owner", ID: fmt.Sprint("task ", w)} }

// writeUntilKilled appends to one task per writer, from where it ends, and
// prints each writer and seq once it is acknowledged.
func writeUntilKilled(path string) error {
	maxChunk = 8 << 10 // many appends are larger
	st, err := Open(path, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	failed := make(chan error)
	for w := range crashWriters {
		go func() { failed <- crashWriter(st, w) }()
	}
	return <-failed
}

func crashWriter(st *Store, w int) error {
	a := task("", 0)
	a.Row.Key = crashKey(w)
	r, err := st.Get(context.Background(), a.Row.Key, store.RowOnly)
	switch {
	case err == nil:
		a.After, a.Epoch = r.Last, r.Epoch
	case err != store.ErrNotFound:
		return err
	}
	done := make(chan error)
	for {
		a.Entries = nil
		for range 1 + rand.IntN(3) {
			seq := a.After + int64(len(a.Entries)) + 1
			a.Entries = append(a.Entries, store.Entry{Seq: seq, Time: began, Kind: 1, Body: make([]byte, rand.IntN(40_000))})
		}
		next := *a
		next.Row.Context, next.Row.State = "context", int32(1+rand.IntN(3))
		next.Row.Updated = began.Add(time.Duration(rand.IntN(20)) * time.Millisecond)
		st.Append(&next, func(err error) { done <- err })
		if err := <-done; err != nil {
			return err
		}
		a.After += int64(len(a.Entries))
		a.Epoch = 1
		if _, err := fmt.Printf("%d %d\n", w, a.After); err != nil {
			return err
		}
	}
}

// A process that is killed at any moment loses nothing that it acknowledged,
// and the next one opens the database at once.
func TestKilledProcessLosesNothing(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	acked := make([]int64, crashWriters)
	var keys []store.Key
	for w := range crashWriters {
		keys = append(keys, crashKey(w))
	}
	for round := range rounds {
		// Some rounds end while the database is being opened, some after the
		// log has been cleaned.
		lines := []int{0, 1, 2, 50, 300, 1200}[round%6]
		output := killAfter(t, path, lines)
		for line := range strings.Lines(output) {
			var w int
			var seq int64
			if n, _ := fmt.Sscanf(line, "%d %d\n", &w, &seq); n == 2 {
				acked[w] = seq
			}
		}
		st := mustOpen(t, path, nil)
		for w, seq := range acked {
			r, err := st.Get(t.Context(), crashKey(w), store.RowOnly)
			if seq > 0 && (err != nil || r.Last < seq) {
				t.Errorf("round %d: %d entries of task %d were acknowledged, there are %+v, %v", round, seq, w, r, err)
			}
		}
		storetest.Check(t, st, keys...)
		checkTally(t, path)
		swept(t, st)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter runs a writer, kills it when it has printed so many lines, and
// returns all that it printed.
func killAfter(t *testing.T, path string, lines int) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+path)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	r := bufio.NewReader(stdout)
	for range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the writer ended by itself: %v", err)
		}
		output.WriteString(line)
	}
	if lines > 0 {
		if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", cmd.Process.Pid)) {
			t.Errorf("open while another process has it: %v", err)
		}
	}
	cmd.Process.Kill()
	rest, err := io.ReadAll(r) // a last line may be cut
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	output.Write(rest)
	return output.String()
}
