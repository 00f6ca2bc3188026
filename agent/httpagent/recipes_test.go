package httpagent

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// TestRecipes runs the recipe for FastAPI with the real one, if a Python of this machine
// has it and uvicorn.
func TestRecipes(t *testing.T) {
	w := newWorldAfter(t, nil, recipe(t)+"/agent", nil, time.Minute)
	if got, want := w.said("hello"), "message You said hello."; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
	task := w.task("")
	if task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("no question, but %s", outcome(task))
	}
	// The greeting was kept between the two requests.
	if got, want := outcome(w.answer(task, "Ada")), "completed Hello, Ada."; got != want {
		t.Errorf("ended as %s, want %s", got, want)
	}
}

// recipe starts the recipe and returns its address.
func recipe(t *testing.T) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import fastapi, uvicorn").Run() != nil {
			continue
		}
		cmd := exec.Command(python, "-m", "uvicorn", "--port", "0", "fastapi_agent:app")
		cmd.Dir = "../../hosts/python/recipes"
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		log, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		address := regexp.MustCompile(`running on (http://[^ ]+)`)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				go func() { // so that it can always write
					for lines.Scan() {
					}
				}()
				return m[1]
			}
			t.Log(lines.Text())
		}
		t.Fatal("uvicorn did not start")
	}
	t.Skip("there is no FastAPI with uvicorn: apt-get install python3-fastapi python3-uvicorn")
	return ""
}
