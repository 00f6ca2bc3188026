package output

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// JSON on a terminal has nothing that steers it, and is the same JSON.
func TestJSONDoesNotSteerTerminals(t *testing.T) {
	const text = "a\u009b2Jb\u009d0;title\u009cc\x7fd\u202ee\u2066f"
	for _, lines := range []bool{false, true} {
		var out strings.Builder
		p := &JSON{Out: &out, Lines: lines, Safe: plain.Text}
		if err := p.Event(&a2a.StreamResponse{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}}}); err != nil {
			t.Fatal(err)
		}
		if out.String() != plain.Text(out.String()) {
			t.Errorf("it printed %q", out.String())
		}
		var r a2a.StreamResponse
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil || r.Message.Parts[0].Text != text {
			t.Errorf("%v: it says %+v", err, r.Message)
		}
	}
}
