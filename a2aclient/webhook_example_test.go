package a2aclient_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2aclient"
)

// A receiver that prints each status. The token is the one of the configuration, as in
// parley send --push-url URL --push-token TOKEN.
func ExampleWebhookVerifier() {
	const token = "whsec_c2l4IHRpbWVzIGZvdXIgcmFuZG9tIGJ5dGVz"
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/hook", v.Handler(func(ctx context.Context, d *a2aclient.WebhookDelivery) error {
		if d.Event != nil && d.Event.StatusUpdate != nil { // d.Task is for agents of 0.x
			fmt.Println("task", d.Event.StatusUpdate.TaskID, "is", d.Event.StatusUpdate.Status.State)
		}
		return nil
	}))

	// What a server posts, and somebody else:
	for _, key := range []string{token, "whsec_c29tZWJvZHkgZWxzZQ=="} {
		answer := httptest.NewRecorder()
		http.DefaultServeMux.ServeHTTP(answer, post("/hook", key, `{"statusUpdate":{"taskId":"1","contextId":"2","status":{"state":"TASK_STATE_COMPLETED"}}}`))
		fmt.Println(answer.Code)
	}
	// Output:
	// task 1 is TASK_STATE_COMPLETED
	// 200
	// 401
}

// post makes a request as a server signs it with a token.
func post(path, token, body string) *http.Request {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(token, "whsec_"))
	if err != nil {
		log.Fatal(err)
	}
	id, at := "msg_1", strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, key)
	fmt.Fprintf(sum, "%s.%s.%s", id, at, body)
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/a2a+json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	return r
}
