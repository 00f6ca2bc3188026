package engine

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// BenchmarkGetTask is a finished task on SQLite, to the bytes of the answer: from
// the cache, from the store, and decoded, as it is for versions before 1.0 and for
// gRPC.
func BenchmarkGetTask(b *testing.B) {
	for _, kept := range []bool{true, false} {
		for _, encoded := range []bool{true, false} {
			b.Run(fmt.Sprintf("cached=%v/encoded=%v", kept, encoded), func(b *testing.B) {
				o := &Options{}
				if !kept {
					o.Cache = -1
				}
				w := newWorldWith(b, openBench(b), parrot, testCard(), o)
				ids := fifty(b, w.Engine)
				var buf []byte
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					task, err := w.GetTask(b.Context(), &a2a.GetTaskRequest{ID: ids[i%len(ids)], Encoded: encoded})
					if err != nil {
						b.Fatal(err)
					}
					buf = task.AppendPlain(buf[:0])
				}
			})
		}
	}
}

// BenchmarkListTasks is a page of 50 finished tasks on SQLite, to the bytes of the
// answer.
func BenchmarkListTasks(b *testing.B) {
	w := newWorld(b, openBench(b), parrot)
	fifty(b, w.Engine)
	for _, encoded := range []bool{true, false} {
		for _, artifacts := range []bool{false, true} {
			b.Run(fmt.Sprintf("encoded=%v/artifacts=%v", encoded, artifacts), func(b *testing.B) {
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					page, err := w.ListTasks(b.Context(), &a2a.ListTasksRequest{IncludeArtifacts: artifacts, Encoded: encoded})
					if err != nil || len(page.Tasks) != 50 {
						b.Fatalf("%+v, %v", page, err)
					}
					buf = page.AppendPlain(buf[:0])
				}
			})
		}
	}
}
