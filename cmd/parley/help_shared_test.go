package main

import (
	"bytes"
	"strings"
	"testing"
)

// Commands that call no agent have no options of calls in their help; those that print
// documents have the ones that say how.
func TestHelpHasOnlyOptionsThatCount(t *testing.T) {
	for command, want := range map[string][2]bool{ // --bearer, --output
		"init": {false, true}, "config validate": {false, true}, "config show": {false, true}, "card sign": {false, true}, "card keygen": {false, true},
		"send": {true, true}, "chat": {true, true}, "mcp": {true, true},
		"serve": {false, false}, "key create": {false, true},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(strings.Fields(command), "--help"), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%s: exit code %d: %s", command, code, errs.String())
		}
		help := out.String()
		if got := [2]bool{strings.Contains(help, "--bearer"), strings.Contains(help, "--output ")}; got != want {
			t.Errorf("%s: --bearer and --output are in its help: %v, want %v", command, got, want)
		}
	}
}
