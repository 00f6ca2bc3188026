package a2a

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Every value that was read can be written, and reads back as the same value.
func FuzzDecode(f *testing.F) {
	for i, g := range golden {
		f.Add(uint8(i), []byte(g.doc))
		f.Add(uint8(i), []byte(`{"pageSize":"5","status":"input-required","role":"user","parts":[{"raw":"_-8"}],"blocking":false,"config":{"url":"u"}}`))
	}
	f.Fuzz(func(t *testing.T, which uint8, doc []byte) {
		g := golden[int(which)%len(golden)]
		v := g.new()
		err := v.UnmarshalJSON(doc)
		if err != nil {
			e, ok := err.(*Error)
			if !ok || e.Message == "" || e.Code != CodeParse && e.Code != CodeInvalidParams {
				t.Fatalf("%s from %q: %#v", g.name, doc, err)
			}
			return
		}
		first := v.AppendJSON(nil)
		if !json.Valid(first) {
			t.Fatalf("%s from %q is written as %s", g.name, doc, first)
		}
		w := g.new()
		if err := w.UnmarshalJSON(first); err != nil {
			t.Fatalf("%s from %q is written as %s, which is refused: %v", g.name, doc, first, err)
		}
		if second := w.AppendJSON(nil); !bytes.Equal(first, second) {
			t.Fatalf("%s from %q changes from %s to %s", g.name, doc, first, second)
		}
		if r, ok := v.(interface{ Validate() error }); ok {
			_ = r.Validate()
		}
	})
}
