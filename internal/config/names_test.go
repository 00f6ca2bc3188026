package config

import (
	"slices"
	"testing"
)

// A name that the system does not take for a variable is reported before a command
// is started with it.
func TestNamesOfVariables(t *testing.T) {
	got := mistakes(t, head+`agents:
  a: {exec: {command: [x], env: {"A=B": x, "C\0": y, "": z, D.e-f: w}}}
  b: {mcp: {command: [x], env: {"=": x}}}
`, nil)
	want := []string{
		"3:34: agents.a.exec.env.A=B: is not the name of a variable",
		"3:44: agents.a.exec.env.C\x00: is not the name of a variable",
		"3:54: agents.a.exec.env.: is not the name of a variable",
		"4:33: agents.b.mcp.env.=: is not the name of a variable",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
