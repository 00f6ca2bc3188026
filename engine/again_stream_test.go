package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// wire is a stream as its client has it, byte for byte.
func wire(evs []*a2a.StreamResponse) string {
	var b strings.Builder
	for _, ev := range evs {
		fmt.Fprintf(&b, "%d %s\n", ev.Seq, ev.AppendJSON(nil))
	}
	return b.String()
}

func sameStream(t testing.TB, got, want []*a2a.StreamResponse) {
	t.Helper()
	if g, w := wire(got), wire(want); g != w {
		t.Errorf("the streams differ\n got %s\nwant %s", g, w)
	}
}

func (w *world) mustStream(req *a2a.SendMessageRequest) []*a2a.StreamResponse {
	w.t.Helper()
	evs, err := collect(w.SendStreamingMessage(context.Background(), req))
	if err != nil {
		w.t.Fatalf("SendStreamingMessage: %v", err)
	}
	return evs
}

// A stream that is requested again is the same, from its beginning or after any of its
// elements, after its end and after a restart.
func TestStreamThatComesAgain(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	ag := &counted{Agent: everything}
	w := knowing(t, st, ag)
	words, ask := send("a b c d"), send("ask")
	streams := map[*a2a.SendMessageRequest][]*a2a.StreamResponse{}
	for _, req := range []*a2a.SendMessageRequest{words, ask} {
		streams[req] = w.mustStream(req)
	}
	task := streams[ask][0].Task
	name := reply(task, "Ada")
	streams[name] = w.mustStream(name)
	if got := brief(streams[name]); got != "task:working input_required" {
		t.Fatal(got)
	}
	check := func() {
		t.Helper()
		for req, want := range streams {
			sameStream(t, w.mustStream(repeated(req)), want)
			for i, ev := range want {
				got := w.mustStream(after(req, ev.Seq))
				if got[0].Task == nil || got[0].Seq != ev.Seq {
					t.Fatalf("the first element is %s at %d", got[0].AppendJSON(nil), got[0].Seq)
				}
				sameTask(t, got[0].Task, foldStream(want[:i+1]))
				sameStream(t, got[1:], want[i+1:])
			}
		}
	}
	check()
	// From before the message: what is there, and then the stream.
	whole := append(append([]*a2a.StreamResponse{}, streams[ask][1:]...), streams[name][1:]...)
	got := w.mustStream(after(name, streams[ask][0].Seq))
	sameTask(t, got[0].Task, task)
	if g, want := brief(got[1:]), "input_required working input_required"; g != want || got[len(got)-1].Seq != whole[len(whole)-1].Seq {
		t.Errorf("got %s, want %s", g, want)
	}

	w.stop()
	w = knowing(t, st, ag)
	check()
	w.mustStream(reply(task, "London"))
	check()
	// After the end of the first stream: what came later.
	last := streams[name][len(streams[name])-1].Seq
	if got := brief(w.mustStream(after(name, last+2))); got != "task:working artifact:Ada of London. completed" {
		t.Errorf("what came later is %s", got)
	}
	limited := repeated(words)
	limited.Configuration = &a2a.SendMessageConfiguration{HistoryLength: new(int32(0))}
	if got := w.mustStream(limited); len(got[0].Task.History) != 0 || len(got) != len(streams[words]) {
		t.Errorf("got %s", wire(got))
	}
	ag.want(t, 3) // the interview a second time after the restart

	for _, seq := range []int64{-1, 100} {
		_, err := collect(w.SendStreamingMessage(t.Context(), after(words, seq)))
		wantField(t, err, "Last-Event-ID")
	}
	_, err := collect(w.SendStreamingMessage(t.Context(), after(send("new"), 1)))
	wantField(t, err, "Last-Event-ID")
	ag.want(t, 3)
}

// A stream of a task at work goes on where it was left, whether the process
// lives or another takes the task up.
func TestStreamOfATaskAtWorkComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		g := newGated()
		w := knowing(t, st, g)
		req := send("go")
		one := w.streamed(req)
		turn := <-g.entered
		out := turn.Artifact("out")
		if err := out.Add(a2a.TextPart("1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		two, three := w.streamed(repeated(req)), w.streamed(after(req, 3))
		synctest.Wait()
		if err := out.Last(a2a.TextPart("2")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop() // streams end without a word
		got := <-one
		if got.err != nil || brief(got.evs) != "task:submitted artifact:1 chunk:2." {
			t.Fatalf("%s, %v", brief(got.evs), got.err)
		}
		sameStream(t, (<-two).evs, got.evs)
		sameStream(t, (<-three).evs[1:], got.evs[2:])

		st = st.Reopen()
		defer st.Close()
		w = knowing(t, st, g)
		again, rest := w.streamed(repeated(req)), w.streamed(after(req, 4))
		turn = <-g.entered
		if turn.Attempt() != 2 {
			t.Errorf("attempt %d", turn.Attempt())
		}
		g.leave <- nil
		all := <-again
		if all.err != nil || brief(all.evs) != "task:submitted artifact:1 chunk:2. completed" {
			t.Errorf("%s, %v", brief(all.evs), all.err)
		}
		sameStream(t, all.evs[:3], got.evs)
		sameStream(t, (<-rest).evs[1:], all.evs[3:])
		w.stop()
	})
}

// Messages of version 0.1, which have no ids, are known by keys: each stream
// that is asked for again ends where its own turn does.
func TestStreamsOfATaskThatBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		g := newGated()
		w := knowing(t, st, g)
		keyed := func(text string) *a2a.SendMessageRequest {
			req := first01("mine", text)
			req.IdempotencyKey = text
			return req
		}
		one := w.streamed(keyed("one"))
		<-g.entered
		synctest.Wait()
		two := w.streamed(keyed("two")) // which the agent does not take in this turn
		synctest.Wait()
		twice := w.streamed(keyed("two"))
		waiting := w.posted(keyed("two"))
		synctest.Wait()
		g.leave <- nil
		<-g.entered
		synctest.Wait()
		later := w.streamed(keyed("two"))
		synctest.Wait()
		g.leave <- nil
		want := map[string]sent{"one": <-one, "two": <-two}
		if got := brief(want["two"].evs); got != "task:submitted submitted completed" {
			t.Fatal(got)
		}
		for _, c := range []chan sent{twice, later} {
			sameStream(t, (<-c).evs, want["two"].evs)
		}
		if got := <-waiting; got.err != nil {
			t.Error(got.err)
		} else {
			wantState(t, got.task, a2a.TaskStateCompleted)
			wantUsers(t, got.task, "one", "two")
		}
		three := w.streamed(keyed("three"))
		<-g.entered
		g.leave <- nil
		want["three"] = <-three
		for range 2 {
			for text, want := range want {
				sameStream(t, w.mustStream(keyed(text)), want.evs)
				i, first, last := 0, want.evs[0].Seq, want.evs[len(want.evs)-1].Seq
				for seq := first; seq <= last; seq++ { // also from behind what is not in the stream
					for i < len(want.evs) && want.evs[i].Seq <= seq {
						i++
					}
					sameStream(t, w.mustStream(after(keyed(text), seq))[1:], want.evs[i:])
				}
			}
			w.stop()
			w = knowing(t, st, g)
		}
		// Without keys they are all new.
		for range 2 {
			go func() { <-g.entered; g.leave <- nil }()
			w.mustSend(first01("mine", "one"))
		}
		wantUsers(t, w.mustGet("mine"), "one", "two", "three", "one", "one")
		w.stop()
	})
}

// The same where the agent took the message in the turn in which it came, and a
// later one began the next.
func TestStreamOfAMessageThatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		g := newGated()
		w := knowing(t, st, g)
		keyed := func(text string) *a2a.SendMessageRequest {
			req := first01("mine", text)
			req.IdempotencyKey = text
			return req
		}
		one := w.streamed(keyed("one"))
		turn := <-g.entered
		synctest.Wait()
		two := w.streamed(keyed("two"))
		synctest.Wait()
		if m, err := turn.Ask(t.Context(), "?"); err != nil || m.Text() != "two" {
			t.Fatal(m, err)
		}
		g.leave <- nil
		want := map[string]sent{"one": <-one, "two": <-two}
		three := w.streamed(keyed("three"))
		<-g.entered
		g.leave <- nil
		want["three"] = <-three
		for range 2 {
			for text, want := range want {
				if got := brief(want.evs); got != "task:submitted completed" || want.err != nil {
					t.Fatalf("%s: %s, %v", text, got, want.err)
				}
				sameStream(t, w.mustStream(keyed(text)), want.evs)
			}
			w.stop()
			w = knowing(t, st, g)
		}
		w.stop()
	})
}

// A sender whose message was never taken is told so each time it asks, as long as that is
// known.
func TestUnreadMessageComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		w := knowing(t, nil, g)
		go func() { <-g.entered }()
		task := w.mustSend(sendNow("one"))
		req := reply(task, "two")
		first := w.posted(req)
		synctest.Wait()
		again, stream := w.posted(repeated(req)), w.streamed(repeated(req))
		synctest.Wait()
		g.leave <- nil
		for _, c := range []chan sent{first, again, stream} {
			wantError(t, (<-c).err, a2a.ErrUnsupportedOperation)
		}
		w.stop()
	})
}
