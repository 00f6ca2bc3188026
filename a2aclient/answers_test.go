package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// What servers, and what stands in front of them, answer instead of a result.
func TestAnswersThatAreNoResult(t *testing.T) {
	tests := []struct {
		name    string
		binding string // "": both
		status  int
		media   string
		body    string // $ID is the request's
		code    a2a.Code
		peer    bool
		text    string
	}{
		{"a JSON-RPC error", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"gone"}}`, a2a.CodeTaskNotFound, true, "gone"},
		{"an error with another id", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, a2a.CodeParse, true, "what?"},
		{"an error of an unknown code", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-31999,"message":"odd"}}`, a2a.CodeInternal, true, "odd (JSON-RPC code -31999)"},
		{"a JSON-RPC error with a status", "JSONRPC", 401, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"who?"}}`, a2a.CodeUnauthenticated, true, "who?"},
		{"the id of another request", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":999999,"result":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, a2a.CodeInvalidAgentResponse, false, "another request"},
		{"the id as another type", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":"$ID","result":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, a2a.CodeInvalidAgentResponse, false, "another request"},
		{"another number", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":$ID.5,"result":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, a2a.CodeInvalidAgentResponse, false, "another request"},
		{"no id", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","result":{"id":"t1"}}`, a2a.CodeInvalidAgentResponse, false, "another request"},
		{"an error of HTTP in JSON", "JSONRPC", 404, "application/json", `{"error":{"code":404,"status":"NOT_FOUND","message":"there is nothing","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org"}]}}`, a2a.CodeMethodNotFound, true, "there is nothing"},
		{"a gateway's word", "", 401, "application/json", `{"error":"unauthorized"}`, a2a.CodeUnauthenticated, true, "unauthorized"},
		{"an error of OAuth", "", 401, "application/json", `{"error":"invalid_token","error_description":"it has expired"}`, a2a.CodeUnauthenticated, true, "invalid_token"},
		{"a gateway's object", "", 403, "application/json", `{"error":{"message":"not from here","type":"forbidden"}}`, a2a.CodePermissionDenied, true, "not from here"},
		{"a gateway's code", "", 429, "application/json", `{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`, a2a.CodeRateLimited, true, "slow down"},
		{"a gateway's number", "JSONRPC", 503, "application/json", `{"error":{"code":14,"message":"no upstream"}}`, a2a.CodeUnavailable, true, "no upstream"},
		{"a gateway's flag", "", 403, "application/json", `{"error":true}`, a2a.CodePermissionDenied, true, "HTTP 403"},
		{"a JSON-RPC error of an unknown code, with a status", "JSONRPC", 429, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32077,"message":"odd"}}`, a2a.CodeRateLimited, true, "odd (JSON-RPC code -32077)"},
		{"no result", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":$ID}`, a2a.CodeInvalidAgentResponse, false, "no result"},
		{"a task without its envelope", "JSONRPC", 200, "application/json", `{"id":"t1"}`, a2a.CodeInvalidAgentResponse, false, "no JSON-RPC response"},
		{"a result of the wrong type", "JSONRPC", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"result":[1]}`, a2a.CodeInvalidAgentResponse, false, "cannot be read"},

		{"an HTTP error", "HTTP+JSON", 404, "application/json", `{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`, a2a.CodeTaskNotFound, true, "gone"},
		{"a problem", "HTTP+JSON", 400, "application/problem+json", `{"type":"https://a2a-protocol.org/errors/task-not-cancelable","title":"Too late","status":400}`, a2a.CodeTaskNotCancelable, true, "Too late"},
		{"a result of the wrong type", "HTTP+JSON", 200, "application/json", `{"id":7}`, a2a.CodeInvalidAgentResponse, false, "cannot be read: id: expected a string, got a number"},
		{"a route that is not there", "HTTP+JSON", 404, "text/html", "<html>Not Found</html>", a2a.CodeMethodNotFound, true, "HTTP 404 Not Found"},

		{"a gateway's page", "", 502, "text/html", "<html><h1>Bad Gateway</h1></html>", a2a.CodeUnavailable, true, "HTTP 502 Bad Gateway"},
		{"a page for everything", "", 200, "text/html; charset=utf-8", "<!DOCTYPE html><p>Welcome", a2a.CodeInvalidAgentResponse, false, "with an HTML page (HTTP 200)"},
		{"a page that is called JSON", "", 200, "application/json", "<html>", a2a.CodeInvalidAgentResponse, false, "an HTML page"},
		{"text", "", 200, "text/plain", "hello", a2a.CodeInvalidAgentResponse, false, `"text/plain"`},
		{"nothing", "", 200, "", "", a2a.CodeInvalidAgentResponse, false, "an empty body"},
		{"half of it", "", 200, "application/json", `{"id":"t1","sta`, a2a.CodeInvalidAgentResponse, false, "with text that does not parse (HTTP 200) where JSON should be"},
		{"credentials wanted", "", 401, "text/plain", "Unauthorized", a2a.CodeUnauthenticated, true, "Unauthorized"},
		{"not allowed", "", 403, "", "", a2a.CodePermissionDenied, true, "HTTP 403 Forbidden"},
		{"too much", "", 429, "", "", a2a.CodeRateLimited, true, "HTTP 429"},
		{"too large", "", 413, "", "", a2a.CodeTooLarge, true, "HTTP 413"},
		{"trouble", "", 500, "text/plain", "panic: " + strings.Repeat("x", 5000), a2a.CodeInternal, true, "panic: xxx"},
	}
	for _, tt := range tests {
		for _, binding := range overJSON {
			if tt.binding != "" && tt.binding != binding {
				continue
			}
			t.Run(tt.name+"/"+binding, func(t *testing.T) {
				f := &fake{handle: func(x *exchange) {
					x.raw(tt.status, tt.media, strings.ReplaceAll(tt.body, "$ID", string(x.id)))
				}}
				c := dial(t, f, binding, nil)
				_, unaryErr := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
				// In place of a stream they mean the same.
				_, streamErr := collect(c.SendStreamingMessage(t.Context(), hello()))
				for _, err := range []error{unaryErr, streamErr} {
					if err == streamErr && tt.body == `{"id":7}` {
						continue // of a stream, an element that this version does not know
					}
					var e *a2a.Error
					if !errors.As(err, &e) || e.Code != tt.code || e.Peer != tt.peer || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("got %v, want %v with %q", err, tt.code, tt.text)
					}
					if len(err.Error()) > 400 {
						t.Errorf("%d bytes of text", len(err.Error()))
					}
				}
			})
		}
	}
}

// A server may put a byte order mark in front of its JSON, and a proxy may compress a
// stream though it was asked not to. A task without an id cannot be followed.
func TestAnswersOfOddServers(t *testing.T) {
	const envelope, end = `{"jsonrpc":"2.0","id":$ID,"result":`, `}`
	send := func(body, media, encoding string) (unary, stream error) {
		f := &fake{handle: func(x *exchange) {
			if encoding != "" {
				x.w.Header().Set("Content-Encoding", encoding)
			}
			x.raw(200, media, strings.ReplaceAll(body, "$ID", string(x.id)))
		}}
		c := dial(t, f, a2a.BindingJSONRPC, nil)
		_, unary = c.SendMessage(t.Context(), hello())
		_, stream = collect(c.SendStreamingMessage(t.Context(), hello()))
		return unary, stream
	}
	if unary, stream := send("\ufeff"+envelope+`{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`+end, "application/json", ""); unary != nil || stream != nil {
		t.Errorf("with a byte order mark: %v, %v", unary, stream)
	}
	if unary, _ := send(envelope+`{"task":{"status":{"state":"TASK_STATE_WORKING"}}}`+end, "application/json", ""); unary == nil || !strings.Contains(unary.Error(), "it has no id") {
		t.Errorf("a task without an id: %v", unary)
	}
	if unary, _ := send(envelope+`{"task":{"status":{"state":"TASK_STATE_COMPLETED"}}}`+end, "application/json", ""); unary != nil {
		t.Errorf("a finished task without an id: %v", unary)
	}
	if _, stream := send("\x1f\x8b\x08", "text/event-stream", "gzip"); stream == nil || !strings.Contains(stream.Error(), "with a compressed body") {
		t.Errorf("a compressed stream: %v", stream)
	}
}

// A server that reads ids as floating point may write 1.0 for 1: the same number.
func TestAnswersWithTheIDInAnotherSpelling(t *testing.T) {
	for _, spelling := range []string{"$ID.0", "$IDe0", "$ID"} {
		f := &fake{handle: func(x *exchange) {
			id := strings.ReplaceAll(spelling, "$ID", string(x.id))
			x.raw(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`)
		}}
		if _, err := dial(t, f, a2a.BindingJSONRPC, nil).GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"}); err != nil {
			t.Errorf("%s: %v", spelling, err)
		}
	}
}

// A caller that waits for a task without an id would ask for "" from then on.
func TestTasksWithoutAnID(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		f := &fake{handle: func(x *exchange) { x.json(new(a2a.Task)) }}
		c := dial(t, f, binding, nil)
		if task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"}); task != nil || !errors.Is(err, a2a.ErrInvalidAgentResponse) {
			t.Errorf("GetTask: %v, %v", task, err)
		}
		if task, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "t1"}); task != nil || !errors.Is(err, a2a.ErrInvalidAgentResponse) {
			t.Errorf("CancelTask: %v, %v", task, err)
		}
	})
}

// Errors inside a stream, with and without a name for the event, as the first
// event and later.
func TestErrorsInStreams(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		for _, name := range []string{"", "event: error\n"} {
			for _, first := range []bool{true, false} {
				f := &fake{handle: func(x *exchange) {
					x.stream()
					if !first {
						x.write(x.event("1", counting(0)[0]))
					}
					x.write([]byte(name + "data: " + string(x.failure(a2a.Errorf(a2a.CodeContentTypeNotSupported, "no pictures"))) + "\n\n"))
				}}
				c := dial(t, f, binding, nil)
				els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
				var e *a2a.Error
				if !errors.Is(err, a2a.ErrContentTypeNotSupported) || !errors.As(err, &e) || !e.Peer || (len(els) == 0) != first {
					t.Errorf("%q, first %v: %s, %v", name, first, brief(els), err)
				}
				if len(f.seen()) != 1 {
					t.Error("what the agent says is not to be asked again")
				}
			}
		}
	})
}

func TestOddStreams(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		frame := func(x *exchange, doc string) []byte {
			if x.id != nil {
				doc = `{"jsonrpc":"2.0","id":` + string(x.id) + `,"result":` + doc + `}`
			}
			return []byte("data: " + doc + "\n\n")
		}
		task := string((&a2a.StreamResponse{Task: counting(0).at(3)}).AppendJSON(nil))
		for name, tt := range map[string]struct {
			answer func(x *exchange)
			want   string
			text   string // of the error
		}{
			"a kind of element that is not known": {func(x *exchange) { x.stream(frame(x, `{"telemetry":{"cpu":1}}`), frame(x, task)) }, "0 task:COMPLETED", ""},
			"JSON over many lines": {func(x *exchange) {
				x.stream(bytes.ReplaceAll(frame(x, task), []byte(`{"`), []byte("{\r\ndata:\"")), nil)
			}, "0 task:COMPLETED", ""},
			"comments and retries": {func(x *exchange) { x.stream([]byte("\ufeff: hi\n\nretry: 1\n\n"), frame(x, task)) }, "0 task:COMPLETED", ""},
			"no JSON":              {func(x *exchange) { x.stream([]byte("data: hello\n\n")) }, "", "cannot be read"},
			"two payloads":         {func(x *exchange) { x.stream(frame(x, `{"task":{"id":"t"},"message":{"messageId":"m"}}`)) }, "", "cannot be read"},
			"an answer that is no stream": {func(x *exchange) {
				x.json(&a2a.SendMessageResponse{Message: hello().Message})
			}, "0 message", ""},
			"an answer to come back for": {func(x *exchange) {
				if x.op == dialect.GetTask {
					x.json(counting(0).at(3))
					return
				}
				x.json(&a2a.SendMessageResponse{Task: counting(0).at(1)})
			}, "0 task:SUBMITTED, 0 task:COMPLETED", ""},
			"nothing": {func(x *exchange) { x.stream() }, "", "closed the stream"},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fake{handle: tt.answer}
					c, _ := inMemory(t, f, binding, nil)
					els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
					if brief(els) != tt.want || (err == nil) != (tt.text == "") || err != nil && !strings.Contains(err.Error(), tt.text) {
						t.Errorf("got %s, %v", brief(els), err)
					}
				})
			})
		}
	})
}

// An answer beyond the limit is refused, and not read to its end.
func TestAnswersHaveALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 128 MiB")
	}
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	f := &fake{handle: func(x *exchange) {
		if x.op == dialect.SendStreamingMessage {
			x.stream([]byte("data: "))
		}
		for range 65 {
			if _, err := x.w.Write(spaces); err != nil {
				return
			}
		}
	}}
	c := dial(t, f, a2a.BindingHTTPJSON, nil)
	_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
	if !errors.Is(err, a2a.ErrInvalidAgentResponse) || !strings.Contains(err.Error(), "larger than 67108864 bytes") {
		t.Error(err)
	}
	_, err = collect(c.SendStreamingMessage(t.Context(), hello()))
	if !errors.Is(err, a2a.ErrInvalidAgentResponse) {
		t.Error(err)
	}
}

// Whatever comes back, decoding it does not panic, and gives a result or an
// error that says whose it is.
func FuzzAnswers(f *testing.F) {
	for _, doc := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"x","data":[{"reason":"TASK_NOT_FOUND"}]}}`,
		`{"error":{"code":404,"status":"NOT_FOUND","message":"x"}}`, `{"error":"x","status":"y"}`,
		`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`, `<html>`, ``, `null`, `[]`,
	} {
		f.Add(uint8(1), 200, "application/json", []byte(doc))
		f.Add(uint8(2), 500, "text/html", []byte(doc))
	}
	f.Fuzz(func(t *testing.T, n uint8, status int, media string, body []byte) {
		op := dialect.Op(1 + int(n)%len(dialect.Operations))
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://h/", nil)
		if err != nil {
			t.Fatal(err)
		}
		res := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Request: req}
		codec := dialect.CodecOf(dialect.V10, a2a.BindingJSONRPC)
		for _, b := range []binding{&jsonrpc{dialect: dialect.V10, codec: codec}, &rest{dialect: dialect.V10}} {
			k := &call{op: op, id: []byte("1"), codec: codec}
			v, err := b.answer(k, res, body)
			var e *a2a.Error
			switch {
			case err != nil && (!errors.As(err, &e) || e.Message == ""):
				t.Errorf("answer: %v", err)
			case err == nil && (v == nil) != (op == dialect.DeleteTaskPushNotificationConfig):
				t.Errorf("answer to %v: %v", op, v)
			}
			k.op = dialect.SubscribeToTask
			for _, name := range []string{"", "error"} {
				el, err := b.element(k, name, body)
				if (el == nil) == (err == nil) || err != nil && !errors.As(err, &e) {
					t.Errorf("element: %v, %v", el, err)
				}
			}
		}
	})
}

// Whatever a stream is made of, ranging over it ends.
func FuzzStream(f *testing.F) {
	s := counting(2)
	x := &exchange{}
	var whole []byte
	for i, el := range s {
		whole = append(whole, x.event(string(rune('1'+i)), el)...)
	}
	f.Add(whole)
	f.Add([]byte("data: {}\n\n"))
	f.Add([]byte("id: 9\ndata: {\"task\":{\"id\":\"t1\",\"status\":{\"state\":3}}}\n\nevent: error\ndata: {}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		rt := func(r *http.Request) (*http.Response, error) {
			res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
			res.Body = io.NopCloser(bytes.NewReader(body))
			return res, nil
		}
		c, err := New(cardAt("http://h", a2a.BindingHTTPJSON), &Options{Retries: -1, HTTPClient: &http.Client{Transport: roundTripper(rt)}})
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for el, err := range c.SendStreamingMessage(context.Background(), hello()) {
			switch {
			case (el == nil) == (err == nil):
				t.Fatalf("%v, %v", el, err)
			case err == nil && el.Seq != 0 && el.Seq <= last:
				t.Fatalf("%d after %d", el.Seq, last)
			case err == nil && el.Seq != 0:
				last = el.Seq
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzReference(f *testing.F) {
	for _, ref := range []string{"example.org", "https://h/a?b#c", "file:///x", "./x.json", "[::1]:80", "a:b:c", "%"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		where, err := parseRef(ref)
		if err == nil && where.file == "" && len(where.urls) == 0 {
			t.Error("neither an error nor a place")
		}
		for _, u := range where.urls {
			if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				t.Errorf("would ask %s", u)
			}
		}
		_, _ = parseCard([]byte(ref))
	})
}

// An answer in place of a stream may take long, as long as it arrives.
func TestSlowAnswerInPlaceOfAStream(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := inMemory(t, &fake{handle: func(x *exchange) {
				w := httptest.NewRecorder()
				slow := *x
				slow.w = w
				slow.json(&a2a.SendMessageResponse{Message: &a2a.Message{
					MessageID: "m2", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 1000))},
				}})
				x.w.Header().Set("Content-Type", "application/json")
				for doc := w.Body.Bytes(); len(doc) > 0; time.Sleep(10 * time.Second) {
					n := min(len(doc), 100)
					x.write(doc[:n])
					doc = doc[n:]
				}
			}}, binding, nil)
			els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
			if err != nil || len(els) != 1 || els[0].Message == nil {
				t.Errorf("%s: %v", brief(els), err)
			}
		})
	})
}
