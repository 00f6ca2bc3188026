package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
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

// What a message asks for is one of the tools, with an object, or a problem.
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
			if a != nil && a.Action == "accept" && form.check != nil && form.check.Validate(a.Content) != nil {
				t.Fatalf("%v does not fit", a.Content)
			}
		}
	})
}
