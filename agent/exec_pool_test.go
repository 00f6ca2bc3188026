//go:build unix

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// servant serves messages one after another: it says its process id, and does what
// a message tells it to.
const servant = `
trap 'exit 0' TERM
while read -r line; do
	case $line in *'"type":"message"'*) ;; *) continue ;; esac
	task=${line#*'"task":"'}; task=${task%%\"*}
	case $line in
	*'"text":"die"'*) exit 3 ;;
	*'"text":"leave"'*) exit 0 ;;
	*'"text":"garble"'*) echo what; sleep 1000 ;;
	*'"text":"forget"'*) echo '{"type":"complete"}'; continue ;;
	*'"text":"wait"'*) echo '{"type":"status","text":"ready","task":"'$task'"}'; read -r cancel; echo '{"type":"complete","task":"'$task'"}'; continue ;;
	*'"text":"hang"'*) echo '{"type":"status","text":"ready","task":"'$task'"}'; sleep 1000 ;;
	*'"text":"late"'*) echo '{"type":"reply","text":"'$$'","task":"'$task'"}'; echo '{"type":"status","text":"secret","task":"'$task'"}'; continue ;;
	*'"text":"end after"'*) echo '{"type":"reply","text":"'$$'","task":"'$task'"}'; exit 0 ;;
	esac
	echo '{"type":"reply","text":"'$$'","task":"'$task'"}'
done
`

var tasks atomic.Int64

// served has a message served and returns who did it.
func served(t *testing.T, c *command, text string) string {
	t.Helper()
	h := newHost(text)
	h.id = fmt.Sprintf("task-%d", tasks.Add(1))
	if err := c.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(h.script(), `reply "`), "\"\n")
}

func pool(t *testing.T, o *ExecOptions) *command {
	o.Processes = max(o.Processes, 1)
	c := speaker(o, servant)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestExecProcessServesManyMessages(t *testing.T) {
	c := pool(t, &ExecOptions{})
	first := served(t, c, "one")
	for _, text := range []string{"two", "late", "three"} {
		if got := served(t, c, text); got != first {
			t.Errorf("%q was served by %s, the first by %s", text, got, first)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if alive(first) {
		t.Error("the process outlives Close")
	}
}

func alive(pid string) bool {
	_, err := os.Stat("/proc/" + pid)
	return err == nil && hasProc
}

var hasProc = func() bool { _, err := os.Stat("/proc/self"); return err == nil }()

func TestExecReplacesAProcessThatBreaks(t *testing.T) {
	for text, want := range map[string]string{
		"die":    "the command exited with status 3",
		"leave":  "the command exited before it had ended the task",
		"garble": "line 1 of the command's output: it is not JSON (byte 1)",
		"forget": `line 1 of the command's output: it has no "task", which lines need of a process that serves many`,
	} {
		c := pool(t, &ExecOptions{})
		if text == "garble" { // it does not end when it is told to
			c = pool(t, &ExecOptions{Grace: 20 * time.Millisecond})
		}
		err := c.Run(t.Context(), NewTurn(newHost(text)))
		wantReason(t, err, want)
		served(t, c, "next") // all is well
	}
}

// A process that was kept and is gone when the next message comes is no fault of
// that message.
func TestExecReplacesAProcessThatIsGone(t *testing.T) {
	c := pool(t, &ExecOptions{})
	first := served(t, c, "end after")
	if next := served(t, c, "next"); next == first {
		t.Errorf("served by %s, which ended", next)
	}
	// One that leaves as the message comes: "leave" is run again by a fresh one, which
	// leaves, too, and that is its fault.
	wantReason(t, c.Run(t.Context(), NewTurn(newHost("leave"))), "the command exited before it had ended the task")
}

// A process that dies of a message may have worked on it: the message is not run again.
func TestExecRunsNoMessageAgainThatKills(t *testing.T) {
	var log bytes.Buffer
	c := pool(t, &ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	served(t, c, "one")
	wantReason(t, c.Run(t.Context(), NewTurn(newHost("die"))), "the command exited with status 3")
	if c.Close(); strings.Contains(log.String(), "another takes its place") {
		t.Errorf("it was run again:\n%s", &log)
	}
}

func TestExecCancelLeavesAProcessThatEndsItsTask(t *testing.T) {
	for text, stays := range map[string]bool{"wait": true, "hang": false} {
		grace := time.Minute // of which it is told for a second what it may do by itself
		if !stays {
			grace = 40 * time.Millisecond
		}
		c := pool(t, &ExecOptions{Grace: grace})
		first := served(t, c, "one")
		ctx, cancel := context.WithCancelCause(t.Context())
		h := newHost(text)
		ready := make(chan struct{})
		h.emitted = func(event) error { close(ready); return nil }
		done := begin(t, ctx, c, h)
		<-ready
		cancel(ErrCanceled)
		if err := <-done; !errors.Is(err, ErrCanceled) {
			t.Errorf("Run = %v", err)
		}
		if next := served(t, c, "next"); (next == first) != stays {
			t.Errorf("%s: served by %s, before by %s", text, next, first)
		}
	}
}

func TestExecNeverHasMoreProcessesThanItMay(t *testing.T) {
	dir := t.TempDir()
	script := `
while read -r line; do
	task=${line#*'"task":"'}; task=${task%%\"*}
	: >"$1/$$"
	echo '{"type":"complete","task":"'$task'"}'
done`
	c := speaker(&ExecOptions{Processes: 2}, script, dir)
	defer c.Close()
	var done []<-chan error
	for range 20 {
		done = append(done, begin(t, t.Context(), c, newHost("x")))
	}
	for _, d := range done {
		if err := <-d; err != nil {
			t.Error(err)
		}
	}
	if found, _ := filepath.Glob(dir + "/*"); len(found) == 0 || len(found) > 2 {
		t.Errorf("%d processes served, 2 may", len(found))
	}
}

func TestExecProcessesHaveFolders(t *testing.T) {
	o := withFiles(t)
	o.Processes = 1
	c := closes(t, speaker(o, `
		while read -r line; do
			task=${line#*'"task":"'}; task=${task%%\"*}; in=${line#*'"in":"'}; in=${in%%\"*}; out=${line#*'"out":"'}; out=${out%%\"*}
			cp "$in/x.txt" "$out/y.txt"; echo '{"type":"complete","task":"'$task'"}'
		done`))
	for _, content := range []string{"one", "two"} {
		h := filesHost("", a2a.RawPart([]byte(content), "text/plain", "x.txt"))
		if err := c.Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, fmt.Sprintf(">y.txt. raw(%x text/plain y.txt)", content), "completed")
	}
}

func TestExecConcurrency(t *testing.T) {
	for _, c := range []struct {
		o    ExecOptions
		want int
	}{
		{ExecOptions{Concurrency: 3}, 3},
		{ExecOptions{Mode: ExecLines, Processes: 2}, 2},
		{ExecOptions{Mode: ExecLines, Processes: 5, Concurrency: 3}, 3},
		{ExecOptions{Mode: ExecLines, Processes: 2, Concurrency: 3}, 2},
		{ExecOptions{Processes: 2, Concurrency: 7}, 7},
	} {
		if got := c.o.concurrency(); got != c.want {
			t.Errorf("%+v: %d at a time, want %d", c.o, got, c.want)
		}
	}
	if Exec([]string{"true"}, nil).(*command).opts.concurrency() < 4 {
		t.Error("the default lets hardly anybody in")
	}
}
