//go:build linux

package torture

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// The hosts for Python and TypeScript run the demo agent, written in each of them, and
// steps. A process dies with its server on Linux only.

// eachHost runs a test with the real binary and an agent in each language, all at a time.
func eachHost(t *testing.T, test func(t *testing.T, o *Options)) {
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
			o := &Options{Addr: addr, Seed: chosen, Log: log, Retries: true, Effects: filepath.Join(dir, "effects")}
			o.Server = func(int) *exec.Cmd {
				cmd := exec.Command(program, "serve", "--listen", addr, "--data", filepath.Join(dir, "data"), "--retry-anonymous", "--lines", "--", host.interpreter, host.file)
				cmd.Env = append(os.Environ(), "TORTURE_EFFECTS="+o.Effects)
				return cmd
			}
			test(t, o)
		})
	}
}

func TestTortureHosts(t *testing.T) {
	eachHost(t, func(t *testing.T, o *Options) {
		// Starting an interpreter takes what a whole task takes in Go, and a task whose
		// process is lost three times fails: fewer clients, longer lives.
		o.Rounds, o.Clients, o.Life = 3, 4, 1500*time.Millisecond
		if *rounds > 0 {
			o.Rounds, o.Life = *rounds, 3*time.Second
		}
		report, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("seed %d: %v", o.Seed, err)
		}
		judge(t, o.Seed, report.Violations, report.Tasks > 0 && report.Events > 0)
		t.Logf("what nothing was lost in:\n%s", Table([]string{t.Name()}, []*Report{report}))
	})
}

// Killed after its second step, an agent goes on behind it: its question is not asked
// again, no step is done twice, and its artifact goes on. The client's stream shows it all.
func TestHostsGoOnAfterAKill(t *testing.T) {
	eachHost(t, func(t *testing.T, o *Options) {
		w := &world{o: o, log: newLastLines(o.Log), start: time.Now()}
		w.server = newServer(o, w.log)
		if err := w.server.begin(); err != nil {
			t.Fatal(err)
		}
		defer w.server.kill()
		if err := w.up(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := a2aclient.Dial(t.Context(), "http://"+o.Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		say := func(id, task, text string) *a2a.SendMessageRequest {
			return &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: id, TaskID: task, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}}
		}
		res, err := c.SendMessage(t.Context(), say("1", "", "crash"))
		if err != nil {
			t.Fatal(err)
		}
		if res.Task == nil || res.Task.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("it did not ask: %+v", res)
		}
		task := res.Task
		for ev, err := range c.SendStreamingMessage(t.Context(), say("2", task.ID, "Ann")) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Task != nil {
				task = ev.Task
				continue
			}
			task.ApplyEvent(ev)
			if u := ev.ArtifactUpdate; u != nil && strings.HasPrefix(u.Artifact.Parts[0].Text, "2=") {
				w.server.kill()
				if err := w.server.begin(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := task.Status.Message.Text(); got != "Ann, 2, 2" || task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%v: %q, want the answer, attempt 2 and 2 chunks before it", task.Status.State, got)
		}
		var shown string
		for _, a := range task.Artifacts {
			for _, p := range a.Parts {
				shown += task.ID + " " + strings.Replace(p.Text, "=", " ", 1)
			}
		}
		if effects, err := os.ReadFile(o.Effects); err != nil || string(effects) != shown {
			t.Errorf("%v: done was\n%sand shown was\n%s", err, effects, shown)
		}
	})
}
