package a2aserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
)

// greeter is a service of one operation.
type greeter struct{ a2a.Unimplemented }

func (greeter) SendMessage(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return &a2a.SendMessageResponse{Message: &a2a.Message{
		MessageID: "m2", ContextID: "c1", Role: a2a.RoleAgent,
		Parts: []*a2a.Part{a2a.TextPart("hello " + req.Message.Text())},
	}}, nil
}

func Example() {
	card := &a2a.AgentCard{Name: "greeter", Description: "Greets.", Version: "1"}
	srv := httptest.NewServer(a2aserver.New(greeter{}, card, nil))
	defer srv.Close()

	res, err := http.Post(srv.URL+"/message:send", "application/json",
		strings.NewReader(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body))
	// Output: {"message":{"messageId":"m2","contextId":"c1","role":"ROLE_AGENT","parts":[{"text":"hello Ada"}]}}
}
