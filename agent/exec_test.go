//go:build unix

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/child"
)

// long is for what must not matter to a test's outcome: lines are held back
// until the next, nobody loses patience.
const long = time.Hour

// shell returns an agent that runs a script, with args as $1, $2 …
func shell(o *ExecOptions, script string, args ...string) *command {
	c := Exec(append([]string{"sh", "-c", script, "sh"}, args...), o).(*command)
	c.hold, c.linger = long, long
	return c
}

// runExec runs a turn to its end and checks that nothing of it is left here.
func runExec(t *testing.T, ctx context.Context, a Agent, h *fakeHost) error {
	t.Helper()
	err := a.Run(ctx, NewTurn(h))
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("agent.(*process)")) || bytes.Contains(stacks, []byte("agent.start")) {
		t.Errorf("a goroutine is left:\n%s", stacks)
	}
	return err
}

func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	var public *PublicError
	if !errors.As(err, &public) {
		t.Errorf("got %v, want a public error", err)
	} else if public.Reason != want {
		t.Errorf("reason %q, want %q", public.Reason, want)
	}
}

func TestExecRunsACommandOnTheText(t *testing.T) {
	for _, c := range []struct {
		name, input, script string
		want                []string // nil: nothing
	}{
		{"upper case", "hello\nworld", "tr a-z A-Z", []string{`>output "HELLO\n"`, `+. "WORLD"`}},
		{"count words", "one two  three\nfour", "echo $(wc -w)", []string{`>output. "4\n"`}},
		{"no output", "x", "cat >/dev/null", nil},
		{"no line feed", "", "printf 'a\\nb'", []string{`>output "a\n"`, `+. "b"`}},
		{"not UTF-8", "", `printf 'a\377\342\202b\n\303'`, []string{`>output "a���b\n"`, `+. "�"`}},
		{"identity", "", `echo $PARLEY_TASK_ID $PARLEY_CONTEXT_ID $PARLEY_ATTEMPT $PARLEY_CALLER $PARLEY_TENANT`,
			[]string{`>output. "task-1 context-1 2 key:ann acme\n"`}},
		{"environment", "", `echo $PARLEY_TEST`, []string{`>output. "inherited\n"`}},
		{"standard error", "", `echo out; echo err >&2`, []string{`>output. "out\n"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PARLEY_TEST", "inherited")
			t.Setenv("PARLEY_TASK_ID", "of an outer server")
			h := newHost(c.input)
			h.attempt = 2
			if err := runExec(t, t.Context(), shell(nil, c.script), h); err != nil {
				t.Fatal(err)
			}
			if got, want := h.script(), strings.Join(append(c.want, ""), "\n"); got != want {
				t.Errorf("emitted\n%swant\n%s", got, want)
			}
		})
	}
}

func TestExecReadsAllTextParts(t *testing.T) {
	h := newHost("one")
	h.message.Parts = append(h.message.Parts,
		a2a.DataPart(a2a.JSON("[1]")),
		a2a.RawPart([]byte("PNG"), "image/png", "x.png"),
		a2a.TextPart("two\n"),
		a2a.RawPart([]byte("# three"), "Text/Markdown; charset=utf-8", "x.md"))
	if err := runExec(t, t.Context(), shell(nil, "cat"), h); err != nil {
		t.Fatal(err)
	}
	if got, want := h.text(t), "one\n[1]\ntwo\n\n# three"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}

	h = newHost("")
	h.message.Parts = []*a2a.Part{a2a.URLPart("https://example.com/x.txt", "text/plain", "")}
	if err := runExec(t, t.Context(), shell(nil, "echo ran"), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `rejected "this agent works on text; send a message with a text part"`)
}

func TestExecNeedNotReadItsInput(t *testing.T) {
	for _, script := range []string{"echo done", "head -c 1 >/dev/null; echo done", "exec <&-; echo done"} {
		h := newHost(strings.Repeat("x", 4<<20)) // more than any pipe holds
		if err := runExec(t, t.Context(), shell(nil, script), h); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		wantScript(t, h, `>output. "done\n"`)
	}
}

func TestExecFailsWithAPublicReason(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"sh", "-c", "exit 3"}, "the command exited with status 3"},
		{[]string{"sh", "-c", "no-such-program-of-parley"}, "the command exited with status 127: a program that it calls was probably not found"},
		{[]string{"sh", "-c", "kill -9 $$"}, "the command was ended by a signal (killed)"},
		{[]string{"sh", "-c", "kill -TERM $$"}, "the command was ended by a signal (terminated)"},
		{[]string{"no-such-program-of-parley"}, "the command no-such-program-of-parley was not found"},
		{[]string{filepath.Join(dir, "missing")}, "the command missing was not found"},
		{[]string{file("plain", "#!/bin/sh\n", 0o644)}, "the command plain is not executable"},
		{[]string{file("headless", "echo hi\n", 0o755)}, "the command headless is not a program; a script needs a first line such as #!/bin/sh"},
		{[]string{file("lost", "#!/no/such/interpreter\n", 0o755)}, "the command lost needs an interpreter that was not found: look at its first line, and whether it ends as on Windows"},
		{[]string{dir}, "the command " + filepath.Base(dir) + " is not executable"},
	} {
		t.Run(c.want, func(t *testing.T) {
			h := newHost("")
			wantReason(t, runExec(t, t.Context(), Exec(c.argv, nil), h), c.want)
			if len(h.events) != 0 {
				t.Errorf("emitted %s", h.script())
			}
		})
	}
}

func TestExecClosesItsArtifactBeforeItFails(t *testing.T) {
	h := newHost("")
	err := runExec(t, t.Context(), shell(nil, "echo one; echo two; exit 1"), h)
	wantReason(t, err, "the command exited with status 1")
	wantScript(t, h, `>output "one\n"`, `+. "two\n"`)
}

func TestExecHoldsBackTheNewestLine(t *testing.T) {
	gate := newGate(t)
	h := newHost("")
	first := make(chan struct{}, 1)
	h.emitted = func(event) error {
		select {
		case first <- struct{}{}:
		default:
		}
		return nil
	}
	done := begin(t, t.Context(), shell(nil, `exec 4<"$1"; printf 'one\ntwo\n'; cat <&4; exit 0`, gate.path), h)
	<-first
	wantScript(t, h, `>output "one\n"`)
	gate.open()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output "one\n"`, `+. "two\n"`)
}

// A program that is slower than the hold time is seen as it prints, finished
// lines or not.
func TestExecStreamsSlowOutputAsItComes(t *testing.T) {
	for _, line := range []string{"one\n", "name? "} {
		t.Run(line, func(t *testing.T) {
			gate := newGate(t)
			h := newHost("")
			emitted := make(chan string, 10)
			h.emitted = func(ev event) error {
				emitted <- ev.artifact.Parts[0].Text
				return nil
			}
			c := shell(nil, `exec 4<"$1"; printf "$2"; cat <&4; printf 'end\n'`, gate.path, line)
			c.hold = time.Millisecond
			done := begin(t, t.Context(), c, h)
			if got := <-emitted; got != line {
				t.Errorf("first chunk %q, want %q", got, line)
			}
			gate.open()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := h.text(t); got != line+"end\n" {
				t.Errorf("text %q", got)
			}
			if !h.events[len(h.events)-1].last {
				t.Error("the last chunk does not say so")
			}
		})
	}
}

// Output that goes on after a pause in the middle of a rune is seen as it comes, too.
func TestExecStreamsOnAfterHalfARune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost("")
		p := &process{pieces: make(chan []byte)}
		c := Exec([]string{"x"}, &ExecOptions{Grace: long}).(*command)
		r := &run{c: c, p: p, out: &lines{w: newArtifact(h, "out")}, room: 100}
		done := make(chan error)
		go func() { done <- r.listen(t.Context()) }()
		for _, piece := range []string{"a\xe2\x82", "\xac b"} {
			p.pieces <- []byte(piece)
			time.Sleep(2 * holdTime)
		}
		synctest.Wait()
		wantScript(t, h, `>out "a"`, `+ "€ b"`)
		close(p.pieces)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestExecLogsStandardError(t *testing.T) {
	var log bytes.Buffer
	o := &ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	script := `echo first >&2; head -c 100000 /dev/zero | tr '\0' x >&2; printf '\nlast \377' >&2; echo out`
	h := newHost("")
	if err := runExec(t, t.Context(), shell(o, script), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output. "out\n"`)
	records := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(records) != 3 {
		t.Fatalf("%d records, want 3:\n%.2000s", len(records), log.String())
	}
	for i, want := range []string{"line=first", "line=" + strings.Repeat("x", child.MaxLine), `line="last �"`} {
		if !strings.HasSuffix(records[i], want) || !strings.Contains(records[i], "level=INFO") || !strings.Contains(records[i], "task=task-1") {
			t.Errorf("record %d: %.300s", i, records[i])
		}
	}
}

func TestExecStopsAFlood(t *testing.T) {
	const most = 1 << 20
	h := newHost("")
	err := runExec(t, t.Context(), shell(&ExecOptions{MaxOutput: most}, "yes"), h)
	wantReason(t, err, "the command printed more than the limit of 1048576 bytes")
	if got, want := h.text(t), strings.Repeat("y\n", most/2); got != want {
		t.Errorf("emitted %d bytes, want %d", len(got), len(want))
	}
	if !h.events[len(h.events)-1].last {
		t.Error("the artifact was not closed")
	}

	h = newHost("")
	if err := runExec(t, t.Context(), shell(&ExecOptions{MaxOutput: 4}, "printf 'a\nb\n'"), h); err != nil {
		t.Errorf("output of just the limit: %v", err)
	}
}

func TestExecCancelledBeforeItStarts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCanceled)
	h := newHost("")
	if err := runExec(t, ctx, shell(nil, "echo ran"), h); !errors.Is(err, ErrCanceled) {
		t.Errorf("Run = %v, want ErrCanceled", err)
	}
	if len(h.events) != 0 {
		t.Errorf("emitted %s", h.script())
	}
}

// The whole group is told politely first, and has the grace to end: also what
// outlives the command's own process.
func TestExecCancelLetsTheGroupEndInPeace(t *testing.T) {
	for _, cause := range []error{ErrCanceled, ErrDraining} {
		t.Run(cause.Error(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tidied")
			t.Setenv("PARLEY_TEST_FILE", file)
			c := children(t, "leader", &ExecOptions{Grace: long})
			c.linger = time.Millisecond // is not the patience with a group that was told to end
			err := cancelWhenReady(t, cause, c)
			if !errors.Is(err, cause) {
				t.Errorf("Run = %v, want %v", err, cause)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the child did not get to tidy up: %v", err)
			}
		})
	}
}

func TestExecCancelKillsWhatIgnoresIt(t *testing.T) {
	alive := newFifo(t)
	// Both ignore TERM, and both hold the fifo and the output open.
	script := `trap '' TERM; exec 3<>"$1"; sh -c 'while :; do sleep 1000; done' & echo ready; echo go; wait; sleep 1000`
	err := cancelWhenReady(t, ErrCanceled, shell(&ExecOptions{Grace: 20 * time.Millisecond}, script, alive))
	if !errors.Is(err, ErrCanceled) {
		t.Errorf("Run = %v, want ErrCanceled", err)
	}
	wantUnheld(t, alive)
}

// cancelWhenReady runs c, cancels it once the line "ready" has come, and returns
// what Run returned.
func cancelWhenReady(t *testing.T, cause error, c *command) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	h := newHost("")
	ready := make(chan struct{})
	h.emitted = func(event) error { close(ready); return nil } // one chunk: "go" is held back
	done := begin(t, ctx, c, h)
	<-ready
	cancel(cause)
	err := <-done
	wantScript(t, h, `>output "ready\n"`) // nothing after the end
	return err
}

func TestExecKillsWhatACommandLeavesBehind(t *testing.T) {
	for name, script := range map[string]string{
		"holding the output": `exec 3<>"$1"; sleep 1000 & echo done`,
		"silently":           `exec 3<>"$1"; sleep 1000 >/dev/null 2>&1 & echo done`,
		"ignoring signals":   `exec 3<>"$1"; trap '' TERM HUP INT; sleep 1000 & echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			alive := newFifo(t)
			h := newHost("")
			c := shell(nil, script, alive)
			if name != "silently" { // where the output ends by itself
				c.linger = time.Millisecond
			}
			if err := runExec(t, t.Context(), c, h); err != nil {
				t.Error(err)
			}
			wantScript(t, h, `>output. "done\n"`)
			wantUnheld(t, alive)
		})
	}
}

// What a child prints in the moment after the command's end is not lost.
func TestExecWaitsForLateOutput(t *testing.T) {
	h := newHost("")
	script := `(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo early`
	if err := runExec(t, t.Context(), shell(nil, script), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output "early\n"`, `+. "late\n"`)
}

// A process that left the group keeps the output open; it is let go, and the
// task ends all the same.
func TestExecGivesUpOnWhatLeftTheGroup(t *testing.T) {
	for _, mode := range []string{"silent", "chatty"} {
		t.Run(mode, func(t *testing.T) {
			gate := newGate(t)
			t.Setenv("PARLEY_TEST_GATE", gate.path)
			c := children(t, mode, nil)
			c.linger = 20 * time.Millisecond
			h := newHost("")
			if err := runExec(t, t.Context(), c, h); err != nil {
				t.Error(err)
			}
			if text := h.text(t); !strings.Contains(text, "started\n") {
				t.Errorf("text %.100q", text)
			}
			gate.open() // lets the child end
		})
	}
}

func TestExecStopsWhenTheTaskHasEnded(t *testing.T) {
	h := newHost("")
	h.ended = true
	if err := runExec(t, t.Context(), shell(nil, "yes"), h); !errors.Is(err, ErrEnded) {
		t.Errorf("Run = %v, want ErrEnded", err)
	}
}

func TestExecDefaults(t *testing.T) {
	for _, given := range []*ExecOptions{nil, {}} {
		if o := Exec([]string{"true"}, given).(*command).opts; o.grace() != 5*time.Second || o.maxOutput() != 64<<20 || o.logger() == nil {
			t.Errorf("%+v: grace %v, output %d", given, o.grace(), o.maxOutput())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Exec without a command does not panic")
		}
	}()
	Exec(nil, nil)
}

func TestExecCardNamesTheCommandOnly(t *testing.T) {
	card := ExecCard([]string{"/opt/secret/bin/summarize", "--token", "hush"})
	if card.Name != "summarize" || len(card.Skills) != 1 || card.Skills[0].ID == "" || len(card.Skills[0].Tags) == 0 {
		t.Errorf("card %+v", card)
	}
	all := fmt.Sprintf("%+v %+v", card, card.Skills[0])
	for _, no := range []string{"secret", "token", "hush"} {
		if strings.Contains(all, no) {
			t.Errorf("the card tells %q: %s", no, all)
		}
	}
}

// begin runs a turn in a goroutine.
func begin(t *testing.T, ctx context.Context, a Agent, h *fakeHost) <-chan error {
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, NewTurn(h)) }()
	return done
}

// gate is a fifo whose readers see its end only once it is opened. A reader must open it before
// that.
type gate struct {
	path string
	held *os.File
}

func newGate(t *testing.T) *gate {
	path := newFifo(t)
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	return &gate{path, held}
}

func (g *gate) open() { g.held.Close() }

// newFifo returns the path of a fifo. A process that holds it open for writing
// is known to be alive.
func newFifo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantUnheld returns when no process holds the fifo open for writing.
func wantUnheld(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(f); err != nil {
		t.Errorf("a process is still alive: %v", err)
	}
}

// readAll returns what is written to a fifo until nobody has it open for writing.
func readAll(t *testing.T, fifo string) string {
	f, err := os.Open(fifo)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
