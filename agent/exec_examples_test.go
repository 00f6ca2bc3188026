//go:build unix

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

var interpreters = map[string]string{".py": "python3", ".mjs": "node", ".sh": "sh"}

// The examples do what they say, over a network.
func TestExecExamples(t *testing.T) {
	found, err := filepath.Glob("../examples/exec/*.*")
	if err != nil || len(found) < 6 {
		t.Fatalf("examples: %v, %v", found, err)
	}
	for _, path := range found {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(interpreters[filepath.Ext(path)]); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			file, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			switch strings.TrimSuffix(name, filepath.Ext(name)) {
			case "stream":
				streams(t, agent.Exec([]string{file}, nil))
			case "ask":
				asks(t, agent.Exec([]string{file}, &agent.ExecOptions{Mode: agent.ExecLines}))
			case "stay":
				stays(t, agent.Exec([]string{file}, &agent.ExecOptions{Mode: agent.ExecLines, Processes: 1}))
			default:
				t.Error("nobody knows what this example is to do")
			}
		})
	}
}

func streams(t *testing.T, ag agent.Agent) {
	c := served(t, ag)
	chunks := 0
	task := new(a2a.Task)
	for ev, err := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("one two")},
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Task != nil {
			task = ev.Task
			continue
		}
		if ev.ArtifactUpdate != nil {
			chunks++
		}
		task.ApplyEvent(ev)
	}
	var words []string
	for _, p := range task.Artifacts[0].Parts {
		words = append(words, strings.Fields(p.Text)...)
	}
	if got := strings.Join(words, " "); got != "ONE TWO" || chunks < 2 || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%q in %d chunks, %v", got, chunks, task.Status.State)
	}
}

func asks(t *testing.T, ag agent.Agent) {
	c := served(t, ag)
	task, err := send(t.Context(), c, "1", "hello there")
	if err != nil {
		t.Fatal(err)
	}
	if task.Status.State != a2a.TaskStateInputRequired || task.Status.Message.Text() != "What is your name?" {
		t.Fatalf("the task is %v: %s", task.Status.State, task.Status.Message.Text())
	}
	const name = `Ann "the\best" Smith`
	res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "2", TaskID: task.ID, ContextID: task.ContextID, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(name)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.Task.Status.Message.Text(), "Hello "+name+"!"; got != want || res.Task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%v: %q, want %q", res.Task.Status.State, got, want)
	}
}

func stays(t *testing.T, ag agent.Agent) {
	c := served(t, ag)
	for _, text := range []string{"one", "two"} {
		task, err := send(t.Context(), c, text, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Status.Message.Text(); got != strings.ToUpper(text) || task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%v: %q", task.Status.State, got)
		}
	}
	if err := ag.(interface{ Close() error }).Close(); err != nil {
		t.Error(err)
	}
}

// The page is right about the examples that it shows.
func TestExecPageShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/exec.md")
	if err != nil {
		t.Fatal(err)
	}
	// A reader copies the block as it is, so its name is in the paragraph before.
	blocks := regexp.MustCompile("(?s)([^\n]*)\n\n```(?:python|js|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("the page shows no program")
	}
	for _, b := range blocks {
		name := regexp.MustCompile(`examples/exec/[a-z]+\.[a-z]+`).FindString(b[1])
		example, err := os.ReadFile("../" + name)
		if name == "" || err != nil || string(example) != b[2] {
			t.Errorf("this is not what %q has (%v):\n%s", name, err, b[2])
		}
	}
}
