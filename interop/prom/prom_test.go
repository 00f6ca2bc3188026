package prom

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const deploy = "../../deploy/"

// metric is a row of the table in docs/observability.md, which a test of Parley's keeps
// the same as the table that instruments are made from.
type metric struct {
	name, kind string
	labels     []string
}

var (
	metricRow   = regexp.MustCompile("(?m)^\\* `([a-z0-9_]+)`(?:, (gauge|histogram))?: .*?\\.(?: By (.*))?$")
	metricLabel = regexp.MustCompile("(?:^|; )`([a-z_]+)`")
)

func documented(t *testing.T) (all []metric) {
	t.Helper()
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		m := metric{name: row[1], kind: row[2]}
		if strings.HasSuffix(m.name, "_total") {
			m.kind = "counter"
		}
		if m.kind == "" {
			continue // a label
		}
		for _, l := range metricLabel.FindAllStringSubmatch(row[3], -1) {
			m.labels = append(m.labels, l[1])
		}
		all = append(all, m)
	}
	if len(all) < 30 {
		t.Fatalf("docs/observability.md has %d metrics", len(all))
	}
	return all
}

// known has the labels of each metric that may be asked for, by its name at /metrics.
// Those of Go and of the process, and up, are not Parley's.
func known(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"up": nil, "process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil, "process_open_fds": nil,
		"go_goroutine_count": nil, "go_memory_used_bytes": {"go_memory_type"},
	}
	for _, m := range documented(t) {
		if m.kind != "histogram" {
			all[m.name] = m.labels
			continue
		}
		for _, part := range []string{"_sum", "_count"} {
			all[m.name+part] = m.labels
		}
		all[m.name+"_bucket"] = append([]string{"le"}, m.labels...)
	}
	return all
}

// check reports what a query asks for that no server has.
func check(t *testing.T, where, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return
	}
	all := known(t)
	has := map[string]bool{"instance": true, "job": true} // which Prometheus adds
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		own, ok := all[v.Name]
		if !ok {
			t.Errorf("%s: there is no metric %s", where, v.Name)
		}
		for _, l := range own {
			has[l] = true
		}
		for _, m := range v.LabelMatchers {
			if m.Name != labels.MetricName && m.Name != "instance" && m.Name != "job" && !slices.Contains(own, m.Name) {
				t.Errorf("%s: %s has no label %s", where, v.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !has[l] {
					t.Errorf("%s: %s groups by %s, which nothing in it has", where, query, l)
				}
			}
		}
		return nil
	})
}

// The alerts are rules that Prometheus takes, of metrics that there are, each
// with a paragraph in docs/operations.md about what to do.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile(deploy+"alerts.yaml", false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			check(t, r.Alert, r.Expr)
			if !strings.Contains(string(page), "\n### "+r.Alert+"\n\n") {
				t.Errorf("docs/operations.md has no paragraph %q", r.Alert)
			}
			if at := "docs/operations.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], at) {
				t.Errorf("%s: runbook_url is %q, and should end with %s", r.Alert, r.Annotations["runbook_url"], at)
			}
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s has no summary or severity", r.Alert)
			}
		}
	}
	if rules != 11 {
		t.Errorf("%d rules", rules)
	}
}

// The dashboard asks for metrics that there are, and for all of them.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile(deploy + "grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\$__rate_interval|\$\w+`)
	asked := ""
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			asked += target.Expr + "\n"
			check(t, p.Title, variable.ReplaceAllStringFunc(target.Expr, func(v string) string {
				if v == "$__rate_interval" {
					return "5m"
				}
				return ".*"
			}))
		}
	}
	for _, m := range documented(t) {
		if name := m.name; !regexp.MustCompile(`\b` + name + `(_bucket|_sum|_count)?\b`).MatchString(asked) {
			t.Errorf("no panel shows %s", name)
		}
	}
}
