package a2aclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// demo runs the demo agent and returns where it is.
func demo() (host string, stop func()) {
	s, err := parley.New(agent.DemoCard(), agent.Demo(), nil)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	srv := httptest.NewServer(s.Handler())
	return strings.TrimPrefix(srv.URL, "http://"), func() {
		srv.Close()
		cancel()
		<-ended
	}
}

func ExampleDial() {
	host, stop := demo()
	defer stop()
	ctx := context.Background()

	c, err := a2aclient.Dial(ctx, host, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("echo hello")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Interface().ProtocolBinding, res.Task.Status.State, res.Task.Artifacts[0].Parts[0].Text)
	// Output: JSONRPC TASK_STATE_COMPLETED hello
}

// A question is answered by a message for its task.
func ExampleClient_SendMessage() {
	host, stop := demo()
	defer stop()
	ctx := context.Background()

	c, err := a2aclient.Dial(ctx, host, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	message := a2a.UserText("ask")
	for range 2 {
		res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: message})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Task.Status.State)
		message = a2a.UserText("blue")
		message.TaskID = res.Task.ID
	}
	// Output:
	// TASK_STATE_INPUT_REQUIRED
	// TASK_STATE_COMPLETED
}

// The loop sees each event once, whatever happens to the connection.
func ExampleClient_SendStreamingMessage() {
	host, stop := demo()
	defer stop()
	ctx := context.Background()

	c, err := a2aclient.Dial(ctx, host, &a2aclient.Options{Bindings: []string{a2a.BindingHTTPJSON}})
	if err != nil {
		fmt.Println(err)
		return
	}
	task := new(a2a.Task)
	for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("stream 3 0")}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		task.ApplyEvent(ev)
		if u := ev.ArtifactUpdate; u != nil {
			fmt.Print(u.Artifact.Parts[0].Text)
		}
	}
	fmt.Println(task.Status.State)
	// Output:
	// chunk 1
	// chunk 2
	// chunk 3
	// TASK_STATE_COMPLETED
}

func ExampleCardError() {
	_, err := a2aclient.Dial(context.Background(), "./no-such-card.json", nil)
	var card *a2aclient.CardError
	if errors.As(err, &card) && card.Kind == a2aclient.CardNotFound {
		fmt.Println(card)
	}
	// Output: agent card "./no-such-card.json": cannot read the file: no such file or directory
}
