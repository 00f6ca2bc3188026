package interop

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// client is what the checks use of *a2aclient.Client, which is one; the other
// is the parley command.
type client interface {
	SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	SendStreamingMessage(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
	GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error)
	ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error)
	SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error]
}

// pair is one client with one server.
type pair struct {
	role    string // of a2a-go
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
	connect func(*testing.T, *transcript) client

	agent         string // where the webhooks come from; empty if the client asks for none
	noList        bool   // the version or the SDK has no list
	noFilename    bool   // the SDK drops the names of files
	objectsOnly   bool   // the SDK sends no data but objects
	authIsOutside bool   // the SDK's turn goes on after auth-required and takes no message meanwhile
	deafToAnswers bool   // the SDK takes an answer that is no stream for an empty one, errors too
	ended         error  // what who subscribes to a finished task gets, where it is an error
}

// run runs all checks, each with a client and a transcript of its own, and
// adds the pair's row to the table.
func (p pair) run(t *testing.T) {
	t.Helper()
	t.Run(fmt.Sprintf("%s %s %s", p.role, p.binding, p.version), func(t *testing.T) {
		var passed, skipped atomic.Int32
		for _, c := range checks {
			t.Run(c.name, func(t *testing.T) {
				said := &transcript{}
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				t.Cleanup(func() {
					switch {
					case t.Failed():
						t.Logf("transcript:\n%s", said)
					case t.Skipped():
						skipped.Add(1)
					default:
						passed.Add(1)
					}
				})
				c.check(&world{T: t, ctx: ctx, pair: p, client: p.connect(t, said), said: said})
			})
		}
		row(t, p, fmt.Sprintf("%d/%d", passed.Load(), len(checks)-int(skipped.Load())))
	})
}

// row appends a line to the file that INTEROP_TABLE names.
func row(t *testing.T, p pair, passed string) {
	name := os.Getenv("INTEROP_TABLE")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "a2a-go\tv2.3.1\t%s\t%s %s\t%s\n", p.role, p.binding, p.version, passed)
}

// world is what a check has at hand.
type world struct {
	*testing.T
	ctx context.Context
	pair
	client client
	said   *transcript
}

var checks = []struct {
	name  string
	check func(*world)
}{
	{"send and wait", func(w *world) {
		task := w.send("echo héllo, 世界 🌍 <&>")
		w.wantState(task, a2a.TaskStateCompleted)
		w.wantTexts(task, "héllo, 世界 🌍 <&>")
		if task.Artifacts[0].Name != "echo" || task.Artifacts[0].ID == "" || task.ContextID == "" {
			w.Errorf("task %+v, want an artifact named echo, ids", task)
		}
	}},
	{"send and do not wait", func(w *world) {
		task := w.begin("sleep 60")
		if s := task.Status.State; s != a2a.TaskStateSubmitted && s != a2a.TaskStateWorking {
			w.Errorf("state %s, want one that goes on", s)
		}
		w.cancel(task.ID)
	}},
	{"direct message", func(w *world) {
		var m *a2a.Message
		ok := false
		for n := 0; n < 10 && !ok; n++ { // an agent that needs more than 100 ms, as on a busy machine, is given a task
			m, ok = w.result(request("message good morning")).(*a2a.Message)
		}
		if !ok {
			w.Fatal("not a message")
		}
		w.wantParts(m.Parts, a2a.NewTextPart("good morning"))
		if m.Role != a2a.MessageRoleAgent || m.ID == "" || m.ContextID == "" {
			w.Errorf("message %+v, want role and ids", m)
		}
	}},
	{"direct message in a stream", func(w *world) {
		var events []a2a.Event
		for n := 0; n < 10 && len(events) != 1; n++ { // as for the message
			events = w.stream(request("message only this"))
		}
		m, ok := events[0].(*a2a.Message)
		if len(events) != 1 || !ok {
			w.Fatalf("%d events, want one message", len(events))
		}
		w.wantParts(m.Parts, a2a.NewTextPart("only this"))
	}},
	{"stream of chunks", func(w *world) {
		events := w.stream(request("stream 5 10"))
		first, ok := events[0].(*a2a.Task)
		if !ok {
			w.Fatalf("the stream begins with %T, want the task", events[0])
		}
		chunks := chunksOf(events)
		if len(chunks) != 5 {
			w.Fatalf("%d chunks, want 5", len(chunks))
		}
		for i, c := range chunks {
			w.wantParts(c.Artifact.Parts, a2a.NewTextPart(fmt.Sprintf("chunk %d\n", i+1)))
			if c.Append != (i > 0) || c.LastChunk != (i == 4) || c.Artifact.ID != chunks[0].Artifact.ID {
				w.Errorf("chunk %d: append %t, last %t, artifact %s", i+1, c.Append, c.LastChunk, c.Artifact.ID)
			}
		}
		w.wantLast(events, a2a.TaskStateCompleted)
		w.wantTexts(w.get(first.ID, 0), "chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n")
	}},
	{"files and data from the agent", func(w *world) {
		w.wantParts(w.send("file").Artifacts[0].Parts, pixel, report)
		w.wantParts(w.send("data").Artifacts[0].Parts, a2a.NewDataPart(map[string]any{
			"answer": 42.0, "ok": true, "list": []any{1.0, "two", nil},
			"nested": map[string]any{"pi": 3.5, "text": "héllo"},
		}))
	}},
	{"files and data to the agent", func(w *world) {
		parts := []*a2a.Part{a2a.NewTextPart("ask where to?"), pixel, report,
			a2a.NewDataPart(map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "ü": "x"})}
		w.wantParts(w.get(w.task(request(parts...)).ID, 10).History[0].Parts, parts...)
	}},
	{"data that is no object", func(w *world) {
		if w.objectsOnly {
			w.Skip("not with this SDK")
		}
		parts := []*a2a.Part{a2a.NewTextPart("ask again?"), a2a.NewDataPart([]any{1.0, "two", nil}),
			a2a.NewDataPart("three"), a2a.NewDataPart(4.5)}
		w.wantParts(w.get(w.task(request(parts...)).ID, 10).History[0].Parts, parts...)
	}},
	{"file of 1 MiB", func(w *world) {
		raw := make([]byte, 1<<20)
		rand.Read(raw)
		task := w.task(request(a2a.NewTextPart("ask for more?"), file(a2a.NewRawPart(raw), "application/octet-stream", "big.bin")))
		if got := w.get(task.ID, 10).History[0].Parts[1].Raw(); !bytes.Equal(got, raw) {
			w.Errorf("%d bytes came back that differ", len(got))
		}
	}},
	{"input-required", func(w *world) {
		asked := w.send("ask Which city?")
		w.wantState(asked, a2a.TaskStateInputRequired)
		w.wantStatus(asked, "Which city?")
		done := w.task(answer(asked, "Bremen"))
		w.wantState(done, a2a.TaskStateCompleted)
		w.wantTexts(done, "Bremen")
		if done.ID != asked.ID || done.ContextID != asked.ContextID {
			w.Errorf("task %s of %s, want %s of %s", done.ID, done.ContextID, asked.ID, asked.ContextID)
		}
	}},
	{"input-required by stream", func(w *world) {
		first := w.stream(request("ask Which city?"))
		w.wantLast(first, a2a.TaskStateInputRequired)
		asked := w.get(first[0].TaskInfo().TaskID, 0)
		w.wantLast(w.stream(answer(asked, "Bremen")), a2a.TaskStateCompleted)
		w.wantTexts(w.get(asked.ID, 0), "Bremen")
	}},
	{"auth-required", func(w *world) {
		asked := w.send("auth")
		w.wantState(asked, a2a.TaskStateAuthRequired)
		if w.authIsOutside {
			return
		}
		done := w.task(answer(asked, "here you are"))
		w.wantState(done, a2a.TaskStateCompleted)
		w.wantTexts(done, "authorized")
	}},
	{"failed and rejected", func(w *world) {
		failed := w.send("fail out of paper")
		w.wantState(failed, a2a.TaskStateFailed)
		w.wantStatus(failed, "out of paper")
		w.wantState(w.send("reject not today"), a2a.TaskStateRejected)
	}},
	{"history of one", func(w *world) {
		asked := w.send("ask Which city?")
		w.task(answer(asked, "Bremen"))
		if got := w.get(asked.ID, 1); len(got.History) != 1 {
			w.Errorf("%d messages, want 1", len(got.History))
		}
	}},
	{"context and list", func(w *world) {
		first := w.send("echo one")
		req := request("echo two")
		req.Message.ContextID = first.ContextID
		second := w.task(req)
		if second.ContextID != first.ContextID || second.ID == first.ID {
			w.Errorf("task %s of %s, want a second one of %s", second.ID, second.ContextID, first.ContextID)
		}
		if w.noList {
			return
		}
		page, err := w.client.ListTasks(w.ctx, &a2a.ListTasksRequest{ContextID: first.ContextID})
		w.must(err)
		var ids []a2a.TaskID
		for _, t := range page.Tasks {
			ids = append(ids, t.ID)
		}
		if len(ids) != 2 || !slices.Contains(ids, first.ID) || !slices.Contains(ids, second.ID) {
			w.Errorf("listed %v, want %s and %s", ids, first.ID, second.ID)
		}
	}},
	{"subscribe while it runs", func(w *world) {
		var task *a2a.Task
		var events []a2a.Event
		// On a busy machine a short task has ended before anybody subscribes to it.
		for _, pause := range []string{"50", "500", "5000"} {
			task = w.begin("stream 8 " + pause)
			var err error
			if events, err = w.drain(w.client.SubscribeToTask(w.ctx, &a2a.SubscribeToTaskRequest{ID: task.ID})); err == nil {
				break
			}
		}
		if len(events) == 0 {
			w.Fatal("nobody can subscribe")
		}
		first, ok := events[0].(*a2a.Task)
		if !ok || first.ID != task.ID {
			w.Fatalf("the subscription begins with %T, want the task", events[0])
		}
		w.wantLast(events, a2a.TaskStateCompleted)
		// The first task and the events after it make up the whole.
		text := textsOf(first)
		for _, c := range chunksOf(events) {
			text += c.Artifact.Parts[0].Text()
		}
		if want := "chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\nchunk 6\nchunk 7\nchunk 8\n"; text != want {
			w.Errorf("text %q, want %q", text, want)
		}
	}},
	{"subscribe when it is finished", func(w *world) {
		task := w.send("echo done")
		stream := w.client.SubscribeToTask(w.ctx, &a2a.SubscribeToTaskRequest{ID: task.ID})
		if w.ended != nil {
			w.wantStreamError(w.ended, stream)
			return
		}
		w.wantLast(w.events(stream), a2a.TaskStateCompleted)
	}},
	{"cancel with a subscriber", func(w *world) {
		task := w.begin("sleep 60")
		opened := make(chan struct{})
		watched := make(chan a2a.Event, 1)
		go func() {
			var last a2a.Event
			for ev, err := range w.client.SubscribeToTask(w.ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
				w.said.say("<", ev, err)
				if last == nil {
					close(opened)
				}
				if last = ev; err != nil {
					break
				}
			}
			watched <- last
		}()
		select {
		case <-opened:
		case <-w.ctx.Done():
			w.Fatal("the subscription does not begin")
		}
		w.wantState(w.cancel(task.ID), a2a.TaskStateCanceled)
		select {
		case last := <-watched:
			w.wantLast([]a2a.Event{last}, a2a.TaskStateCanceled)
		case <-w.ctx.Done():
			w.Fatal("the subscription does not end")
		}
		w.wantState(w.get(task.ID, 0), a2a.TaskStateCanceled)
	}},
	{"webhook", checkWebhook},
	{"webhook that comes with a message", checkWebhookAlong},
	{"errors", func(w *world) {
		task := w.send("echo done")
		_, err := w.client.GetTask(w.ctx, &a2a.GetTaskRequest{ID: a2a.NewTaskID()})
		w.wantError(a2a.ErrTaskNotFound, err)
		_, err = w.client.CancelTask(w.ctx, &a2a.CancelTaskRequest{ID: a2a.NewTaskID()})
		w.wantError(a2a.ErrTaskNotFound, err)
		_, err = w.client.CancelTask(w.ctx, &a2a.CancelTaskRequest{ID: task.ID})
		w.wantError(a2a.ErrTaskNotCancelable, err)
		w.wantStreamError(a2a.ErrTaskNotFound, w.client.SubscribeToTask(w.ctx, &a2a.SubscribeToTaskRequest{ID: a2a.NewTaskID()}))
		if _, err = w.client.SendMessage(w.ctx, answer(task, "again")); err == nil {
			w.Error("a finished task takes a message")
		}
	}},
}

var (
	pixel  = file(a2a.NewRawPart(picture()), "image/png", "pixel.png")
	report = file(a2a.NewFileURLPart("https://example.com/report.pdf", "application/pdf"), "application/pdf", "report.pdf")
)

// picture is the demo agent's.
func picture() []byte {
	b, err := os.ReadFile("../../agent/pixel.png")
	if err != nil {
		panic(err)
	}
	return b
}

func file(p *a2a.Part, mediaType, name string) *a2a.Part {
	p.MediaType, p.Filename = mediaType, name
	return p
}
