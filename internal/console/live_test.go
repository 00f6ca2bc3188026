package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// writes counts the writes of a response.
type writes struct {
	*httptest.ResponseRecorder
	n atomic.Int64
}

func (w *writes) Write(b []byte) (int, error) {
	w.n.Add(1)
	return w.ResponseRecorder.Write(b)
}

// A stream is written to at most once a gap, with all that came meanwhile in its order,
// and a row that changed again is sent once. Nothing stays behind at the end.
func TestStreamsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{ResponseRecorder: httptest.NewRecorder()}
		c := new(Console)
		r := &request{httptest.NewRequest(http.MethodGet, "/", nil), t.Context(), a2a.Caller{}, ""}
		out, end := c.stream(w, r, time.Second)
		send := func(key, id string) {
			t.Helper()
			if err := out.sendID(key, id, "row "+key); err != nil {
				t.Fatal(err)
			}
		}
		check := func(after time.Duration, writes int64, want string) {
			t.Helper()
			time.Sleep(after) // of the bubble
			synctest.Wait()
			out.mu.Lock()
			defer out.mu.Unlock()
			if got := w.Body.String(); w.n.Load() != writes || got != want {
				t.Errorf("after %d writes there is\n%s\nwant after %d\n%s", w.n.Load(), got, writes, want)
			}
		}
		first := "id: 1\ndata: row a\n\n"
		send("a", "1")
		check(0, 1, first) // at once: nothing was written lately
		send("a", "2")
		send("b", "3")
		send("", "4")
		send("a", "5")
		check(999*time.Millisecond, 1, first)
		second := first + "id: 3\ndata: row b\n\nid: 4\ndata: row \n\nid: 5\ndata: row a\n\n"
		check(time.Millisecond, 2, second)
		big := strings.Repeat("x", maxWaiting)
		if err := out.sendID("", "6", big); err != nil { // too much to wait
			t.Fatal(err)
		}
		third := second + "id: 6\ndata: " + big + "\n\n"
		check(0, 3, third)
		send("", "7")
		end()
		check(0, 4, third+"id: 7\ndata: row \n\n")
	})
}

// A reader that rests until the stream may write again is not woken for each commit, and
// waits no longer than the page is open.
func TestReadersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newEventStream(httptest.NewRecorder())
		out.gap = func() time.Duration { return time.Second }
		if err := out.sendID("", "1", "first"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := out.rest(t.Context()); err != nil || time.Since(begin) != time.Second {
			t.Errorf("it rested %v: %v", time.Since(begin), err)
		}
		if err := out.sendID("", "2", "second"); err != nil || len(out.waiting) != 0 {
			t.Errorf("%d events wait behind the rest: %v", len(out.waiting), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := out.rest(ctx); err == nil || time.Since(begin) != time.Second {
			t.Errorf("a closed page rested %v", time.Since(begin))
		}
	})
}

// With more viewers each stream is written to less often.
func TestGapGrowsWithStreams(t *testing.T) {
	s := new(streams)
	for range 50 {
		s.enter("somebody")
	}
	for range 100 {
		if g := s.gap(); g < 100*time.Millisecond || g > 200*time.Millisecond {
			t.Fatalf("with 50 streams the gap is %v, want 100 to 200 ms", g)
		}
	}
}

// Recent entries are found by their names, and old ones make room.
func TestRecents(t *testing.T) {
	c := new(recents[int])
	first := c.get("a")
	if c.get("a") != first || c.get("b") == first {
		t.Error("one of the last two is not found by its name")
	}
	for i := range maxRecents {
		c.get(strconv.Itoa(i))
	}
	if len(c.of) != maxRecents || len(c.names) != maxRecents || c.get("a") == first {
		t.Errorf("%d are kept with %d names, want the last %d", len(c.of), len(c.names), maxRecents)
	}
}

// Whatever an agent puts into a name or a media type, an event stays one event, with its
// own id.
func TestACarriageReturnEndsNoLine(t *testing.T) {
	if got, want := eventText("", "5", "a\rid: 9\r\rb\nc"), "id: 5\ndata: a&#13;id: 9&#13;&#13;b\ndata: c\n\n"; got != want {
		t.Errorf("the event is %q, want %q", got, want)
	}
}
