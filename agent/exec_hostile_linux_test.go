package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// held is what this process and its commands hold of the system.
type held struct {
	goroutines, descriptors, files int
	processes                      []string
}

// holds counts it: the processes are those with the test's mark in their environment.
func holds(t *testing.T, mark, dir string) held {
	t.Helper()
	h := held{goroutines: runtime.NumGoroutine()}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(fds)
	filepath.WalkDir(dir, func(string, os.DirEntry, error) error { h.files++; return nil })
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range found {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte("PARLEY_TEST_MARK="+mark+"\x00")) && !strings.Contains(name, "/self/") {
			h.processes = append(h.processes, name)
		}
	}
	return h
}

// Commands that do all that a command should not: each fails its task with a reason,
// and nothing of it is left.
func TestExecHostileCommandsLeakNothing(t *testing.T) {
	const most = 1 << 20
	dir := t.TempDir()
	plain := func(script, want string) hostile { return hostile{ExecPlain, script, want} }
	lines := func(script, want string) hostile { return hostile{ExecLines, script, want} }
	all := []hostile{
		plain("yes", "the command printed more than the limit of 1048576 bytes"),
		plain("yes >&2", "the command took longer than the 500ms it may"),
		plain("trap '' TERM INT HUP; yes", "the command printed more than the limit of 1048576 bytes"),
		plain("trap '' TERM; while :; do sleep 100; done", "the command took longer than the 500ms it may"),
		plain("for i in 1 2 3 4 5 6 7 8; do (trap '' TERM HUP; sleep 1000 & sleep 1000) & done; exit 5", "the command exited with status 5"),
		plain("(setsid sleep 0.1 >/dev/null 2>&1 &) ; exit 6", "the command exited with status 6"),
		plain("exec >&- 2>&-; sleep 1000", "the command closed its output and did not end within 50ms"),
		plain("exit 1", "the command exited with status 1"),
		plain("kill -SEGV $$", "the command was ended by a signal (segmentation fault)"),
		plain(`mkdir -p "$PARLEY_OUT/a/b"; : >"$PARLEY_OUT/a/b/c"; chmod 0 "$PARLEY_OUT/a/b"; exit 1`, "the command exited with status 1"),
		lines("yes", "line 1 of the command's output: it is not JSON (byte 1)"),
		lines(`yes '{"type":"status","text":"x"}'`, "the command printed more than the limit of 1048576 bytes"),
		lines(`printf '\377\n'; sleep 1000`, "line 1 of the command's output: it is not UTF-8"),
		lines(`head -c 2000000 /dev/zero`, "the command printed more than the limit of 1048576 bytes"),
		lines("sleep 1000", "the command took longer than the 500ms it may"),
		lines("trap '' TERM; while :; do sleep 100; done", "the command took longer than the 500ms it may"),
		lines("exec >&-; sleep 1000", "the command closed its output and did not end within 50ms"),
		lines("exit 0", "the command exited with status 0 and had written no line"),
		lines("exec <&-; exit 2", "the command exited with status 2"),
		lines(`echo '{"type":"ask","text":"?"}'; exec <&-; kill -9 $$`, "the command was ended by a signal (killed) while its question was open"),
		lines("for i in 1 2 3 4 5 6 7 8; do (trap '' TERM HUP; sleep 1000 & sleep 1000) & done; echo what; wait", "line 1 of the command's output: it is not JSON (byte 1)"),
	}
	mark := fmt.Sprint(t.Name(), os.Getpid())
	t.Setenv("PARLEY_TEST_MARK", mark)
	before := holds(t, mark, dir)
	var done []<-chan error
	var agents []*command
	for _, h := range all { // at the same time
		o := &ExecOptions{Mode: h.mode, MaxOutput: most, Grace: 50 * time.Millisecond, Files: true, FilesDir: dir}
		if strings.Contains(h.want, "took longer") { // the others would be a matter of how busy the machine is
			o.Timeout = 500 * time.Millisecond
		}
		if strings.Contains(h.want, "exited with") || strings.Contains(h.want, "a signal") {
			o.Grace = time.Minute
		}
		c := Exec([]string{"sh", "-c", h.script}, o).(*command)
		agents = append(agents, c)
		done = append(done, begin(t, t.Context(), c, newHost(strings.Repeat("never read ", 20_000))))
	}
	for i, h := range all {
		err := <-done[i]
		if public := new(PublicError); !errors.As(err, &public) {
			t.Errorf("%s: got %v, want %s", h.script, err, h.want)
		} else if public.Reason != h.want {
			t.Errorf("%s: %s, want %s", h.script, public.Reason, h.want)
		}
	}
	for _, c := range agents {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	var after held
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); { // what was killed is reaped by init when it likes to
		after = holds(t, mark, dir)
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.files <= before.files && len(after.processes) == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("held %+v before, %+v after", before, after)
}

type hostile struct {
	mode         ExecMode
	script, want string
}

// A server that is killed takes its commands with it.
func TestExecCommandDiesWithTheServer(t *testing.T) {
	alive := newFifo(t)
	server := again("server")
	server.Env = append(server.Env, "PARLEY_TEST_FILE="+alive)
	server.Stdout = nil
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 1)
	out.Read(ready)
	server.Process.Kill()
	server.Wait()
	if string(ready) != "r" {
		t.Fatalf("the server said %q", ready)
	}
	wantUnheld(t, alive)
}

func init() { serverChild = serve }

// serve runs a command that never ends, says when it is at work, and waits to be
// killed.
func serve() error {
	h := newHost("")
	h.emitted = func(event) error { os.Stdout.WriteString("r"); return nil }
	os.Setenv("PARLEY_TEST_CHILD", "")
	script := `exec 3<>"$1"; trap '' TERM PIPE HUP; echo ready; echo go; exec sleep 1000`
	return Exec([]string{"sh", "-c", script, "sh", os.Getenv("PARLEY_TEST_FILE")}, nil).Run(context.Background(), NewTurn(h))
}

func TestExecLimitsMemory(t *testing.T) {
	script := `x=$(head -c 300000000 /dev/zero | tr '\0' x); echo ${#x}`
	o := &ExecOptions{Memory: 64 << 20}
	if err := runExec(t, t.Context(), shell(o, script), newHost("")); err == nil {
		t.Error("a command of 64 MiB of memory made a string of 300 MB")
	}
	h := newHost("")
	if err := runExec(t, t.Context(), shell(o, "ulimit -v; sh -c 'ulimit -v'"), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output "65536\n"`, `+. "65536\n"`)
}
