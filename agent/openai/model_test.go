package openai_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// The model of examples, which is another program in another language.
func TestTheModelOfTheExamples(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no python3")
	}
	cmd := exec.Command(python, "../../examples/openai/model.py", "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ag, err := openai.New(strings.TrimSpace(url), "parrot", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ag.Close()
	card := openai.Card("parrot", nil)
	st := store.NewMemory()
	defer st.Close()
	w := &world{Engine: engine.New(st, ag, &card, nil), t: t, st: st}
	defer w.start()()
	want(t, w.say("to be or not to be"), a2a.TaskStateCompleted, "to be or not to be", "6 tokens in, 6 out")
}
