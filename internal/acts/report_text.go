package acts

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Write writes the report in a format: json, junit, html, acts; anything else means text.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.writeJSON(w)
	case "junit":
		return r.writeJUnit(w)
	case "html":
		return r.writeHTML(w)
	case "acts":
		return r.writeACTS(w)
	}
	return r.writeText(w)
}

// writeText writes a report for people: failures, what was not tested, and a table of suites
// and interfaces.
func (r *Report) writeText(w io.Writer) error {
	t := &textReport{w: w}
	for _, level := range Levels {
		for _, x := range r.Failed(level) {
			t.failure(x)
		}
	}
	for _, x := range r.Errors() {
		t.line("ERROR %s (%s %s): %s", x.ID, x.Binding, x.Version, x.Reason)
		t.line("")
	}
	t.table(r)
	t.skips(r)
	t.sums(r)
	return t.err
}

type textReport struct {
	w   io.Writer
	err error
}

// line writes one line. Line ends in texts of the agent, such as its name, are replaced.
func (t *textReport) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, lineEnds.Replace(fmt.Sprintf(format, args...))+"\n")
	}
}

var lineEnds = strings.NewReplacer("\n", " ", "\r", " ", "\v", " ", "\f", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")

func (t *textReport) failure(x *Result) {
	t.line("FAIL  %s  %s %s  (%s, %s)", x.ID, x.Binding, x.Version, x.Level, clause(x.Ref))
	t.line("      %s", x.Name)
	f := x.Failure
	if f.Expected != "" {
		at := f.Path
		if f.Step != "" {
			at = strings.TrimSpace("step " + f.Step + "  " + at)
		}
		if at != "" {
			t.line("      at        %s", at)
		}
		t.line("      expected  %s", f.Expected)
		t.line("      got       %s", f.Actual)
	} else {
		t.line("      %s", f.Message)
	}
	for _, e := range f.Exchanges {
		for n, l := range e.Request {
			t.line("      %s %s", map[bool]string{true: ">", false: " "}[n == 0 || l != ""], l)
		}
		for _, l := range e.Response {
			t.line("      < %s", l)
		}
	}
	t.line("")
}

// clause formats a reference to the specification.
func clause(ref string) string {
	if ref != "" && ref[0] >= '0' && ref[0] <= '9' {
		return "§" + ref
	}
	return cmp.Or(ref, "no clause given")
}

// table writes a line for each suite, with a column for each interface.
func (t *textReport) table(r *Report) {
	areas, wide := r.areas(), len("passed/failed/skipped")
	for _, a := range areas {
		wide = max(wide, len(a.ID))
	}
	row := func(first string, cell func(*Interface) string) {
		line := fmt.Sprintf("%-*s", wide, first)
		for i := range r.Interfaces {
			line += fmt.Sprintf("  %14s", cell(&r.Interfaces[i]))
		}
		t.line("%s", strings.TrimRight(line, " "))
	}
	counts := func(first string, of func(*Result) bool) {
		row(first, func(i *Interface) string {
			n := r.Counts(func(x *Result) bool { return of(x) && i.has(x) })
			switch {
			case n.Total == 0:
				return "-"
			case n.Errors > 0:
				return fmt.Sprintf("%d/%d/%d %dE", n.Passed, n.Failed, n.Skipped, n.Errors)
			}
			return fmt.Sprintf("%d/%d/%d", n.Passed, n.Failed, n.Skipped)
		})
	}
	row("passed/failed/skipped", func(i *Interface) string { return i.Binding + " " + i.Version })
	for _, a := range areas {
		counts(a.ID, func(x *Result) bool { return x.Suite == a.ID })
	}
	counts("all", func(*Result) bool { return true })
	t.line("")
}

// skips writes why tests were skipped, each reason once.
func (t *textReport) skips(r *Report) {
	count := map[string]int{}
	for _, x := range r.Results {
		if x.Outcome == Skip {
			count[x.Reason]++
		}
	}
	reasons := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	const most = 15
	for n, reason := range reasons {
		if n == most {
			t.line("skipped: and %d more reasons: --format json has all", len(reasons)-n)
			break
		}
		t.line("skipped %4d: %s", count[reason], cut(reason, 200))
	}
	if len(reasons) > 0 {
		t.line("")
	}
	for _, n := range r.Notes {
		t.line("not judged: %s", n)
	}
}

func (t *textReport) sums(r *Report) {
	for _, level := range Levels {
		c := r.Counts(func(x *Result) bool { return x.Level == level })
		if c.Total == 0 {
			continue
		}
		text := fmt.Sprintf("%-7s %d of %d passed", strings.ToUpper(string(level))+":", c.Passed, c.Total)
		var more []string
		add := func(n int, word string) {
			if n > 0 {
				more = append(more, fmt.Sprintf("%d %s", n, word))
			}
		}
		add(c.Failed-c.Known, "failed")
		add(c.Known, "failed as the baseline has it")
		add(c.Skipped, "skipped")
		add(c.Errors, "errors")
		if len(more) > 0 {
			text += " (" + strings.Join(more, ", ") + ")"
		}
		t.line("%s", text)
	}
	t.line("%s %s at %s: %s, in %s", r.Agent, r.AgentVersion, r.Card, r.Verdict(), r.Took.Round(100*time.Millisecond))
}

// Verdict briefly states the result.
func (r *Report) Verdict() string {
	c := r.Counts(func(x *Result) bool { return x.Level == Must })
	failed := len(r.Failed(Must))
	switch {
	case len(r.Errors()) > 0 && failed == 0:
		return "not judged in full: there were errors of the tests"
	case failed == 1:
		return "not conformant: 1 MUST test failed"
	case failed > 0:
		return fmt.Sprintf("not conformant: %d MUST tests failed", failed)
	case r.Locked():
		return "not judged in full: " + AsksForCredentials
	case c.Passed+c.Known == 0:
		return "not judged: no MUST test could be run"
	case c.Known > 0:
		return "no MUST test failed but those of the baseline"
	}
	return "conformant: no MUST test failed"
}
