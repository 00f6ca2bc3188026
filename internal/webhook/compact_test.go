package webhook

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

func TestCompact(t *testing.T) {
	for in, want := range map[string]string{
		` { "a" : [ 1 , 2.50 , 1e3 ] ,"b":null }` + "\r\n\t": `{"a":[1,2.50,1e3],"b":null}`,
		`"a b\t\u0009\r\u000d\b\u0008\f\u000C\n\u000A"`:      `"a b\t\t\r\r\b\b\f\f\n\n"`,
		`"\u0001\u001F\u007f"`:                               "\"\\u0001\\u001f\x7f\"",
		`"\/\u002f\u003c\u0026\u00e4\u2028"`:                 "\"//<&ä\u2028\"",
		`"\"\\\u0022\u005c"`:                                 `"\"\\\"\\"`,
		`"\ud83d\ude00\uD83D\uDE00"`:                         `"😀😀"`,
		`"\ud83d \ude00\ud83dx"`:                             `"\ud83d \ude00\ud83dx"`,
		`{"\u0061":"\\u0061"}`:                               `{"a":"\\u0061"}`,
	} {
		if got := Compact(nil, []byte(in)); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzCompact(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00 \u0000 \/ x","b":[1, 2]}`))
	f.Add([]byte(`"\ud83d \/"`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var a, b any
		if json.Unmarshal(doc, &a) != nil || !utf8.Valid(doc) {
			return
		}
		got := Compact(nil, doc)
		if err := json.Unmarshal(got, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s became %s: %v", doc, got, err)
		}
		if again := Compact(nil, got); !bytes.Equal(got, again) {
			t.Errorf("%s became %s, then %s", doc, got, again)
		}
	})
}
