package dialect

import (
	stdjson "encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/json"
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
		if !stdjson.Valid(doc) {
			return
		}
		switch json.Read(doc).Peek() {
		case '{':
			var want map[string]stdjson.RawMessage
			if err := stdjson.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got := scanMembers(nil, doc).unique(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		case '[':
			var want []stdjson.RawMessage
			if err := stdjson.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got := scanElements(doc); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		case '"':
			var want string
			if err := stdjson.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if got, ok := json.Unquote(json.Read(doc).Skip()); !ok || got != want {
				t.Fatalf("%q: %q, want %q", doc, got, want)
			}
		}
	})
}

func FuzzSnake(f *testing.F) {
	for _, name := range []string{"taskId", "task_id", "", "_", "T", "aB_c", "_id", "fileWithBytes", "file_with_bytes"} {
		f.Add(name, "taskId")
		f.Add(json.Snake(name), name)
	}
	f.Fuzz(func(t *testing.T, name, camel string) {
		if !utf8.ValidString(camel) {
			return // names are ours
		}
		if got, want := isSnake([]byte(name), camel), json.Snake(camel) == name; got != want {
			t.Errorf("%q is %q in snake case: %v", name, camel, got)
		}
	})
}
