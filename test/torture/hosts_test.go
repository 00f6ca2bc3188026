//go:build linux

package torture

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The hosts for Python and TypeScript lose nothing either: the demo agent, written in
// each of them, and steps. A process dies with its server on Linux only.
func TestTortureHosts(t *testing.T) {
	for n, host := range []struct{ name, interpreter, file string }{{"python", "python3", "testdata/steps.py"}, {"typescript", "node", "testdata/steps.mjs"}} {
		t.Run(host.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(host.interpreter); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			program, chosen := built(t), *seed+uint64(n)
			if *seed == 0 {
				chosen = rand.Uint64N(1_000_000) + 1
			}
			dir, log := logged(t, host.name)
			addr, err := FreePort(chosen)
			if err != nil {
				t.Fatal(err)
			}
			// Starting an interpreter takes what a whole task takes in Go, and a task whose
			// process is lost three times fails: fewer clients, longer lives.
			o := &Options{
				Addr: addr, Rounds: 3, Clients: 4, Seed: chosen, Log: log, Life: 1500 * time.Millisecond,
				Retries: true, Effects: filepath.Join(dir, "effects"),
			}
			if *rounds > 0 {
				o.Rounds, o.Life = *rounds, 3*time.Second
			}
			o.Server = func(int) *exec.Cmd {
				cmd := exec.Command(program, "serve", "--listen", addr, "--data", filepath.Join(dir, "data"), "--retry-anonymous", "--lines", "--", host.interpreter, host.file)
				cmd.Env = append(os.Environ(), "TORTURE_EFFECTS="+o.Effects)
				return cmd
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatalf("seed %d: %v", chosen, err)
			}
			judge(t, chosen, report.Violations, report.Tasks > 0 && report.Events > 0)
			t.Logf("what nothing was lost in:\n%s", Table([]string{host.name}, []*Report{report}))
		})
	}
}
