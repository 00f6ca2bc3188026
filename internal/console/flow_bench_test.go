package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// chunked is the log of a task that streams n chunks of text into one artifact.
func chunked(n int) []*a2a.Entry {
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	entries := []*a2a.Entry{{Seq: 1, Time: at, Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t", ContextID: "c"}}}
	for i := range n {
		entries = append(entries, &a2a.Entry{Seq: int64(i) + 2, Time: at, Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{
			Append: i > 0, Artifact: &a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("chunk %d ", i))}},
		}})
	}
	return entries
}

// What a browser that connects again costs: the log so far is read without being sent.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		entries := chunked(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var to fragments
				f := newFlow(&to, "/tasks/-/t", "t", "csrf")
				for i := 0; i < len(entries); i += 512 {
					f.add(entries[i:min(i+512, len(entries))])
					to.take()
				}
			}
		})
	}
}

// What a page of a long task costs.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		entries := chunked(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := newSheet("flow")
				f := newFlow(s, "/tasks/-/t", "t", "csrf")
				s.elements[f.prefix+"flow"] = &s.root
				f.add(entries)
				_ = s.HTML()
			}
		})
	}
}
