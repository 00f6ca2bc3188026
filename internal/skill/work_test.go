package skill

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// The work of a check grows with its arguments, whatever the schema: each of these would
// take minutes, or years.
func TestCheckComesToAnEnd(t *testing.T) {
	nested := func(inner string) string { return strings.Repeat(`{"x":`, 50) + inner + strings.Repeat("}", 50) }
	var properties, arguments []string
	for i := range 3000 {
		properties = append(properties, fmt.Sprintf(`"p%04d":{"type":"integer"}`, i))
		arguments = append(arguments, fmt.Sprintf(`"p%04d":1`, i))
	}
	for name, tt := range map[string]struct{ schema, arguments, what string }{
		"all of itself twice":   {`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, nested("{}"), "too long"},
		"one of two operations": {`{"oneOf":[{"properties":{"x":{"$ref":"#"},"op":{"const":"+"}}},{"properties":{"x":{"$ref":"#"},"op":{"const":"-"}}}]}`, nested("{}"), "too long"},
		"something wrong":       {`{"properties":{"x":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}},"additionalProperties":false}`, nested(`{"y":1}`), "too long"},
		"many values":           {`{"properties":{"x":{"items":{"enum":[` + strings.Repeat(`"some value",`, 5000) + `1]}}}}`, `{"x":[` + strings.Repeat("2,", 5000) + "2]}", "too long"},
		"much to look through":  {`{"properties":{` + strings.Join(properties, ",") + `}}`, "{" + strings.Join(arguments, ",") + `,"p2999":"x"}`, "does not fit"},
	} {
		set, err := New(cardWith(map[string]a2a.JSON{"s": a2a.JSON(tt.schema)}, "s"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var e *a2a.Error
		if err := set.Check(called(t, "s", tt.arguments)); !errors.As(err, &e) || !strings.Contains(e.Message, tt.what) {
			t.Errorf("%s: %v, want %s", name, err, tt.what)
		}
	}
}
