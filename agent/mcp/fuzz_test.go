package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// Whatever a command prints, only whole lines that may be messages get through, the
// same however the bytes were split.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("{\"a\":1}\nhello\n [1]\r\n\n{"))
	f.Add([]byte("\xff\xfe\n\x00{\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		log := slog.New(slog.DiscardHandler)
		whole, err := io.ReadAll(newFrames(bytes.NewReader(b), 1000, log))
		split, err2 := io.ReadAll(newFrames(iotest.OneByteReader(bytes.NewReader(b)), 1000, log))
		if !bytes.Equal(whole, split) || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v\n%q, %v", whole, err, split, err2)
		}
		for line := range bytes.Lines(whole) {
			if s := bytes.TrimLeft(line, " \t\r\n"); len(s) == 0 || s[0] != '{' && s[0] != '[' || len(line) > 1001 {
				t.Fatalf("line %q", line)
			}
		}
	})
}

// A message calls one of the tools, with an object, or it is a problem.
func FuzzChoose(f *testing.F) {
	f.Add(`{"tool":"a","arguments":{"x":1}}`, "", `{}`)
	f.Add(`null`, `{"tool":"b"}`, `{"tool":"b","arguments":null}`)
	f.Add(`{"x":"y"}`, "hello", `[]`)
	tools := []*mcp.Tool{
		{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)},
		{Name: "b", InputSchema: map[string]any{"type": "object"}},
	}
	f.Fuzz(func(t *testing.T, data, text, meta string) {
		m := &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}, Metadata: a2a.JSON(meta)}
		if json.Valid([]byte(data)) {
			m.Parts = append(m.Parts, a2a.DataPart(a2a.JSON(data)))
		}
		for _, known := range [][]*mcp.Tool{nil, tools[:1], tools} {
			w, problem := choose(known, m, nil)
			if problem != "" {
				continue
			}
			var object map[string]any
			if find(known, w.Tool) == nil || json.Unmarshal(w.Arguments, &object) != nil || object == nil {
				t.Fatalf("%+v", w)
			}
		}
	})
}

// Metadata that names a tool and has null for the arguments leaves them to the message.
func TestNullIsNoArguments(t *testing.T) {
	tools := []*mcp.Tool{{Name: "a", InputSchema: json.RawMessage(`{"properties":{"x":{"type":"string"}},"required":["x"]}`)}}
	m := &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("hello")}, Metadata: a2a.JSON(`{"tool":"a","arguments":null}`)}
	if w, problem := choose(tools, m, nil); problem != "" || string(w.Arguments) != `{"x":"hello"}` {
		t.Errorf("%s: the arguments are %s", problem, w.Arguments)
	}
}

// Whatever a server lists, answers and sends besides, nobody panics, and calls end.
func FuzzServer(f *testing.F) {
	f.Add(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, `{"content":[{"type":"text","text":"x"}]}`, "notifications/progress", `{"progressToken":"c1"}`)
	f.Add(`{"tools":[null]}`, `null`, "notifications/progress", `null`)
	f.Add(`{"tools":[{"name":"a"}]}`, `{"content":[null,{"type":"resource"},{"type":"image"}],"structuredContent":3}`, "elicitation/create", `null`)
	f.Add(`{"tools":[{"name":"a","inputSchema":[],"annotations":{}}],"nextCursor":"x"}`, `{"isError":true}`, "notifications/message", `null`)
	f.Add(`{"tools":[{"name":"a","inputSchema":{}}]}`, `{"content":[{"type":"resource_link"}]}`, "notifications/elicitation/complete", `null`)
	f.Add(`{"tools":[{"name":"a","inputSchema":{}}]}`, `{}`, "elicitation/create", `{"mode":"form","requestedSchema":{"properties":{"a":{"type":"string","oneOf":[null]}}}}`)
	f.Fuzz(func(t *testing.T, list, result, method, params string) {
		for _, doc := range []string{list, result, params} {
			if !json.Valid([]byte(doc)) || strings.ContainsAny(doc, "\r\n") {
				return
			}
		}
		word, err := json.Marshal(method)
		if err != nil {
			return
		}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&req) != nil {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			answer := `{}`
			switch req.Method {
			case "initialize":
				answer = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
			case "tools/list":
				answer = list
			case "tools/call":
				answer = result
			case "server/discover":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
				return
			}
			if len(req.ID) == 0 {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			if req.Method == "tools/call" {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":%s,\"params\":%s}\n\n", word, params)
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":%s,\"params\":%s}\n\n", word, params)
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", req.ID, answer)
		}))
		defer srv.Close()
		defer srv.CloseClientConnections()
		a, err := New(Server{URL: srv.URL}, &Options{Timeout: time.Second, ConnectTimeout: 4 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.tools.pause = 0
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := a.Card(ctx); err != nil {
			return
		}
		a.tools.Tools(ctx)
		a.tools.Call(ctx, "a", nil)
		res, err := a.tools.call(ctx, &mcp.CallToolParams{Name: "a"}, true, nil)
		if err == nil {
			r := &run{tools: a.tools, turn: agent.NewTurn(accepting{}), tool: &mcp.Tool{Name: "a"}}
			for _, p := range r.parts(ctx, res) {
				if p.Kind == 0 {
					t.Fatalf("an empty part of %s", result)
				}
			}
		}
	})
}

// accepting is a host of a client that takes anything.
type accepting struct{ agent.Host }

func (accepting) Accepted() []string { return nil }

// Whatever a server asks and a client answers, an answer that is accepted fits the
// question.
func FuzzForm(f *testing.F) {
	f.Add(string(askSchema), "city: Rome\ndays: 3", `{"city":"Rome"}`)
	f.Add(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`, "yes", `{"action":"accept","content":{"ok":true}}`)
	f.Add(`{"type":"object","properties":{"e":{"enum":["a"],"enumNames":["A"]},"l":{"type":"array","items":{"enum":["x"]}}}}`, "e: A\nl: x, x", `{}`)
	f.Add(`{"type":"object","properties":{"e":{"oneOf":[{"const":"a","title":"A"},null]},"n":null},"$ref":"#"}`, "decline", `{"action":"cancel"}`)
	f.Fuzz(func(t *testing.T, schema, text, data string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		form, err := newForm(&mcp.ElicitParams{Message: text, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return
		}
		for _, p := range form.question("why") {
			if p.Kind == a2a.PartData && !json.Valid(p.Data) {
				t.Fatalf("question %q", p.Data)
			}
		}
		answers := []*a2a.Part{a2a.TextPart(text)}
		if json.Valid([]byte(data)) {
			answers = append(answers, a2a.DataPart(a2a.JSON(data)))
		}
		for _, p := range answers {
			a, problem := form.answer(&a2a.Message{Parts: []*a2a.Part{p}})
			if (a == nil) == (problem == "") {
				t.Fatalf("%+v, %q", a, problem)
			}
			if a == nil || a.Action != "accept" || form.check == nil {
				continue
			}
			if doc, err := json.Marshal(a.Content); err != nil || form.check.Validate(doc) != nil {
				t.Fatalf("%v does not fit", a.Content)
			}
		}
	})
}
