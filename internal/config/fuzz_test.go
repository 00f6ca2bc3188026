package config

import (
	"errors"
	"os"
	"testing"
)

// Whatever a file says, reading it ends with a File or with an *Error whose
// problems are in the file.
func FuzzParse(f *testing.F) {
	twelve, err := os.ReadFile("testdata/twelve.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(twelve), full, demo, "a: &a [*a]", "{", "\t", "\xff", "? ? ?", "<<: [{}, <<: {}]", demo + "store: {address: 'postgres://%zz:a@b/c'}\n"} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		o := &Options{Lookup: lookup, Elsewhere: len(text)%2 == 0}
		file, err := Parse(dir+"/parley.yaml", []byte(text), o)
		var e *Error
		switch {
		case err == nil:
			if len(file.Agents) == 0 {
				t.Fatal("a file without agents")
			}
			for _, a := range file.Agents {
				if (a.Exec != nil) == (a.HTTP != nil || a.OpenAI != nil || a.Proxy != nil || a.MCP != nil || a.Builtin != "") {
					t.Fatalf("agent %s is not made of one thing", a.Name)
				}
			}
			_ = file.Shown()
		case !errors.As(err, &e) || len(e.Problems) == 0:
			t.Fatalf("%v is no list of problems", err)
		}
	})
}
