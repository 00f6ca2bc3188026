package interop

import (
	"errors"
	"iter"
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// request is a message of parts, or of one text.
func request[P string | *a2a.Part](parts ...P) *a2a.SendMessageRequest {
	var list []*a2a.Part
	for _, p := range parts {
		switch p := any(p).(type) {
		case string:
			list = append(list, a2a.NewTextPart(p))
		case *a2a.Part:
			list = append(list, p)
		}
	}
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, list...)}
}

// answer is the next message of a task.
func answer(t *a2a.Task, text string) *a2a.SendMessageRequest {
	req := request(text)
	req.Message.TaskID, req.Message.ContextID = t.ID, t.ContextID
	return req
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) result(req *a2a.SendMessageRequest) a2a.SendMessageResult {
	w.Helper()
	w.said.say(">", req, nil)
	res, err := w.client.SendMessage(w.ctx, req)
	w.said.say("<", res, err)
	w.must(err)
	return res
}

func (w *world) task(req *a2a.SendMessageRequest) *a2a.Task {
	w.Helper()
	task, ok := w.result(req).(*a2a.Task)
	if !ok {
		w.Fatal("not a task")
	}
	return task
}

func (w *world) send(text string) *a2a.Task {
	w.Helper()
	return w.task(request(text))
}

// begin starts a task and does not wait for it.
func (w *world) begin(text string) *a2a.Task {
	w.Helper()
	req := request(text)
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return w.task(req)
}

func (w *world) get(id a2a.TaskID, history int) *a2a.Task {
	w.Helper()
	task, err := w.client.GetTask(w.ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &history})
	w.said.say("<", task, err)
	w.must(err)
	return task
}

func (w *world) cancel(id a2a.TaskID) *a2a.Task {
	w.Helper()
	task, err := w.client.CancelTask(w.ctx, &a2a.CancelTaskRequest{ID: id})
	w.said.say("<", task, err)
	w.must(err)
	return task
}

func (w *world) stream(req *a2a.SendMessageRequest) []a2a.Event {
	w.Helper()
	return w.events(w.client.SendStreamingMessage(w.ctx, req))
}

// events drains a stream that ends well and is not empty.
func (w *world) events(seq iter.Seq2[a2a.Event, error]) []a2a.Event {
	w.Helper()
	all, err := w.drain(seq)
	w.must(err)
	if len(all) == 0 {
		w.Fatal("the stream is empty")
	}
	return all
}

func (w *world) drain(seq iter.Seq2[a2a.Event, error]) (all []a2a.Event, err error) {
	for ev, err := range seq {
		w.said.say("<", ev, err)
		if err != nil {
			return nil, err
		}
		all = append(all, ev)
	}
	return all, nil
}

// wantStreamError drains a stream that is to bring nothing but an error.
func (w *world) wantStreamError(want error, seq iter.Seq2[a2a.Event, error]) {
	w.Helper()
	var got error
	for ev, err := range seq {
		if err == nil {
			w.Errorf("the stream brings %T", ev)
		}
		got = err
	}
	if got != nil || !w.deafToAnswers {
		w.wantError(want, got)
	}
}

func (w *world) wantError(want, got error) {
	w.Helper()
	w.said.say("!", nil, got)
	if !errors.Is(got, want) {
		w.Errorf("error %v, want %v", got, want)
	}
}

func (w *world) wantState(t *a2a.Task, want a2a.TaskState) {
	w.Helper()
	if t.Status.State != want {
		w.Errorf("state %s, want %s", t.Status.State, want)
	}
}

// wantLast wants a stream to end with a state, told by a status or the task.
func (w *world) wantLast(events []a2a.Event, want a2a.TaskState) {
	w.Helper()
	switch last := events[len(events)-1].(type) {
	case *a2a.TaskStatusUpdateEvent:
		w.wantState(&a2a.Task{Status: last.Status}, want)
	case *a2a.Task:
		w.wantState(last, want)
	default:
		w.Errorf("the stream ends with %T", last)
	}
}

func (w *world) wantStatus(t *a2a.Task, text string) {
	w.Helper()
	if t.Status.Message == nil {
		w.Errorf("no status message, want %q", text)
		return
	}
	w.wantParts(t.Status.Message.Parts, a2a.NewTextPart(text))
}

func (w *world) wantTexts(t *a2a.Task, want string) {
	w.Helper()
	if got := textsOf(t); got != want {
		w.Errorf("text %q, want %q", got, want)
	}
}

// wantParts compares what parts say; what SDKs keep in metadata for themselves
// is theirs, and a media type that nobody asked for does no harm.
func (w *world) wantParts(got a2a.ContentParts, want ...*a2a.Part) {
	w.Helper()
	if len(got) != len(want) {
		w.Errorf("%d parts, want %d", len(got), len(want))
		return
	}
	for i := range want {
		name := want[i].Filename
		if w.noFilename {
			name = ""
		}
		if !reflect.DeepEqual(got[i].Content, want[i].Content) || got[i].Filename != name ||
			want[i].MediaType != "" && got[i].MediaType != want[i].MediaType {
			w.Errorf("part %d: %#v %q %q,\nwant %#v %q %q", i, got[i].Content, got[i].MediaType, got[i].Filename,
				want[i].Content, want[i].MediaType, name)
		}
	}
}

func textsOf(t *a2a.Task) string {
	var b strings.Builder
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

func chunksOf(events []a2a.Event) (chunks []*a2a.TaskArtifactUpdateEvent) {
	for _, ev := range events {
		if c, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
			chunks = append(chunks, c)
		}
	}
	return chunks
}
