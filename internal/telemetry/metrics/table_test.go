package metrics

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/observability.md")

const (
	page  = "../../../docs/observability.md"
	begin = "<!-- the metric table: go test ./internal/telemetry/metrics -update -->\n"
	end   = "<!-- the end of the metric table -->\n"
)

// document returns the table in the form of the page, after the labels that several
// metrics share.
func document() string {
	uses := map[string]int{}
	for _, m := range Table {
		for _, l := range m.Labels {
			uses[described(l)]++
		}
	}
	var shared, rows strings.Builder
	for _, m := range Table {
		var labels []string
		for _, l := range m.Labels {
			text := described(l)
			switch n := uses[text]; {
			case n > 1: // at its first metric
				fmt.Fprintf(&shared, "* %s\n", text)
				uses[text] = 0
				fallthrough
			case n == 0:
				text = "`" + l.Prometheus() + "`"
			}
			labels = append(labels, text)
		}
		with := ""
		if labels != nil {
			with = " By " + strings.Join(labels, "; ")
		}
		kind := map[Kind]string{Histogram: ", histogram", Gauge: ", gauge", UpDown: ", gauge"}[m.Kind] // of a counter, the suffix _total says so
		fmt.Fprintf(&rows, "* `%s`%s: %s%s\n", m.Prometheus(), kind, m.Help, with)
	}
	return shared.String() + "\n" + rows.String()
}

// described returns a label with its values, or the reason why they are bounded.
func described(l Label) string {
	bound := l.Bound
	if l.Values != nil {
		bound = "`" + strings.Join(l.Values, "`, `") + "`"
	}
	return fmt.Sprintf("`%s`: %s", l.Prometheus(), bound)
}

func TestTableIsDocumented(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	is, behind, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if want := document(); is != want {
		if !*update {
			t.Fatalf("the table of %s is not that of the code: go test ./internal/telemetry/metrics -update", page)
		}
		if err := os.WriteFile(page, []byte(before+begin+want+end+behind), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// No label may have unbounded values, and no name occurs twice.
func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)
	seen := map[string]bool{}
	for _, m := range Table {
		switch {
		case !name.MatchString(m.Name):
			t.Errorf("%q is no name", m.Name)
		case seen[m.Prometheus()]:
			t.Errorf("%s is there twice", m.Name)
		case m.Help == "" || !strings.HasSuffix(m.Help, "."):
			t.Errorf("%s has no sentence for its help", m.Name)
		case (m.Kind == Histogram) != (len(m.Buckets) > 0) || !slices.IsSorted(m.Buckets):
			t.Errorf("%s has the buckets %v", m.Name, m.Buckets)
		case len(m.Labels) > maxLabels:
			t.Errorf("%s has %d labels, more than there is room for", m.Name, len(m.Labels))
		}
		seen[m.Prometheus()] = true
		for _, l := range m.Labels {
			if (l.Values == nil) == (l.Bound == "") {
				t.Errorf("%s: the label %s needs either values or what bounds them", m.Name, l.Name)
			}
		}
	}
}

// Metrics that are off cost nothing.
func TestOffCostsNothing(t *testing.T) {
	off := New(nil)
	c, h := off.Counter(TasksStarted), off.Histogram(OperationDuration)
	off.Observe(nil, Ready)()
	if n := testing.AllocsPerRun(100, func() {
		c.Add(t.Context(), 1, "agent")
		h.Record(t.Context(), 1, "GetTask", "JSONRPC", "1", "ok")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
