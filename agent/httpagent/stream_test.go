package httpagent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func TestStream(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"all types": {": hello\n\ndata: {\"type\":\"status\",\"text\":\"at it\"}\n\ndata: {\"type\":\"artifact\",\"name\":\"a\",\"text\":\"1\"}\n\n" +
			"data: {\"type\":\"artifact\",\"name\":\"b\",\"text\":\"x\"}\n\ndata: {\"type\":\"artifact\",\"name\":\"a\",\"text\":\"2\",\"last\":true}\n\n" +
			"data: {\"type\":\"log\",\"level\":\"warn\",\"text\":\"hm\"}\n\ndata: {\"type\":\"complete\",\"text\":\"done\"}\n\n",
			"completed done | a: 1, 2 | b: x"},
		"names of events": {"event: artifact\ndata: {\"text\":\"1\"}\n\nevent: complete\ndata: {}\n\n", "completed | -: 1"},
		"CRLF, no blank":  {"data:{\"type\":\"reply\",\r\ndata:\"text\":\"hi\"}\r\n\r\n", "message hi"},
		"begun anew":      {"data: {\"type\":\"artifact\",\"text\":\"1\"}\n\ndata: {\"type\":\"artifact\",\"text\":\"2\",\"append\":false}\n\ndata: {\"type\":\"complete\"}\n\n", "completed | -: 2"},
		"nothing follows": {"data: {\"type\":\"complete\"}\n\ndata: {\"type\":\"fail\"}\n\n", "completed"},
		"fails":           {"data: {\"type\":\"artifact\",\"text\":\"1\"}\n\ndata: {\"type\":\"fail\",\"text\":\"oh\"}\n\n", "failed oh | -: 1"},
		"after the last": {"data: {\"type\":\"artifact\",\"text\":\"1\",\"last\":true}\n\ndata: {\"type\":\"artifact\",\"text\":\"2\"}\n\n",
			"failed the service's answer cannot be used: event 2: it cannot be part of a task | -: 1"},
		"no type":     {"data: {\"type\":\"status\"}\n\ndata: {\"text\":\"hi\"}\n\n", "failed the service's answer cannot be used: event 2: it has no type; it may be *"},
		"not JSON":    {"data: hello\n\n", "failed the service's answer cannot be used: event 1: it is not a JSON object"},
		"not UTF-8":   {"data: {\"type\":\"reply\",\"text\":\"a\xff\"}\n\n", "message a\ufffd"},
		"too long":    {"data: " + strings.Repeat("x", 5<<10) + "\n\n", "failed the service's answer cannot be used: event 1 is larger than the limit of 4096 bytes"},
		"too much":    {strings.Repeat("data: {\"type\":\"status\",\"text\":\"x\"}\n\n", 2000), "failed the service sent more than the limit of 65536 bytes"},
		"many":        {manyArtifacts(1001), "failed the service's answer cannot be used: event 1001: there are more than 1000 artifacts*"},
		"long name":   {"data: {\"type\":\"artifact\",\"text\":\"x\",\"name\":\"" + strings.Repeat("x", 2000) + "\"}\n\n", "failed the service's answer cannot be used: event 1: its name is longer than 1024 bytes"},
		"long state":  {"data: {\"type\":\"ask\",\"text\":\"x\",\"state\":\"" + strings.Repeat("x", 70<<10) + "\"}\n\n", "failed the service's answer cannot be used: event 1 is larger than the limit of 4096 bytes"},
		"never ends":  {"data: {\"type\":\"status\"}\n\n", "failed the service's stream ended before its last event"},
		"no event":    {"", "failed the service's stream ended before its last event"},
		"half an end": {"data: {\"type\":\"complete\"}\n", "failed the service's stream ended before its last event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(p *post) { p.say(200, "text/event-stream; charset=utf-8", c.body) })
			w := newWorldAfter(t, nil, s.URL, &Options{MaxAnswer: 4 << 10, MaxOutput: 64 << 10, Retries: -1}, time.Minute)
			res := w.send(message("hello"))
			got := ""
			if res.Task != nil {
				got = outcome(res.Task)
			} else {
				got = "message " + show(res.Message.Parts)
			}
			if want, cut := strings.CutSuffix(c.want, "*"); got != c.want && !(cut && strings.HasPrefix(got, want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func manyArtifacts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "data:{\"type\":\"artifact\",\"name\":\"%d\",\"text\":\"\"}\n\n", i)
	}
	return b.String()
}

// Where events have no ids, a stream that broke off begins anew, and so do its
// artifacts.
func TestStreamBeginsAnew(t *testing.T) {
	s := serve(t, func(p *post) {
		p.event("", `{"type":"artifact","name":"a","text":"one "}`)
		p.event("", `{"type":"artifact","name":"a","text":"two "}`)
		if p.n < 3 {
			abort()
		}
		p.event("", `{"type":"artifact","name":"a","text":"three"}`)
		p.event("", `{"type":"complete"}`)
	})
	w := newWorld(t, nil, s.URL, nil)
	wantOutcome(t, w.task("hello"), "completed | a: one , two , three")
}

// Where they have, it goes on behind the last one; and as long as it gets further it
// may break off as often as it likes.
func TestStreamGoesOn(t *testing.T) {
	s := serve(t, func(p *post) {
		n := 0
		fmt.Sscan(p.Request.Header.Get("Last-Event-ID"), &n)
		if n++; n == 20 {
			p.event("20", `{"type":"complete"}`)
			return
		}
		p.event(fmt.Sprint(n), fmt.Sprintf(`{"type":"artifact","text":"%d"}`, n))
		abort()
	})
	w := newWorld(t, nil, s.URL, &Options{Retries: 1})
	wantOutcome(t, w.task("hello"), "completed | -: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19")
	keys := map[string]bool{}
	for _, p := range s.got() {
		keys[p.Request.Header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 1 || len(s.got()) != 20 {
		t.Errorf("%d requests, %d keys", len(s.got()), len(keys))
	}
}

// Behind an event whose id no request can have, a stream that broke off begins anew, and
// nothing is said twice.
func TestStreamWithAnImpossibleID(t *testing.T) {
	for name, id := range map[string]string{"control": "2\x01", "long": strings.Repeat("2", maxID+1)} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(p *post) {
				if p.Request.Header.Get("Last-Event-ID") == "" {
					p.event("1", `{"type":"artifact","text":"one"}`)
				}
				p.event(id, `{"type":"artifact","text":"two"}`)
				if p.n == 1 {
					abort()
				}
				p.event("", `{"type":"complete"}`)
			})
			w := newWorld(t, nil, s.URL, &Options{Retries: 1})
			wantOutcome(t, w.task("hello"), "completed | -: one, two")
		})
	}
}

// An event whose id no request can have is no progress: a stream that breaks off again and
// again behind it is given up.
func TestStreamThatGoesInCircles(t *testing.T) {
	s := serve(t, func(p *post) {
		switch {
		case p.n == 9: // rather than for ever
			p.event("", `{"type":"complete"}`)
			return
		case p.Request.Header.Get("Last-Event-ID") == "":
			p.event("1", `{"type":"artifact","text":"one"}`)
		default:
			p.event("2\x01", `{"type":"artifact","text":"two"}`)
		}
		abort()
	})
	w := newWorld(t, nil, s.URL, &Options{Retries: 1})
	if got := w.task("hello"); got.Status.State != a2a.TaskStateFailed {
		t.Errorf("%v after %d requests", got.Status.State, len(s.got()))
	}
}

func TestStreamAsks(t *testing.T) {
	s := serve(t, func(p *post) {
		if p.Type == "message" {
			p.event("", `{"type":"artifact","name":"a","text":"1"}`)
			p.event("", `{"type":"ask","text":"more?","state":7}`)
			return
		}
		p.event("", `{"type":"artifact","name":"a","text":"`+string(p.State)+`"}`)
		p.event("", `{"type":"reply","text":"`+p.Text+`"}`)
	})
	w := newWorld(t, nil, s.URL, nil)
	task := w.task("hello")
	wantOutcome(t, task, "input_required more? | a: 1")
	wantOutcome(t, w.answer(task, "no"), "completed no | a: 7")
}

func TestStreamIsSilent(t *testing.T) {
	s := serve(t, func(p *post) {
		p.event("", `{"type":"status","text":"x"}`)
		if p.Text == "breathes" {
			breath := time.NewTicker(20 * time.Millisecond)
			defer breath.Stop()
			for range 20 {
				<-breath.C
				io.WriteString(p.ResponseWriter, ":\n")
				p.ResponseWriter.(http.Flusher).Flush()
			}
			p.event("", `{"type":"complete"}`)
			return
		}
		<-p.Request.Context().Done()
	})
	w := newWorld(t, nil, s.URL, &Options{Idle: 60 * time.Millisecond})
	wantOutcome(t, w.task("sleeps"), "failed the service was silent for too long")
	w = newWorld(t, nil, s.URL, &Options{Timeout: 300 * time.Millisecond})
	wantOutcome(t, w.task("breathes"), "completed")
}

// A flood ends with the limit, however little of it makes events.
func TestFlood(t *testing.T) {
	for name, chunk := range map[string]string{"comments": ":" + strings.Repeat("x", 1000) + "\n", "a line": strings.Repeat("x", 1000), "fields": "x: y\n", "blank": "\n"} {
		s := serve(t, func(p *post) {
			p.ResponseWriter.Header().Set("Content-Type", "text/event-stream")
			for p.Request.Context().Err() == nil {
				if _, err := io.WriteString(p.ResponseWriter, chunk); err != nil {
					return
				}
			}
		})
		w := newWorld(t, nil, s.URL, &Options{MaxOutput: 1 << 20, MaxAnswer: 64 << 10})
		if task := w.task(name); task.Status.State != a2a.TaskStateFailed {
			t.Errorf("%s: %s", name, outcome(task))
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, doc := range []string{`{"type":"status","text":"x","metadata":{}}`, `{"type":"artifact","name":"a","parts":[{"data":null}],"append":false}`, `{"text":""}`, `{"type":"ask","text":"","state":null}`} {
		f.Add([]byte(doc), "status")
	}
	f.Fuzz(func(t *testing.T, doc []byte, name string) {
		ev, err := parseEvent(doc, name)
		if err != nil {
			if _, ok := errors.AsType[badAnswer](err); !ok {
				t.Fatal(err)
			}
			return
		}
		// The record of a question or an end has to be read as it was written.
		again, err := parseEvent(mustJSON(t, ev), "")
		if err != nil || string(mustJSON(t, again)) != string(mustJSON(t, ev)) {
			t.Fatalf("%s\n%s\n%v", mustJSON(t, ev), mustJSON(t, again), err)
		}
	})
}
