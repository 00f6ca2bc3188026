package console_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// askingServer is an MCP server on standard input and output whose one tool asks its
// user, with a form, before it answers.
func askingServer() {
	out := json.NewEncoder(os.Stdout)
	var call json.RawMessage // the id of the call that waits for an answer
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
			Result *struct {
				Action  string
				Content map[string]any
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		answer := func(id json.RawMessage, result any) {
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
		}
		switch {
		case m.Method == "initialize":
			answer(m.ID, map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "booking", "version": "1"}})
		case m.Method == "tools/list":
			answer(m.ID, map[string]any{"tools": []any{map[string]any{"name": "book", "description": "Books a trip.", "inputSchema": map[string]any{"type": "object"}}}})
		case m.Method == "tools/call":
			call = m.ID
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": 1000, "method": "elicitation/create", "params": map[string]any{
				"message": "Where to?",
				"requestedSchema": map[string]any{"type": "object", "required": []string{"city", "nights"}, "properties": map[string]any{
					"city":   map[string]any{"type": "string", "title": "City", "enum": []string{"Oslo", "Paris"}},
					"nights": map[string]any{"type": "integer", "title": "Nights", "minimum": 1, "maximum": 30},
					"window": map[string]any{"type": "boolean", "title": "A window seat"},
				}},
			}})
		case m.Result != nil && call != nil:
			text := fmt.Sprintf("booked: %s for %v nights, window %v, by %s", m.Result.Content["city"], m.Result.Content["nights"], m.Result.Content["window"], m.Result.Action)
			answer(call, map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
			call = nil
		case m.Method != "" && len(m.ID) > 0:
			answer(m.ID, map[string]any{})
		}
	}
}

// A question with a schema is a form, which the browser checks as the schema says, in
// the chat and in the inbox.
func TestElicitationIsAForm(t *testing.T) {
	t.Parallel()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := serveFile(t, fmt.Sprintf("version: 1\nagents:\n  booking: {default: true, mcp: {command: [%q, -asking-mcp-server]}}\n  demo: {builtin: demo}\n", me))
	p := s.open()
	p.say("book {}")
	p.state("input required")
	p.shows("Where to?")
	p.choose("#talks select", "Paris")
	p.fill("#talks input[type=number]", "31")
	if js[bool](p, `document.querySelector("#talks form.fields").checkValidity()`) {
		t.Error("the form takes more nights than the schema")
	}
	p.fill("#talks input[type=number]", "3")
	p.click("#talks input[type=checkbox]")
	p.clickOn(`document.querySelector("#talks form.fields button.main")`)
	p.state("completed")
	p.shows("booked: Paris for 3 nights, window true, by accept")

	s.send("/", "book {}")
	p.screen(s.at("/inbox"))
	p.choose("#inbox select", "Oslo")
	js[bool](p, `(document.querySelector("#inbox time").removeAttribute("data-age"), true)`) // its age differs from that of the next answer
	s.send("/agents/demo", "ask What else?")
	p.until(`document.title.startsWith("(2) ")`)
	p.fill("#inbox input[type=number]", "2")
	js[bool](p, `(document.activeElement.blur(), true)`)
	s.send("/agents/demo", "ask Anything more?")
	p.until(`document.title.startsWith("(3) ")`)
	if got := js[string](p, `[...document.querySelectorAll("#inbox :is(select, input[type=number])")].map((field) => field.value).join()`); got != "Oslo,2" {
		t.Errorf("as other questions come, what was filled in becomes %q", got)
	}
	p.clickOn(`document.querySelector("#inbox form.fields button.main")`)
	p.until(`document.title.startsWith("(2) ") && !document.querySelector("#inbox form.fields")`)
	p.shows("Anything more?")
}
