package interop

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// TestPortedServer runs the server that docs/migrate.md makes of one of a2a-go's, and
// calls it with a2a-go's client.
func TestPortedServer(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```go ported/main.go\n")
	source, _, whole := strings.Cut(rest, "```\n")
	if !found || !whole || strings.Count(source, "\n") > 30 {
		t.Fatalf("the page has no server of at most 30 lines:\n%s", source)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "ported")
	if err := os.WriteFile(file, []byte(strings.Replace(source, "127.0.0.1:7275", "127.0.0.1:0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, file)
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	cmd := exec.Command(program)
	cmd.Dir = dir
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	first, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://\S+`).FindString(first)

	card, err := agentcard.NewResolver(nil).Resolve(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	send := func(req *a2a.SendMessageRequest) *a2a.Task {
		res, err := c.SendMessage(t.Context(), req)
		task, ok := res.(*a2a.Task)
		if err != nil || !ok {
			t.Fatalf("%v, %v", res, err)
		}
		return task
	}
	asked := send(request("a greeting"))
	if asked.Status.State != a2a.TaskStateInputRequired || asked.Status.Message.Parts[0].Text() != "What is your name?" {
		t.Errorf("%+v", asked.Status)
	}
	done := send(answer(asked, "Ann"))
	if done.Status.State != a2a.TaskStateCompleted || len(done.Artifacts) != 1 || done.Artifacts[0].Parts[0].Text() != "Hello Ann!" {
		t.Errorf("%+v", done)
	}
}
