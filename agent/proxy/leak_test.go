package proxy_test

import (
	"runtime"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// However tasks end, nothing goes on after them.
func TestNothingIsLeft(t *testing.T) {
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	front := behind(t, up.url(), nil, nil)
	c := dial(t, front, nil)
	send(t, c, say("echo warm up"))
	before := runtime.NumGoroutine()
	for range 20 {
		send(t, c, say("stream 3 0"))
		send(t, c, say("fail"))
		task := send(t, c, say("ask who?"))
		if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
			t.Fatal(err)
		}
		task = begun(t, c, say("stream 1000 10"))
		if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
			t.Fatal(err)
		}
	}
	// Idle connections are kept, and the goroutines of both their ends.
	poll(t, func() bool { return runtime.NumGoroutine() <= before+20 })
}
