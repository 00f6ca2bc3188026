package shape

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

const list = `{"tasks":[{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[1,2]},{"id":"t2","contextId":"c 2\u001b[2J","status":{"state":"TASK_STATE_FAILED"}}],"totalSize":10000000000000000001}`

func TestForms(t *testing.T) {
	jq := func(filter string) Form {
		f, err := JQ(filter)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	tmpl := func(text string) Form {
		f, err := Template(text)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		name string
		form Form
		want string
	}{
		{"jq: texts as they are", jq(".tasks[].id"), "t1\nt2\n"},
		{"jq: numbers as written", jq("{n: .totalSize}"), "{\"n\":10000000000000000001}\n"},
		{"jq: nothing", jq("empty"), ""},
		{"template", tmpl("{{range .tasks}}{{.id}} {{.status.state}}\n{{end}}"), "t1 TASK_STATE_COMPLETED\nt2 TASK_STATE_FAILED\n"},
		{"template functions", tmpl(`{{json .totalSize}} {{with index .tasks 0}}{{join "-" .artifacts}}{{end}}`), "10000000000000000001 1-2\n"},
		{"table of a list", Table, "id  contextId  status.state          artifacts\nt1             TASK_STATE_COMPLETED  2 elements\nt2  c 2        TASK_STATE_FAILED\n"},
		{"yaml", YAML, "tasks:\n  - id: t1\n    status:\n      state: TASK_STATE_COMPLETED\n    artifacts:\n      - 1\n      - 2\n  - id: t2\n    contextId: \"c 2\\e[2J\"\n    status:\n      state: TASK_STATE_FAILED\ntotalSize: 10000000000000000001\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.form(t.Context(), []byte(list))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, _ := Table(t.Context(), []byte(`{"name":"demo","capabilities":{"streaming":true},"skills":["a"],"tags":["b"]}`)); string(got) != "name                    demo\ncapabilities.streaming  true\nskills                  1 element\ntags                    1 element\n" {
		t.Errorf("an object as a table:\n%s", got)
	}
}

func TestFormsRefuse(t *testing.T) {
	if _, err := JQ(".a ||"); err == nil {
		t.Error("a filter that is none was taken")
	}
	if _, err := Template("{{.a"); err == nil {
		t.Error("a template that is none was taken")
	}
	f, _ := JQ(".tasks.id")
	if out, err := f(t.Context(), []byte(list)); err == nil || len(out) > 0 {
		t.Errorf("got %q, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, _ = JQ("repeat(1)")
	if _, err := f(ctx, []byte("null")); err == nil {
		t.Error("a filter without an end had one")
	}
}

// Whatever an agent says, its YAML means what its JSON meant.
func FuzzYAML(f *testing.F) {
	f.Add(`{"a":"yes","b":["1e3",null,-0.5,""],"c":{},"d":"x\ny\n","~":" - # "}`)
	f.Add(`{"a":1,"b":2,"a":3}`)
	f.Add("\"\\u0085 \\u2028\\n\\t\"")
	f.Fuzz(func(t *testing.T, doc string) {
		if !json.Valid([]byte(doc)) {
			t.Skip()
		}
		var want any
		if json.Unmarshal([]byte(doc), &want) != nil || strings.Contains(doc, "e") && len(doc) > 200 {
			t.Skip()
		}
		out, err := YAML(t.Context(), []byte(doc))
		if err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		var n yaml.Node
		if err := yaml.Unmarshal(out, &n); err != nil {
			t.Fatalf("%q became %q: %v", doc, out, err)
		}
		if bytes.ContainsAny(out, "\x1b\x07\x08") {
			t.Errorf("controls in %q", out)
		}
	})
}
