package a2aserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// decoding is a Service that gets all tasks decoded, like any Service that looks into
// tasks.
type decoding struct{ a2a.Service }

func (s decoding) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	r := *req
	r.Encoded = false
	return s.Service.GetTask(ctx, &r)
}

func (s decoding) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	r := *req
	r.Encoded = false
	return s.Service.ListTasks(ctx, &r)
}

// Tasks that are served as they are stored are the same, byte for byte, to
// clients of each version over each binding in JSON.
func TestAnswersDoNotTellHowTasksAreStored(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	card := &a2a.AgentCard{Name: "test", Description: "Made for tests.", Version: "1", DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"}}
	e := engine.New(st, agent.Func(func(_ context.Context, t *agent.Turn) error {
		if err := t.Status("at work"); err != nil {
			return err
		}
		return t.Artifact("copy").Last(t.Message().Parts...)
	}), card, nil)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	var ids []string
	for i, version := range []string{"", "0.1", "0.3", ""} {
		req := &a2a.SendMessageRequest{
			Message: &a2a.Message{
				MessageID: fmt.Sprint("m", i), Role: a2a.RoleUser, Metadata: a2a.JSON(`{ "a":"}}" }`),
				Parts: []*a2a.Part{a2a.TextPart("ünï \x00\"}"), a2a.DataPart(a2a.JSON(`[1, {"history":[]}]`)), a2a.RawPart([]byte{1, 2}, "a/b", "")},
			},
			Metadata: a2a.JSON(`{"of":"the request"}`),
		}
		if version != "" {
			req.Legacy = &a2a.Legacy{Version: a2a.Version(version)}
		}
		if i == 3 { // larger than what is kept within a task
			req.Message.Parts = append(req.Message.Parts, a2a.RawPart(make([]byte, 64<<10), "a/b", ""))
		}
		resp, err := e.SendMessage(t.Context(), req)
		if err != nil || resp.Task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("%+v, %v", resp, err)
		}
		ids = append(ids, resp.Task.ID)
	}
	encoded, decoded := a2aserver.New(e, card, nil), a2aserver.New(decoding{e}, card, nil)
	ask := func(method, target, version, body string) {
		t.Helper()
		var got [2]string
		for i, h := range []http.Handler{encoded, decoded} {
			r := httptest.NewRequest(method, target, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if version != "" {
				r.Header.Set("A2A-Version", version)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got[i] = fmt.Sprintln(w.Code, w.Body)
		}
		if got[0] != got[1] || !strings.HasPrefix(got[0], "200") || strings.Contains(got[0], `"error"`) {
			t.Errorf("%s %s %s in %q\n     got %.2000s\ndecoded %.2000s", method, target, body, version, got[0], got[1])
		}
	}
	for _, id := range ids {
		for _, n := range []string{"", "0", "1", "2", "50"} {
			field, query := "", ""
			if n != "" {
				field, query = `,"historyLength":`+n, "?historyLength="+n
			}
			for _, version := range []string{"1.0", "1.1"} {
				ask("POST", "/", version, rpc("GetTask", `{"id":"`+id+`"`+field+`}`))
				ask("GET", "/tasks/"+id+query, version, "")
			}
			for _, version := range []string{"", "0.3"} {
				ask("POST", "/", version, rpc("tasks/get", `{"id":"`+id+`"`+field+`}`))
				ask("GET", "/v1/tasks/"+id+query, version, "")
			}
		}
	}
	for _, version := range []string{"1.0", "1.1"} {
		for _, artifacts := range []string{"true", "false"} {
			for _, n := range []string{"0", "1", "50"} {
				ask("POST", "/", version, rpc("ListTasks", `{"includeArtifacts":`+artifacts+`,"historyLength":`+n+`}`))
				ask("GET", "/tasks?includeArtifacts="+artifacts+"&historyLength="+n, version, "")
			}
		}
	}
	ask("POST", "/", "0.3", rpc("tasks/list", `{"includeArtifacts":true}`))
}
