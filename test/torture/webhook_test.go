package torture

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/test/fixtures"
)

var hookTasks = flag.Int("hook-tasks", 0, "tasks of TestWebhooks; 0 means the short form")

// TestWebhooks is the promise that every event arrives, in order, at receivers
// that fail, of a server that is killed. make torture is its long form.
func TestWebhooks(t *testing.T) {
	o := &WebhookOptions{Tasks: 60, Clients: 16, Seed: *seed, Mercy: true, Hangs: 2}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1_000_000) + 1
	}
	if *hookTasks > 0 {
		o.Tasks, o.Mercy, o.Hangs = *hookTasks, false, 0
	}
	dir, log := logged(t, "webhooks")
	o.Log = log
	var err error
	if o.Addr, err = FreePort(o.Seed + 13); err != nil {
		t.Fatal(err)
	}
	program := built(t)
	o.Server = func(int) *exec.Cmd {
		return exec.Command(program, "serve", "--listen", o.Addr, "--data", filepath.Join(dir, "data"), "--retry-anonymous")
	}
	report, err := RunWebhooks(t.Context(), o)
	if err != nil {
		t.Fatalf("seed %d: %v", o.Seed, err)
	}
	judge(t, o.Seed, report.Violations, report.Tasks >= o.Tasks/2 && report.Kills >= 2 && report.Kills+report.Stops == 3 && report.Repeats > 0)
	t.Logf("webhooks to receivers that fail:\n%s", report)
}

// built returns the binary, the same one for all tests.
func built(t testing.TB) string {
	t.Helper()
	if *binary != "" {
		return *binary
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// builtIn is the folder of the binary, which TestMain removes.
var builtIn string

var build = sync.OnceValues(func() (string, error) {
	var err error
	if builtIn, err = os.MkdirTemp("", "torture"); err != nil {
		return "", err
	}
	return fixtures.Program(builtIn)
})
