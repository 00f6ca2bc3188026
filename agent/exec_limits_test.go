//go:build unix

package agent

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

func TestExecEnvironment(t *testing.T) {
	t.Setenv("PARLEY_TEST", "inherited")
	t.Setenv("PARLEY_OUT", "of an outer server")
	t.Setenv("TRACEPARENT", "of an outer server")
	t.Setenv("TRACESTATE", "of an outer server")
	t.Setenv("TZ", "Europe/Berlin")
	script := `echo "$PARLEY_TEST,$OWN,$TZ,$PARLEY_OUT,$TRACEPARENT$TRACESTATE,$PARLEY_MODE,$PARLEY_TASK_ID"`
	for want, o := range map[string]*ExecOptions{
		"inherited,,Europe/Berlin,,,plain,task-1": nil,
		"inherited,b,UTC,,,plain,task-1":          {Env: []string{"OWN=a", "OWN=b", "TZ=UTC"}},
		",own,Europe/Berlin,,,plain,task-1":       {Env: []string{"OWN=own"}, CleanEnv: true},
	} {
		h := newHost("")
		if err := runExec(t, t.Context(), shell(o, script), h); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, fmt.Sprintf(`>output. "%s\n"`, want))
	}
}

func TestExecPassesTheTraceOn(t *testing.T) {
	const trace, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1,congo=2"
	for script, c := range map[string]*command{
		"plain": shell(nil, `echo $TRACEPARENT $TRACESTATE`),
		"lines": speaker(nil, `read -r l; p=${l#*'"traceparent":"'}; s=${l#*'"tracestate":"'}; echo '{"type":"artifact","text":"'"${p%%\"*} ${s%%\"*}"'"}'`),
	} {
		h := &tracedHost{newHost(""), trace, state}
		if err := c.Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(h.text(t)); got != trace+" "+state {
			t.Errorf("%s: %q, want %q and %q", script, got, trace, state)
		}
	}
}

type tracedHost struct {
	*fakeHost
	trace, state string
}

func (h *tracedHost) Caller() a2a.Caller {
	c := h.fakeHost.Caller()
	c.Trace, c.TraceState = h.trace, h.state
	return c
}

func TestExecRunsInADirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := newHost("")
	if err := runExec(t, t.Context(), shell(&ExecOptions{Dir: dir}, "pwd"), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, fmt.Sprintf(`>output. "%s\n"`, dir))

	gone := &ExecOptions{Dir: filepath.Join(dir, "gone")}
	wantReason(t, runExec(t, t.Context(), shell(gone, "pwd"), newHost("")), "the directory in which the command sh is to run is not there")
	wantReason(t, runExec(t, t.Context(), Exec([]string{"./gone"}, &ExecOptions{Dir: dir}), newHost("")), "the command gone was not found")
}

// The time that a command waits for an answer, or for its turn, is not its own.
func TestExecTimeout(t *testing.T) {
	o := &ExecOptions{Timeout: 50 * time.Millisecond, Grace: time.Millisecond, Concurrency: 1}
	for _, c := range []*command{shell(o, "sleep 1000"), speaker(o, "sleep 1000")} {
		first, second := begin(t, t.Context(), c, newHost("")), begin(t, t.Context(), c, newHost(""))
		for _, done := range []<-chan error{first, second} {
			wantReason(t, <-done, "the command took longer than the 50ms it may")
		}
	}

	synctest.Test(t, func(t *testing.T) {
		s := &session{linesRun: &linesRun{c: speaker(&ExecOptions{Timeout: time.Second}, "")}, slow: wake.Stopped(), left: time.Second}
		s.resume()
		time.Sleep(400 * time.Millisecond)
		s.suspend()
		time.Sleep(time.Hour) // the client thinks
		s.resume()
		time.Sleep(599 * time.Millisecond)
		select {
		case <-s.slow.C:
			t.Error("the time is up too early")
		default:
		}
		time.Sleep(time.Millisecond)
		<-s.slow.C
	})
}

func TestExecBoundsWhatItLogs(t *testing.T) {
	for _, c := range []func(o *ExecOptions) *command{
		func(o *ExecOptions) *command {
			return shell(o, "yes yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy | head -c 2200000 >&2")
		},
		func(o *ExecOptions) *command {
			return speaker(o, `yes '{"type":"log","text":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}' | head -n 16000`)
		},
	} {
		var log bytes.Buffer
		if err := runExec(t, t.Context(), c(&ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}), newHost("")); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "yy"); n < 1000 || log.Len() > 100<<20 {
			t.Errorf("%d records of %d bytes", n, log.Len())
		}
		if n := strings.Count(log.String(), "the rest of this run is left out"); n != 1 {
			t.Errorf("said %d times that the rest is left out", n)
		}
	}
}

// Output that is given up, because a process holds it open, is kept as far as it was printed,
// even if this process was too busy to read it.
func TestExecGivesUpWithoutLoss(t *testing.T) {
	const size = 60_000 // more than a piece, less than a pipe holds
	c := Exec([]string{"sh", "-c", fmt.Sprintf("sleep 1000 & head -c %d /dev/zero", size)}, nil).(*command)
	c.linger = 0
	p, err := c.launch(nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	close(p.input)
	<-p.Exited
	n := 0
	for piece := range p.pieces {
		n += len(piece)
	}
	if n != size {
		t.Errorf("got %d bytes, want %d", n, size)
	}
}

// Input that a command has not read is dropped when it has ended, even if a process it
// left behind holds its input open.
func TestExecDropsWhatIsNotRead(t *testing.T) {
	p, err := Exec([]string{"sh", "-c", "exec 3<&0; sleep 1000 <&3 >/dev/null 2>&1 & exit 0"}, nil).(*command).launch(nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.input <- make([]byte, 1<<20)
	p.input <- nil // waits in the channel while the first is written
	for sent := false; !sent; {
		select {
		case p.input <- nil: // there is room again: the first is over
			sent = true
		case <-time.After(30 * time.Second):
			t.Fatal("it is still being written")
		}
	}
	<-p.Exited
	close(p.input)
}
