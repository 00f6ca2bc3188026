package serve

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/plain"
)

// On a terminal calls are aligned, a command's words stand behind its name, and
// nothing moves the cursor; other records are a line, with a hint below it.
func TestLogOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := slog.New(newLogHandler(&Env{Stderr: plain.NewWriter(&out), Terminal: true}, slog.LevelInfo, logAuto))
		log.Info(a2aserver.AuditRequest, "op", "SendMessage", "caller", "ann", "task", "t-1", "result", "completed", "ms", 0.5)
		log.Info(a2aserver.AuditRequest, "op", "ListTasks", "caller", "192.0.2.1", "agent", "sums", "result", "ok", "ms", 12345.6, "skipped", int64(2))
		log.Debug(a2aserver.AuditRequest, "op", "GetTask")
		command := log.With("task", "t-1", "command", "run.py")
		command.Info(agent.StandardError, "line", "\x1b[31m\tred\x1b[2J\r\a ")
		command.With("agent", "sums").Info(agent.StandardError, "line", "Traceback:")
		log.With("task", "t-1").Warn("something else", "n", 1, "in", 1499*time.Millisecond, "error", errors.New("it is \"off\""), "none", nil, "hint", "turn\nit on")
		log.WithGroup("g").With("a", "b").Info("grouped", "c", "d")
		log.Error("bad\x1b[2J news")
		now := time.Now().Format(time.TimeOnly)
		want := now + "  ann              SendMessage           t-1                                   completed           0.5ms\n" +
			now + "  192.0.2.1        ListTasks             -                                     ok                  12.3s  sums  (2 calls before it not shown)\n" +
			"run.py │ \tred\n" +
			"sums │ Traceback:\n" +
			now + `  warning: something else  n=1  in=1.5s  error="it is \"off\""  task=t-1` + "\n          turn it on\n" +
			now + "  grouped  g.c=d  g.a=b\n" +
			now + "  error: bad news\n"
		if out.String() != want {
			t.Errorf("the terminal shows\n%s\nwant\n%s", out.String(), want)
		}
	})
}

// In JSON a duration has its unit, as it has in text.
func TestDurationsInTheLog(t *testing.T) {
	for format, want := range map[string]string{logJSON: `"pause":"1.5s","g":{"wait":"2m0s"}`, logText: `pause=1.5s g.wait=2m0s`} {
		var out strings.Builder
		log := slog.New(newLogHandler(&Env{Stderr: plain.NewWriter(&out)}, slog.LevelInfo, format))
		log.With("pause", 1500*time.Millisecond).WithGroup("g").Info("it rests", "wait", 2*time.Minute)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, out.String(), want)
		}
	}
}

func TestElapsed(t *testing.T) {
	for ms, want := range map[float64]string{0: "0.0ms", 0.94: "0.9ms", 1: "1ms", 999: "999ms", 1500: "1.5s", 59_940: "59.9s", 3_600_400: "1h0m0s"} {
		if got := elapsed(ms); got != want {
			t.Errorf("%v ms is %s, want %s", ms, got, want)
		}
	}
}

// Calls are logged on terminals and for debugging, unless a flag or the file decides.
func TestWhoseCallsAreLogged(t *testing.T) {
	for _, tt := range []struct {
		line     []string
		file     string
		terminal bool
		want     bool
	}{
		{nil, "", false, false},
		{nil, "", true, true},
		{[]string{"--log-requests=false"}, "", true, false},
		{[]string{"--log-requests"}, "", false, true},
		{[]string{"--log-level=debug"}, "", false, true},
		{nil, "logs: {requests: true}\n", false, true},
		{nil, "logs: {requests: false}\n", true, false},
		{[]string{"--log-requests=false"}, "logs: {requests: true}\n", false, false},
	} {
		env := testEnv(t, t.Output())
		env.Terminal = tt.terminal
		if tt.file != "" {
			if err := os.WriteFile(DefaultFile, []byte(small+tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := env.Load(lineOf(t, tt.line...), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Host{env: env, log: slog.Default()}).requests(f) != nil; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
