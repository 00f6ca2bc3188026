package storecheck

import (
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

// Lines returns an area as a line of a table, followed by its failed tests. Before the first
// area it describes the server.
func (r *Report) Lines(a *Area) string {
	var b strings.Builder
	if a.Name == r.Areas[0].Name {
		fmt.Fprintf(&b, "Server: %s\nDurability: %s\n", plain.Line(r.Server), plain.Line(r.Durability))
		for _, w := range r.Without {
			fmt.Fprintf(&b, "Without: %s\n", plain.Line(w))
		}
		fmt.Fprintf(&b, "\n%-20s %5s %6s %8s\n", "AREA", "TESTS", "FAILED", "TIME")
	}
	fmt.Fprintf(&b, "%-20s %5d %6d %7.1fs", a.Name, a.Tests, len(a.Failed), a.Seconds)
	for _, f := range a.Failed {
		fmt.Fprintf(&b, "\n  %s: %s", plain.Line(f.Test), plain.Line(terminal.Cut(strings.Join(strings.Fields(f.Reason), " "), 200)))
	}
	return b.String()
}

// Verdict returns the last line.
func (r *Report) Verdict() string {
	is := "usable: all hold"
	switch {
	case r.Failed > 0:
		is = "not usable: " + plain.Count(r.Failed, "test") + " failed"
	case !r.Usable:
		is = "all hold, but parley serve refuses it, see Durability"
	case len(r.Only) > 0:
		is = "all hold; others were not run"
	}
	return plain.Count(r.Tests, "test") + ", " + is
}
