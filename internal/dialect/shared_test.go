package dialect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// update makes an update in the form that an engine makes, with encodings that its
// readers share.
func (r dice) update(seq int64) *a2a.StreamResponse {
	el, en := &a2a.StreamResponse{Seq: seq}, &a2a.Entry{Seq: seq}
	generation := oneOf(r, 0, 1, seq, 1<<62)
	broken := oneOf(r, r.object(), a2a.JSON("{\"a\":\r\n[1,\n2]\r}"))
	if r.IntN(2) == 0 {
		el.StatusUpdate = &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: r.status(), Metadata: broken, Generation: generation}
		en.Kind, en.Status = a2a.EntryStatus, el.StatusUpdate
	} else {
		el.ArtifactUpdate = &a2a.TaskArtifactUpdateEvent{
			TaskID: "t1", ContextID: "c1", Artifact: r.artifact(oneOf(r, "a", "b", "c", r.text())), Metadata: broken,
			Append: r.IntN(2) == 0, LastChunk: r.IntN(2) == 0, Generation: generation,
		}
		en.Kind, en.Artifact = a2a.EntryArtifact, el.ArtifactUpdate
	}
	el.Shared = new(a2a.Shared)
	if r.IntN(3) > 0 { // otherwise the log holds something else, such as references
		body := en.AppendBody(nil)
		el.Shared = a2a.NewShared(body)
		if !bytes.Equal(body, en.AppendBody(nil)) {
			panic("what is stored was changed")
		}
	}
	return el
}

// Shared bytes equal those that each reader would have made for itself, in all forms,
// wherever a reader began, and whichever reader was first.
func TestSharedEventsAreTheSameToTheByte(t *testing.T) {
	codecs := map[string]Codec{}
	for _, d := range []Dialect{V01, V03, V10, V11, V0x} {
		for _, b := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			if c := CodecOf(d, b); c != nil {
				codecs[fmt.Sprint(d, " ", uint8(d), " ", b)] = c
			}
		}
	}
	if len(codecs) != 9 {
		t.Fatalf("%d codecs", len(codecs))
	}
	for seed := range uint64(60) {
		r := dice{rand.New(rand.NewPCG(seed, 16))}
		var list []*a2a.StreamResponse
		for i := range int64(1 + r.IntN(20)) {
			list = append(list, r.update(i+1))
		}
		first := &a2a.StreamResponse{Task: r.task()}
		type reader struct {
			name string
			c    Codec
			from int
		}
		var readers []reader
		for name, c := range codecs {
			for range 3 {
				readers = append(readers, reader{name, c, r.IntN(len(list))})
			}
		}
		var all sync.WaitGroup
		for _, rd := range readers {
			all.Go(func() {
				req := &a2a.SubscribeToTaskRequest{ID: "t1"}
				ours, theirs := rd.c.Events(SubscribeToTask, req), rd.c.Events(SubscribeToTask, req)
				for at := rd.from - 1; at < len(list); at++ {
					el := first
					if at >= rd.from {
						el = list[at]
					}
					alone := *el
					alone.Shared = nil
					for i, more := 0, true; more; i++ {
						var got, want []byte
						var goesOn bool
						got, more = AppendLine([]byte("before\n"), ours, el, i)
						want, goesOn = theirs.Append(nil, &alone, i)
						want = append([]byte("before\n"), strings.NewReplacer("\n", " ", "\r", " ").Replace(string(want))...)
						if !bytes.Equal(got, want) || more != goesOn || ours.Ended() != theirs.Ended() {
							t.Errorf("seed %d, %s, element %d.%d: more %t, ended %t\n%s\nwant more %t, ended %t\n%s",
								seed, rd.name, at, i, more, ours.Ended(), got, goesOn, theirs.Ended(), want)
							return
						}
					}
				}
			})
		}
		all.Wait()
	}
}

// An element that is changed for a reader is not what the others share.
func TestMarkedEventsAreNotShared(t *testing.T) {
	r := dice{rand.New(rand.NewPCG(1, 2))}
	ev := CodecOf(V10, a2a.BindingJSONRPC).Events(SubscribeToTask, nil)
	for seq := range int64(50) {
		el := r.update(seq + 1)
		marked, _ := AppendLine(nil, ev, WithEventID(el), 0)
		if plain, _ := AppendLine(nil, ev, el, 0); bytes.Equal(plain, marked) || !bytes.Contains(marked, []byte(eventMember)) {
			t.Fatalf("%s\n%s", plain, marked)
		}
	}
}

// An event that is encoded already costs its readers no allocation.
func TestSharedEventsAreCopied(t *testing.T) {
	r := dice{rand.New(rand.NewPCG(3, 4))}
	for _, d := range []Dialect{V01, V03, V10, V11} {
		ev, el := CodecOf(d, a2a.BindingJSONRPC).Events(SubscribeToTask, nil), r.update(7)
		buf, _ := AppendLine(make([]byte, 0, 64<<10), ev, el, 0)
		if n := testing.AllocsPerRun(100, func() { AppendLine(buf[:0], ev, el, 0) }); n > 0 {
			t.Errorf("%s: %v allocations", d, n)
		}
	}
}

func BenchmarkSharedEvent(b *testing.B) {
	r := dice{rand.New(rand.NewPCG(5, 6))}
	ev, el := CodecOf(V10, a2a.BindingJSONRPC).Events(SubscribeToTask, nil), r.update(7)
	buf := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		AppendLine(buf[:0], ev, el, 0)
	}
}
