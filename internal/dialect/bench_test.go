package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/protobuf/proto"
)

// benchTask is a small task as most are: a question, an answer, some metadata.
func benchTask() *a2a.Task {
	const id, in = "0199c0de-0000-7000-8000-000000000001", "0199c0de-0000-7000-8000-000000000002"
	return &a2a.Task{
		ID: id, ContextID: in,
		Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		Artifacts: []*a2a.Artifact{{
			ArtifactID: "0199c0de-0000-7000-8000-000000000003", Name: "answer", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("some words ", 10))},
		}},
		History: []*a2a.Message{{
			MessageID: "0199c0de-0000-7000-8000-000000000004", TaskID: id, ContextID: in, Role: a2a.RoleUser,
			Parts: []*a2a.Part{a2a.TextPart("a few words of a question")},
		}},
		Metadata: a2a.JSON(`{"priority":3,"labels":["a","b"]}`),
	}
}

func benchSend(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "0199c0de-0000-7000-8000-000000000004", TaskID: "0199c0de-0000-7000-8000-000000000001", ContextID: "0199c0de-0000-7000-8000-000000000002", Role: a2a.RoleUser, Parts: parts,
	}}
}

func benchChunk(t *a2a.Task) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: 7, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: t.ID, ContextID: t.ContextID, Append: true,
		Artifact: &a2a.Artifact{ArtifactID: t.Artifacts[0].ArtifactID, Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 100))}},
	}}
}

// BenchmarkCodec is what a call costs at the edge, in each dialect over each
// binding: the request that is read, the task that answers it, an event.
func BenchmarkCodec(b *testing.B) {
	for _, d := range []Dialect{V01, V03, V10, V11} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			if c := CodecOf(d, binding); c != nil {
				b.Run(d.Version()+"/"+binding, func(b *testing.B) { benchCodec(b, c) })
			}
		}
		if g := GRPCOf(d); g != nil {
			b.Run(d.Version()+"/"+a2a.BindingGRPC, func(b *testing.B) { benchGRPC(b, g) })
		}
	}
}

func benchCodec(b *testing.B, c Codec) {
	b.Run("decode", func(b *testing.B) { benchDecode(b, c, a2a.TextPart("a few words of a question")) })
	task := benchTask()
	b.Run("result", func(b *testing.B) {
		req := &a2a.GetTaskRequest{ID: task.ID}
		buf := make([]byte, 0, 4<<10)
		b.ReportAllocs()
		for b.Loop() {
			buf = c.AppendResult(buf[:0], GetTask, req, task)
		}
	})
	b.Run("event", func(b *testing.B) {
		e, el := c.Events(SendStreamingMessage, benchSend(a2a.TextPart("go"))), benchChunk(task)
		buf := make([]byte, 0, 4<<10)
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = e.Append(buf[:0], el, 0)
		}
	})
}

func benchDecode(b *testing.B, c Codec, part *a2a.Part) {
	doc := c.AppendRequest(nil, SendMessage, benchSend(part))
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.DecodeRequest(SendMessage, doc); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCodecFile reads a message with a file of 1 MiB.
func BenchmarkCodecFile(b *testing.B) {
	file := a2a.RawPart(make([]byte, 1<<20), "image/png", "f")
	for _, d := range []Dialect{V01, V03, V10} {
		b.Run(d.Version(), func(b *testing.B) { benchDecode(b, CodecOf(d, a2a.BindingJSONRPC), file) })
	}
}

// benchGRPC counts the bytes of messages in, for that is half of what they cost.
func benchGRPC(b *testing.B, g GRPC) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("decode", func(b *testing.B) {
		m, err := g.Request(SendMessage, benchSend(a2a.TextPart("a few words of a question")))
		must(err)
		doc, err := proto.Marshal(m)
		must(err)
		b.ReportAllocs()
		for b.Loop() {
			in := g.NewRequest(SendMessage)
			must(proto.Unmarshal(doc, in))
			_, err := g.DecodeRequest(SendMessage, in)
			must(err)
		}
	})
	task := benchTask()
	b.Run("result", func(b *testing.B) {
		req := &a2a.GetTaskRequest{ID: task.ID}
		buf := make([]byte, 0, 4<<10)
		b.ReportAllocs()
		for b.Loop() {
			m, err := g.Result(GetTask, req, task)
			must(err)
			_, err = proto.MarshalOptions{}.MarshalAppend(buf, m)
			must(err)
		}
	})
	b.Run("event", func(b *testing.B) {
		e, el := g.Events(SendStreamingMessage, benchSend(a2a.TextPart("go"))), benchChunk(task)
		buf := make([]byte, 0, 4<<10)
		b.ReportAllocs()
		for b.Loop() {
			all, err := e.Messages(el)
			must(err)
			for _, m := range all {
				_, err = proto.MarshalOptions{}.MarshalAppend(buf, m)
				must(err)
			}
		}
	})
}

// BenchmarkPage is a page of 50 tasks, as 1.0 and 0.3 write it.
func BenchmarkPage(b *testing.B) {
	page := &a2a.ListTasksResponse{PageSize: 50, TotalSize: 1000, NextPageToken: "next"}
	for range 50 {
		page.Tasks = append(page.Tasks, benchTask())
	}
	for _, d := range []Dialect{V10, V03} {
		c := CodecOf(d, a2a.BindingHTTPJSON)
		b.Run(d.Version(), func(b *testing.B) {
			buf := make([]byte, 0, 128<<10)
			b.ReportAllocs()
			for b.Loop() {
				buf = c.AppendResult(buf[:0], ListTasks, &a2a.ListTasksRequest{}, page)
			}
		})
	}
}
