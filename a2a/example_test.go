package a2a_test

import (
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/a2a"
)

func Example() {
	req := &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "1",
		Role:      a2a.RoleUser,
		Parts:     []*a2a.Part{a2a.TextPart("hello"), a2a.DataPart(a2a.JSON(`{"id":12345678901234567890}`))},
	}}
	fmt.Printf("%s\n", req.AppendJSON(nil))

	err := new(a2a.SendMessageRequest).UnmarshalJSON([]byte(`{"message":{"parts":[{"raw":7}]}}`))
	fmt.Println(errors.Is(err, a2a.ErrInvalidParams), err)
	// Output:
	// {"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hello"},{"data":{"id":12345678901234567890}}]}}
	// true message.parts[0].raw: expected a string in base64, got a number
}

func ExampleSendMessageRequest_Validate() {
	req := &a2a.SendMessageRequest{Message: &a2a.Message{Role: a2a.RoleUser}}
	fmt.Println(req.Validate())
	// Output:
	// message.messageId: is required; message.parts: at least one part is required
}

func ExampleTask_ApplyEvent() {
	var task a2a.Task
	for _, element := range []string{
		`{"task":{"id":"1","status":{"state":"TASK_STATE_WORKING"}}}`,
		`{"artifactUpdate":{"taskId":"1","artifact":{"artifactId":"a","parts":[{"text":"Hello, "}]}}}`,
		`{"artifactUpdate":{"taskId":"1","artifact":{"artifactId":"a","parts":[{"text":"world"}]},"append":true,"lastChunk":true}}`,
		`{"statusUpdate":{"taskId":"1","status":{"state":"TASK_STATE_COMPLETED"}}}`,
	} {
		var r a2a.StreamResponse
		if err := r.UnmarshalJSON([]byte(element)); err != nil {
			fmt.Println(err)
			return
		}
		task.ApplyEvent(&r)
	}
	fmt.Println(task.Status.State)
	for _, p := range task.Artifacts[0].Parts {
		fmt.Print(p.Text)
	}
	// Output:
	// TASK_STATE_COMPLETED
	// Hello, world
}
