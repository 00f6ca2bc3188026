package a2a

import (
	"encoding/json"
	"testing"
	"time"
)

// typicalTask is the task of our measurements: two messages, an artifact and
// metadata, 1.1 KB as JSON.
func typicalTask() *Task {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	return &Task{
		ID: "0195f1d2-7c3a-7e6b-9a54-3f1d2b7c8e90", ContextID: "0195f1d2-7c3a-7e6b-9a54-aaaaaaaaaaaa",
		Status: TaskStatus{State: TaskStateCompleted, Timestamp: at},
		Artifacts: []*Artifact{{
			ArtifactID: "0195f1d2-7c3a-7e6b-9a54-bbbbbbbbbbbb", Name: "report.md", Description: "What was found",
			Parts: []*Part{TextPart("The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog.\nThe quick brown fox jumps over the lazy dog.")},
		}},
		History: []*Message{{
			MessageID: "0195f1d2-7c3a-7e6b-9a54-cccccccccccc", ContextID: "0195f1d2-7c3a-7e6b-9a54-aaaaaaaaaaaa",
			TaskID: "0195f1d2-7c3a-7e6b-9a54-3f1d2b7c8e90", Role: RoleUser,
			Parts: []*Part{TextPart("Please look for foxes and dogs, and write a short report about what they do.")},
		}, {
			MessageID: "0195f1d2-7c3a-7e6b-9a54-dddddddddddd", ContextID: "0195f1d2-7c3a-7e6b-9a54-aaaaaaaaaaaa",
			TaskID: "0195f1d2-7c3a-7e6b-9a54-3f1d2b7c8e90", Role: RoleAgent,
			Parts: []*Part{TextPart("Looking.")},
		}},
		Metadata: JSON(`{"priority":3,"source":"benchmark","labels":["a","b","c"],"nested":{"large":12345678901234567890,"none":null}}`),
	}
}

func BenchmarkEncodeTask(b *testing.B) {
	task := typicalTask()
	var buf []byte
	for b.Loop() {
		buf = task.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
}

// BenchmarkEncode is what a stream and a log write again and again.
func BenchmarkEncode(b *testing.B) {
	const id, in = "0195f1d2-7c3a-7e6b-9a54-3f1d2b7c8e90", "0195f1d2-7c3a-7e6b-9a54-aaaaaaaaaaaa"
	chunk := &TaskArtifactUpdateEvent{
		TaskID: id, ContextID: in, Append: true, Generation: 7,
		Artifact: &Artifact{ArtifactID: "0195f1d2-7c3a-7e6b-9a54-bbbbbbbbbbbb", Parts: []*Part{TextPart("a few words of an answer")}},
	}
	status := &TaskStatusUpdateEvent{
		TaskID: id, ContextID: in, Generation: 8,
		Status: TaskStatus{State: TaskStateCompleted, Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
	}
	message := &Message{MessageID: "0195f1d2-7c3a-7e6b-9a54-cccccccccccc", ContextID: in, TaskID: id, Role: RoleUser, Parts: []*Part{TextPart("a few words of a question")}}
	for _, c := range []struct {
		name string
		of   interface{ AppendJSON([]byte) []byte }
	}{{"chunk", chunk}, {"status", status}, {"message", message}} {
		b.Run(c.name, func(b *testing.B) {
			buf := make([]byte, 0, 4<<10)
			b.ReportAllocs()
			for b.Loop() {
				buf = c.of.AppendJSON(buf[:0])
			}
		})
	}
	b.Run("entry", func(b *testing.B) {
		e := &Entry{Kind: EntryArtifact, Artifact: chunk}
		buf := make([]byte, 0, 4<<10)
		b.ReportAllocs()
		for b.Loop() {
			buf = e.AppendBody(buf[:0])
		}
	})
}

func BenchmarkDecodeTask(b *testing.B) {
	doc := typicalTask().AppendJSON(nil)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		var task Task
		if err := task.UnmarshalJSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	doc := (&SendMessageRequest{Message: &Message{
		MessageID: "0195f1d2-7c3a-7e6b-9a54-cccccccccccc", Role: RoleUser, Parts: []*Part{TextPart("a few words of a question")},
	}}).AppendJSON(nil)
	b.ReportAllocs()
	for b.Loop() {
		var r SendMessageRequest
		if err := r.UnmarshalJSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	doc := typicalTask().AppendJSON(nil)
	b.SetBytes(int64(len(doc)))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(doc, MaxDepth)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(doc)
		}
	})
}
