package conformance

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

// post sends bytes as they are to the JSON-RPC address.
func (w *wire) post(t *testing.T, contentType, body string) (status int, media string, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return resp.StatusCode, media, decode(t, b)
}

func TestConformanceJSONRPC(t *testing.T) {
	t.Parallel()
	w := dial(t, jsonrpc, start(t, agent.DemoCard(), agent.Demo(), nil))
	const list = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`

	t.Run("R-213 application/json both ways", func(t *testing.T) {
		for _, sent := range []string{"application/json", "application/json; charset=utf-8"} {
			status, media, answer := w.post(t, sent, list)
			if status != 200 || media != "application/json" || !has(answer, "result") {
				t.Errorf("%s: %d %s %s", sent, status, media, compact(answer))
			}
		}
		if status, media, answer := w.post(t, "text/plain", list); status != http.StatusUnsupportedMediaType || media != "application/json" || compact(in(answer, "error.code")) != "-32005" {
			t.Errorf("text/plain: %d %s %s", status, media, compact(answer))
		}
	})
	t.Run("R-214 R-159 every method by its name", func(t *testing.T) {
		for method := range routes {
			_, _, answer := w.post(t, "application/json", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`)
			if code := compact(in(answer, "error.code")); code == "-32601" {
				t.Errorf("%s is not known", method)
			}
			lower := strings.ToLower(method[:1]) + method[1:]
			_, _, answer = w.post(t, "application/json", `{"jsonrpc":"2.0","id":1,"method":"`+lower+`","params":{}}`)
			equal(t, "code for "+lower, in(answer, "error.code"), -32601)
		}
	})
	t.Run("R-218 params may be absent where nothing in them is required", func(t *testing.T) {
		for _, params := range []string{``, `,"params":null`} {
			_, _, answer := w.post(t, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"`+params+`}`)
			if !has(answer, "result") {
				t.Errorf("with %q: %s", params, compact(answer))
			}
		}
	})
	t.Run("R-218 R-227 each standard code as it is defined", func(t *testing.T) {
		for body, code := range map[string]int{
			``:                                 -32700,
			`{`:                                -32700,
			`{"jsonrpc":"2.0","id":1,"method"`: -32700,
			`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}} x`: -32700,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}":          -32700,
			`null`:                          -32600,
			`"text"`:                        -32600,
			`[]`:                            -32600,
			`[` + list + `,` + list + `]`:   -32600,
			`{"id":1,"method":"ListTasks"}`: -32600,
			`{"jsonrpc":"1.0","id":1,"method":"ListTasks"}`:                 -32600,
			`{"jsonrpc":2.0,"id":1,"method":"ListTasks"}`:                   -32600,
			`{"jsonrpc":"2.0","id":1}`:                                      -32600,
			`{"jsonrpc":"2.0","id":1,"method":7}`:                           -32600,
			`{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`:                -32600,
			`{"jsonrpc":"2.0","id":true,"method":"ListTasks"}`:              -32600,
			`{"jsonrpc":"2.0","method":"ListTasks","params":{}}`:            -32600,
			`{"jsonrpc":"2.0","id":1,"method":"Nonsense"}`:                  -32601,
			`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":[]}`:     -32602,
			`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":"x"}`:    -32602,
			`{"jsonrpc":"2.0","id":1,"method":"GetTask"}`:                   -32602,
			`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}`: -32602,
			`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`:   -32602,
			`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage"}`:      -32602,
			strings.Repeat(`[`, 100_000):                                    -32700,
		} {
			_, media, answer := w.post(t, "application/json", body)
			if got := compact(in(answer, "error.code")); got != compact(code) || text(answer, "error.message") == "" || media != "application/json" {
				t.Errorf("%.100q: code %s, want %d: %s", body, got, code, compact(answer))
			}
		}
	})
	t.Run("R-218 ids come back as they were sent", func(t *testing.T) {
		for _, id := range []string{`1`, `0`, `-7`, `"a"`, `""`, `"1"`, `9007199254740993`, `"é\n"`} {
			for _, method := range []string{"ListTasks", "Nonsense"} {
				_, _, answer := w.post(t, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`)
				equal(t, "id", in(answer, "id"), decode(t, []byte(id)))
			}
		}
		for body, id := range map[string]any{
			`{`: nil,
			`{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`:          nil,
			`{"jsonrpc":"1.0","id":7,"method":"ListTasks"}`:           7,
			`{"jsonrpc":"2.0","id":"a"}`:                              "a",
			`{"jsonrpc":"2.0","id":8,"method":"GetTask","params":[]}`: 8,
			`{"jsonrpc":"2.0","id":9,"method":"GetTask","params":{}}`: 9,
			`{"jsonrpc":"2.0","id":null,"method":"Nonsense"}`:         nil,
		} {
			_, _, answer := w.post(t, "application/json", body)
			if !has(answer, "error") || !has(answer, "id") {
				t.Errorf("%s: %s", body, compact(answer))
			}
			equal(t, "id in the answer to "+body, in(answer, "id"), id)
		}
	})
	t.Run("R-220 every event is a response with the id of the request", func(t *testing.T) {
		for _, e := range w.open(t, "SendStreamingMessage", obj{"message": say("stream 3 1")}).all() {
			v := decode(t, []byte(e.raw)) // the envelope is checked on reading
			equal(t, "id", in(v, "id"), "SendStreamingMessage")
		}
	})
	t.Run("R-222 GetExtendedAgentCard without params", func(t *testing.T) {
		_, _, answer := w.post(t, "application/json", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`)
		equal(t, "code", in(answer, "error.code"), -32004) // not -32602
	})
}
