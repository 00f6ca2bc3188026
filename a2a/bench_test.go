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
