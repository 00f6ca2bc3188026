package dialect

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Members and elements are what encoding/json finds.
func FuzzScan(f *testing.F) {
	for _, doc := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a" : "x\"y\\" , "b":[1,{"c":"}]"},"\\"],"a":null}`, `{"\u0061\n":true,"":-1.5e7 }`,
		`[]`, ` [ ] `, `[1]`, `[ "]" , {"a":[[]]} ,null,false]`, "\t{\r\n\"a\":{}}\n", `{"\\\"":"\\\\"}`, "{\"a\xff\":\"\xff\"}",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return
		}
		switch doc[scanSpace(doc, 0)] {
		case '{':
			var want map[string]json.RawMessage
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got := scanMembers(doc); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		case '[':
			var want []json.RawMessage
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got := scanElements(doc); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		case '"':
			var want string
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got, ok := unquote(doc[scanSpace(doc, 0):][:scanString(doc, scanSpace(doc, 0))-scanSpace(doc, 0)]); !ok || got != want {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		}
	})
}
