//go:build unix

package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// A server stops while a command waits for its second answer. The next server runs it
// again from the top: the first answer and the step come from the record, and what it
// wrote is there once.
func TestExecGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	script := `
		hear() { read -r line || exit 1; case $line in *'"type":"cancel"'*) echo "$line" >>"$1/canceled"; exit 1 ;; esac; }
		hear "$1"; echo $PARLEY_ATTEMPT >>"$1/attempts"
		echo '{"type":"artifact","name":"report","text":"begun "}'
		echo '{"type":"ask","text":"one?"}'; hear "$1"; one=${line#*'"text":"'}; one=${one%%\"*}
		echo '{"type":"step","name":"charge"}'; hear "$1"
		case $line in *'"done":false'*) echo charged >>"$1/charged"; echo '{"type":"result","result":17}' ;; esac
		echo '{"type":"ask","text":"two?"}'; hear "$1"; two=${line#*'"text":"'}; two=${two%%\"*}
		echo '{"type":"artifact","name":"report","text":"'"$one $two"'","last":true}'`
	for name, o := range map[string]agent.ExecOptions{"plain exit": {}, "files": {Files: true, FilesDir: dir}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o.Mode = agent.ExecLines
			ag := agent.Exec([]string{"sh", "-c", script, "sh", dir}, &o)
			defer ag.(interface{ Close() error }).Close()
			st := store.NewMemory()
			c, stop := servedFrom(t, ag, st)
			task, err := send(t.Context(), c, "1", "hello")
			if err != nil {
				t.Fatal(err)
			}
			answer := func(id, text, want string) *a2a.Task {
				t.Helper()
				res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
					MessageID: id, TaskID: task.ID, ContextID: task.ContextID, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
				}})
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Task.Status.Message.Text(); got != want {
					t.Fatalf("%v: %q, want %q", res.Task.Status.State, got, want)
				}
				return res.Task
			}
			answer("2", "yes", "two?")
			stop()

			c, stop = servedFrom(t, ag, st)
			defer stop()
			got := answer("3", "no", "")
			var text string
			for _, p := range got.Artifacts[0].Parts {
				text += p.Text
			}
			if got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != 1 || text != "begun yes no" {
				t.Errorf("%v with %d artifacts, the first %q", got.Status.State, len(got.Artifacts), text)
			}
			for file, want := range map[string]string{
				"attempts": "1\n2\n", "charged": "charged\n",
				"canceled": `{"type":"cancel","task":"` + task.ID + `","reason":"draining"}` + "\n",
			} {
				if b, err := os.ReadFile(filepath.Join(dir, file)); string(b) != want {
					t.Errorf("%s: %q, %v, want %q", file, b, err, want)
				}
			}
		})
	}
}

// What the caller is told of commands that misbehave.
func TestExecFailsTasksWithAReason(t *testing.T) {
	for _, c := range []struct {
		mode         agent.ExecMode
		script, want string
	}{
		{agent.ExecPlain, "yes", "the command printed more than the limit of 65536 bytes"},
		{agent.ExecPlain, "exit 7", "the command exited with status 7"},
		{agent.ExecLines, "echo hush", "line 1 of the command's output: it is not JSON (byte 1)"},
		{agent.ExecLines, ":", "the command exited with status 0 and had written no line"},
		{agent.ExecLines, `echo '{"type":"reject","text":"not today"}'`, "not today"},
	} {
		client := served(t, agent.Exec([]string{"sh", "-c", c.script}, &agent.ExecOptions{Mode: c.mode, MaxOutput: 64 << 10}))
		task, err := send(t.Context(), client, "1", "hello")
		if err != nil {
			t.Fatal(err)
		}
		got := task.Status.Message.Text()
		if got != c.want || !task.Status.State.Terminal() || task.Status.State == a2a.TaskStateCompleted {
			t.Errorf("%s: %v, %q, want %q", c.script, task.Status.State, got, c.want)
		}
	}
}
