package dialect

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func BenchmarkV03(b *testing.B) {
	task := &a2a.Task{
		ID: "0199c0de-0000-7000-8000-000000000001", ContextID: "0199c0de-0000-7000-8000-000000000002",
		Status:    a2a.TaskStatus{State: a2a.TaskStateCompleted},
		Artifacts: []*a2a.Artifact{{ArtifactID: "a1", Name: "answer", Parts: []*a2a.Part{a2a.TextPart("hello, world")}}},
		History:   []*a2a.Message{{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}}},
	}
	chunk := &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: task.ID, ContextID: task.ContextID, Append: true, Artifact: &a2a.Artifact{ArtifactID: "a1", Parts: []*a2a.Part{a2a.TextPart("some more words")}},
	}}
	send := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}}}
	file := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.RawPart(make([]byte, 1<<20), "image/png", "f")}}}
	for form, c := range v03Forms {
		buf := make([]byte, 0, 1<<10)
		b.Run("result/"+form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.AppendResult(buf, GetTask, nil, task)
			}
		})
		b.Run("event/"+form, func(b *testing.B) {
			b.ReportAllocs()
			e := c.Events(SendStreamingMessage, nil)
			for b.Loop() {
				e.Append(buf, chunk, 0)
			}
		})
		for name, req := range map[string]*a2a.SendMessageRequest{"send": send, "1 MiB": file} {
			doc := c.AppendRequest(nil, SendMessage, req)
			b.Run(name+"/"+form, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(doc)))
				for b.Loop() {
					if _, err := c.DecodeRequest(SendMessage, doc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
