package httpagent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// foreign runs an agent for a service with a format of its own.
func foreign(t *testing.T, o *Options, do http.HandlerFunc) *world {
	t.Helper()
	srv := httptest.NewServer(do)
	t.Cleanup(srv.Close)
	return newWorldAfter(t, nil, srv.URL, o, time.Minute)
}

// said is how the agent answered, with a message or a task.
func (w *world) said(text string) string {
	res := w.send(message(text))
	if res.Task != nil {
		return outcome(res.Task)
	}
	return "message " + show(res.Message.Parts)
}

// A service in the way of FastAPI: JSON in, JSON out, 422 with a reason for what does
// not fit its model.
func TestServiceLikeFastAPI(t *testing.T) {
	w := foreign(t, &Options{Body: `{"prompt": "${text}", "user": "${subject}", "temperature": 0.5}`, Answer: ".reply"}, func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Prompt, User string
			Temperature  float64
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Content-Type") != "application/json" || in.Temperature != 0.5 {
			t.Errorf("the service got %+v, %v", in, err)
		}
		rw.Header().Set("Content-Type", "application/json")
		switch in.Prompt {
		case "none":
			io.WriteString(rw, `{"answer":"somewhere else"}`)
		case "":
			rw.WriteHeader(422)
			io.WriteString(rw, `{"detail":[{"loc":["body","prompt"],"msg":"empty"}]}`)
		case "data":
			io.WriteString(rw, `{"reply":{"words":2}}`)
		default:
			json.NewEncoder(rw).Encode(map[string]string{"reply": "you said " + in.Prompt})
		}
	})
	for text, want := range map[string]string{
		"say \"hi\"\n\\ ${task}": "message you said say \"hi\"\n\\ ${task}",
		"data":                   `message {"words":2}`,
		"none":                   "failed the service's answer cannot be used: it has nothing at the configured path of the answer",
		"":                       "failed the service answered with status 422",
	} {
		if got := w.said(text); got != want {
			t.Errorf("%q: got  %s\nwant %s", text, got, want)
		}
	}
	if log := w.log.String(); !strings.Contains(log, `somewhere else`) || !strings.Contains(log, `\"msg\":\"empty\"`) {
		t.Errorf("the log does not have what the service said: %s", log)
	}
}

// A service in the way of Flask: a form in, text out, under any media type.
func TestServiceLikeFlask(t *testing.T) {
	w := foreign(t, &Options{Body: "q=${text}&lang=en%20GB", Answer: "text"}, func(rw http.ResponseWriter, r *http.Request) {
		if r.FormValue("lang") != "en GB" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("the service got %v", r.Form)
		}
		fmt.Fprintf(rw, "<b>%s</b>", r.FormValue("q")) // as text/html
	})
	for _, text := range []string{"a&b=c d", "100% é"} {
		if got, want := w.said(text), "message <b>"+text+"</b>"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A service in the way of webhooks: it takes an event, and its word is deep in the
// answer, or there is none.
func TestServiceLikeAWebhook(t *testing.T) {
	w := foreign(t, &Options{Body: `{"event":"message","data":{"id":"${message}","thread":"${context}","text":"${text}"}}`, Answer: ".result.text | .messages[0].text"}, func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Event string
			Data  struct{ ID, Thread, Text string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Event != "message" || in.Data.ID == "" || in.Data.Thread == "" {
			t.Errorf("the service got %+v, %v", in, err)
		}
		switch in.Data.Text {
		case "quiet":
			rw.WriteHeader(http.StatusNoContent)
		case "list":
			io.WriteString(rw, `{"messages":[{"text":"from a list"}]}`)
		default:
			io.WriteString(rw, `{"ok":true,"result":{"text":"noted"}}`)
		}
	})
	for text, want := range map[string]string{"hello": "message noted", "list": "message from a list", "quiet": "completed"} {
		if got := w.said(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Streams of text and of a model's chunks are one artifact.
func TestForeignStreams(t *testing.T) {
	const model = ".choices[0].delta.content | .choices[0].message.content"
	for name, c := range map[string]struct{ answer, body, want string }{
		"text":         {"text", "data: to be\n\ndata:  or not\n\n", "completed | output: to be,  or not"},
		"text, done":   {"text", "data: hi\n\ndata: [DONE]\n\ndata: late\n\n", "completed | output: hi"},
		"chunks":       {model, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"llo\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", "completed | output: He, llo"},
		"an error":     {model, "data: {\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n", "failed the service ended its answer with an error | output: He"},
		"error event":  {"text", "event: error\ndata: no\n\n", "failed the service ended its answer with an error"},
		"nothing":      {".reply", "data: {\"x\":1}\n\n", "failed the service's answer cannot be used: none of its events has anything at the configured path of the answer"},
		"not JSON":     {".reply", "data: hello\n\n", "failed the service's answer cannot be used: event 1: it is not JSON"},
		"too long":     {"text", "data: " + strings.Repeat("x", 5<<10) + "\n\n", "failed the service's answer cannot be used: event 1 is larger than the limit of 4096 bytes"},
		"too much":     {".reply", strings.Repeat("data: {\"x\":1}\n\n", 6000), "failed the service sent more than the limit of 65536 bytes"},
		"half an end":  {"text", "data: hello\n\ndata: wor", "failed the service's stream ended before its last event | output: hello"},
		"not a stream": {model, "", `message {"choices":[{"message":{"content":"whole"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := foreign(t, &Options{Answer: c.answer, MaxAnswer: 4 << 10, MaxOutput: 64 << 10, Retries: -1}, func(rw http.ResponseWriter, r *http.Request) {
				if c.body == "" {
					io.WriteString(rw, `{"choices":[{"message":{"content":"whole"}}]}`)
					return
				}
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, c.body)
			})
			if c.body == "" {
				c.want = "message whole"
			}
			if got := w.said("hello"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A stream that breaks off begins anew, whatever ids its events have: what was said
// of it is replaced, not doubled.
func TestForeignStreamBeginsAnew(t *testing.T) {
	var n atomic.Int64
	w := foreign(t, &Options{Answer: "text"}, func(rw http.ResponseWriter, r *http.Request) {
		first := n.Add(1) == 1
		if r.Header.Get("Last-Event-ID") != "" {
			t.Error("it is asked to go on")
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, "id: 1\ndata: one\n\n")
		rw.(http.Flusher).Flush()
		if first {
			abort()
		}
		io.WriteString(rw, "id: 2\ndata: two\n\n")
	})
	if got := w.said("hello"); got != "completed | output: one, two" || n.Load() != 2 {
		t.Errorf("after %d requests: %s", n.Load(), got)
	}
}

func TestForeignFormatsAreChecked(t *testing.T) {
	for _, o := range []*Options{{Body: "{"}, {Answer: "reply"}} {
		if _, err := New("http://127.0.0.1/", o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
