package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/proxy"
)

// An agent that breaks the protocol fails the task with a reason that callers can
// read, and its work ends there.
func TestHostile(t *testing.T) {
	t.Parallel()
	endless := func(el func(i int) *a2a.StreamResponse) func(context.Context, *a2a.SendMessageRequest, func(*a2a.StreamResponse, error) bool) {
		return func(ctx context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
			for i := 0; ctx.Err() == nil && yield(el(i), nil); i++ {
			}
		}
	}
	begun := task("up", a2a.TaskStateWorking)
	for _, c := range []struct {
		name   string
		stream func(context.Context, *a2a.SendMessageRequest, func(*a2a.StreamResponse, error) bool)
		want   string
	}{
		{"endless artifact", endless(func(i int) *a2a.StreamResponse { return chunk("up", "a", strings.Repeat("x", 1000), i > 0, false) }),
			"sent more than 100000 bytes"},
		{"endless artifacts", endless(func(i int) *a2a.StreamResponse { return chunk("up", fmt.Sprint(i), "x", false, false) }),
			"sent more than 25 artifacts"},
		{"endless statuses", endless(func(i int) *a2a.StreamResponse { return status("up", a2a.TaskStateWorking, fmt.Sprint(i)) }),
			"sent more than"},
		{"endless nothing", endless(func(int) *a2a.StreamResponse { return status("up", a2a.TaskStateWorking, "") }),
			"sent more than 500 events"},
		{"huge part", says(begun, chunk("up", "a", strings.Repeat("x", 1<<20), false, false)), "sent more than 100000 bytes"},
		{"another task", says(begun, status("other", a2a.TaskStateCompleted, "")), "answered about another task"},
		{"another task's artifact", says(begun, chunk("other", "a", "x", false, false)), "answered about another task"},
		{"a whole other task", says(begun, task("other", a2a.TaskStateCompleted)), "answered about another task"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := (&puppet{stream: c.stream, get: func(id string) (*a2a.Task, error) { return task(id, a2a.TaskStateWorking).Task, nil }}).serve(t)
			front := behind(t, up.url, &proxy.Options{MaxBytes: 100_000, MaxEvents: 500}, nil)
			want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateFailed, c.want)
			if up.cancels() != 1 {
				t.Errorf("the task was cancelled %d times there", up.cancels())
			}
		})
	}
}

// An odd answer that has a meaning is taken for it.
func TestOdd(t *testing.T) {
	t.Parallel()
	whole := func(id string) (*a2a.Task, error) {
		el := task(id, a2a.TaskStateCompleted).Task
		for _, a := range []string{"a", "b"} {
			el.Artifacts = append(el.Artifacts, &a2a.Artifact{ArtifactID: a, Name: a, Parts: []*a2a.Part{a2a.TextPart("one"), a2a.TextPart("two")}})
		}
		return el, nil
	}
	up := &puppet{get: whole, stream: says(
		status("up", a2a.TaskStateWorking, "no task to begin with"),
		chunk("up", "a", "one", true, true), // appended to nothing
		chunk("up", "a", "two", true, false),
		&a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: "up", Artifact: &a2a.Artifact{ArtifactID: "b"}}}, // no parts
		status("up", a2a.TaskStateCompleted, "done"),
	)}
	front := behind(t, up.serve(t).url, nil, nil)
	task := send(t, dial(t, front, nil), say("x"))
	want(t, task, a2a.TaskStateCompleted, "done")
	want(t, task, a2a.TaskStateCompleted, "no task to begin with")
	if len(task.Artifacts) != 2 || texts(task, "a") != "onetwo" || texts(task, "b") != "onetwo" {
		t.Errorf("the artifacts are %s", task.AppendJSON(nil))
	}
}

// What is not of the protocol at all.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"not JSON":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{garbage") },
		"no result": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"jsonrpc":"2.0","id":1}`) },
		"a stream of nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: [1,2\n\n")
		},
		"no id": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}}`+"\n\n")
		},
		"a page with secrets": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "<html>password: hunter2</html>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(nil)
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprintf(w, `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[
						{"url":"http://%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
					return
				}
				answer(w, r)
			})
			s.Start()
			defer s.Close()
			front := behind(t, s.URL, &proxy.Options{Patience: -1, Version: "1.0"}, nil)
			task := send(t, dial(t, front, nil), say("x"))
			want(t, task, a2a.TaskStateFailed, "the agent behind this one")
			if text := string(task.AppendJSON(nil)); strings.Contains(text, "hunter2") || strings.Contains(text, s.URL[7:]) {
				t.Errorf("callers learn %s", text)
			}
		})
	}
}

// One that never answers can be given up.
func TestHangs(t *testing.T) {
	t.Parallel()
	up := (&puppet{stream: says()}).serve(t)
	front := behind(t, up.url, nil, nil)
	c := dial(t, front, nil)
	r := say("x")
	r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	task := send(t, c, r)
	poll(t, func() bool { return len(up.messages()) > 0 })
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	// In words of the proxy, so that it was not the server that gave up waiting for it.
	want(t, ended(t, c, task.ID), a2a.TaskStateCanceled, "It is not known whether the agent behind this one took the message")
}

// A cancellation ends as the agent's does.
func TestCancelIsHonest(t *testing.T) {
	t.Parallel()
	state := func(s a2a.TaskState) func(string) (*a2a.Task, error) {
		return func(id string) (*a2a.Task, error) { return task(id, s).Task, nil }
	}
	for _, c := range []struct {
		name   string
		get    func(string) (*a2a.Task, error)
		cancel func(string) (*a2a.Task, error)
		state  a2a.TaskState
		text   string
	}{
		{"cancelled", state(a2a.TaskStateWorking), state(a2a.TaskStateCanceled), a2a.TaskStateCanceled, ""},
		{"later", state(a2a.TaskStateCanceled), state(a2a.TaskStateWorking), a2a.TaskStateCanceled, ""},
		{"too late", state(a2a.TaskStateCompleted), nil, a2a.TaskStateCompleted, ""},
		{"not at all", state(a2a.TaskStateWorking), nil, a2a.TaskStateCanceled, "did not cancel its task, which may continue there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := (&puppet{stream: says(task("up", a2a.TaskStateWorking), chunk("up", "a", "x", false, false)), get: c.get, cancel: c.cancel}).serve(t)
			front := behind(t, up.url, nil, nil)
			client := dial(t, front, nil)
			task := begun(t, client, say("x"))
			_, err := client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if (err == nil) != (c.state == a2a.TaskStateCanceled) {
				t.Errorf("the answer is %v", err)
			}
			task = ended(t, client, task.ID)
			want(t, task, c.state, c.text)
			if texts(task, "a") != "x" {
				t.Errorf("the artifact is lost: %s", task.AppendJSON(nil))
			}
		})
	}
}
