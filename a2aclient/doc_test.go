package a2aclient_test

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// A whole client, as the package's documentation has it.
func Example() {
	host, stop := demo()
	defer stop()
	if err := client(context.Background(), host); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Which city?
	// Paris
	// TASK_STATE_COMPLETED
}

func client(ctx context.Context, address string) error {
	c, err := a2aclient.Dial(ctx, address, nil)
	if err != nil {
		return err
	}
	task, message := new(a2a.Task), a2a.UserText("ask Which city?")
	for !task.Status.State.Terminal() {
		for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
			if err != nil {
				return err
			}
			if ev.Message != nil { // an answer without a task
				fmt.Println(ev.Message.Text())
				return nil
			}
			if task.ApplyEvent(ev); ev.ArtifactUpdate != nil {
				for _, part := range ev.ArtifactUpdate.Artifact.Parts {
					fmt.Print(part.Text)
				}
			}
		}
		if task.Status.State.Interrupted() { // the agent asks
			fmt.Println(task.Status.Message.Text())
			message = a2a.UserText("Paris")
			message.TaskID = task.ID
		}
	}
	fmt.Printf("\n%s\n", task.Status.State)
	return nil
}

// go doc shows no examples, so the package's documentation repeats this one.
func TestDocumentationHasTheExample(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("doc_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(src), "func client(ctx context.Context, address string) error {\n")
	body, _, _ = strings.Cut(body, "\treturn nil\n}\n")
	body = strings.Replace(body, "Dial(ctx, address, nil)", `Dial(ctx, "127.0.0.1:7275", nil)`, 1)
	if doc := f.Doc.Text(); body == "" || !strings.Contains(doc, body) {
		t.Errorf("the documentation\n%s\nlacks\n%s", doc, body)
	}
}
