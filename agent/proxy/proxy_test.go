package proxy_test

import (
	"bytes"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/internal/dialect"
)

// TestEveryWire speaks each version over each binding with the agent behind, and 1.0
// with the proxy.
func TestEveryWire(t *testing.T) {
	t.Parallel()
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	for _, version := range []string{"0.1", "0.3", "1.0"} {
		d, _ := dialect.ParseVersion(version)
		for _, binding := range d.Bindings() {
			t.Run(version+" "+binding, func(t *testing.T) {
				t.Parallel()
				front := behind(t, up.url(), &proxy.Options{Version: version, Bindings: []string{binding}}, nil)
				c := dial(t, front, nil)
				t.Run("echo", func(t *testing.T) {
					task := send(t, c, say("echo hello"))
					want(t, task, a2a.TaskStateCompleted, "hello")
					if len(task.Artifacts) != 1 || task.Artifacts[0].Name != "echo" || len(task.Artifacts[0].Parts) != 1 {
						t.Errorf("the artifacts are %s", task.AppendJSON(nil))
					}
				})
				t.Run("message", func(t *testing.T) {
					res, err := c.SendMessage(t.Context(), say("message hi"))
					if err != nil {
						t.Fatal(err)
					}
					if version == "0.1" { // has no messages
						want(t, res.Task, a2a.TaskStateCompleted, "hi")
						return
					}
					// On a busy machine a task comes into being before the agent has answered.
					for tries := 1; res.Message == nil && tries < 100; tries++ {
						want(t, res.Task, a2a.TaskStateCompleted, "hi")
						if res, err = c.SendMessage(t.Context(), say("message hi")); err != nil {
							t.Fatal(err)
						}
					}
					if res.Message == nil || res.Message.Text() != "hi" {
						t.Errorf("the answer is %v", res)
					}
				})
				t.Run("stream", func(t *testing.T) {
					task, chunks, last := new(a2a.Task), 0, false
					for el, err := range c.SendStreamingMessage(t.Context(), say("stream 5 1")) {
						if err != nil {
							t.Fatal(err)
						}
						task.ApplyEvent(el)
						if u := el.ArtifactUpdate; u != nil {
							chunks++
							last = u.LastChunk
						}
					}
					want(t, task, a2a.TaskStateCompleted, "chunk 5")
					if texts(task, "stream") != "chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n" || chunks != 5 || !last {
						t.Errorf("%d chunks, the last one %v: %s", chunks, last, task.AppendJSON(nil))
					}
				})
				t.Run("status", func(t *testing.T) {
					task := send(t, c, say("sleep 0.01"))
					want(t, task, a2a.TaskStateCompleted, "slept 0.01")
					want(t, task, a2a.TaskStateCompleted, "sleeping 0.01 seconds")
				})
				t.Run("ask", func(t *testing.T) {
					task := send(t, c, say("ask who?"))
					want(t, task, a2a.TaskStateInputRequired, "who?")
					task = send(t, c, to(task, "me"))
					want(t, task, a2a.TaskStateCompleted, "me")
					if texts(task, "answer") != "me" {
						t.Errorf("the answer is %s", task.AppendJSON(nil))
					}
				})
				t.Run("auth", func(t *testing.T) {
					task := send(t, c, say("auth"))
					state := a2a.TaskStateAuthRequired
					if version == "0.1" {
						state = a2a.TaskStateInputRequired
					}
					want(t, task, state, "Authorization needed")
					want(t, send(t, c, to(task, "secret")), a2a.TaskStateCompleted, "authorized")
				})
				t.Run("ends", func(t *testing.T) {
					want(t, send(t, c, say("fail for a reason")), a2a.TaskStateFailed, "for a reason")
					state := a2a.TaskStateRejected
					if version == "0.1" {
						state = a2a.TaskStateFailed
					}
					want(t, send(t, c, say("reject not this")), state, "not this")
				})
				t.Run("parts", func(t *testing.T) {
					task := send(t, c, say("file"))
					want(t, task, a2a.TaskStateCompleted, "https://example.com/report.pdf")
					if p := task.Artifacts[0].Parts; len(p) != 2 || !bytes.HasPrefix(p[0].Raw, []byte("\x89PNG\r\n\x1a\n")) || p[0].MediaType != "image/png" {
						t.Errorf("the parts are %s", task.AppendJSON(nil))
					}
					want(t, send(t, c, say("data")), a2a.TaskStateCompleted, `"answer":42`)
				})
				t.Run("cancel", func(t *testing.T) {
					task := begun(t, c, say("stream 1000 10"))
					task, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
					if err != nil {
						t.Fatal(err)
					}
					want(t, task, a2a.TaskStateCanceled, "chunk 1")
					o, ok := proxy.OriginOf(task)
					if !ok {
						t.Fatalf("no origin: %s", task.AppendJSON(nil))
					}
					there, err := dial(t, up, &a2aclient.Options{Version: version}).GetTask(t.Context(), &a2a.GetTaskRequest{ID: o.TaskID})
					if err != nil {
						t.Fatal(err)
					}
					want(t, there, a2a.TaskStateCanceled, "")
				})
			})
		}
	}
}
