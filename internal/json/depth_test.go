package json

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for doc, want := range map[string]int{
		``: 0, `1`: 0, `"[{"`: 0, `[]`: 1, `{"a":[{}],"b":[]}`: 3, `["\"[[", []]`: 2, `["\\", []]`: 2,
		`{}`: 1, `[[],[]]`: 2, `{"[[":"{{"}`: 1, `["\"[[["]`: 1, `["\\\"[[",[[]]]`: 3,
		strings.Repeat("[", 500) + strings.Repeat("]", 500): 500,
	} {
		if got := Depth([]byte(doc)); got != want {
			t.Errorf("%.40s nests %d deep, want %d", doc, got, want)
		}
	}
}
