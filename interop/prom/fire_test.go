package prom

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// hour is the moment at which the alerts are judged, after an hour of scrapes.
const hour = 3600

// scrapes is what Prometheus has.
type scrapes []*promql.StorageSeries

// scraped takes series that are written as for promtool, with a number a minute:
// `parley_ready 1x60`.
func scraped(t *testing.T, series []string) (all scrapes) {
	t.Helper()
	for _, text := range series {
		set, numbers, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		s := promql.Series{Metric: set}
		for i, n := range numbers {
			s.Floats = append(s.Floats, promql.FPoint{T: int64(i) * time.Minute.Milliseconds(), F: n.Value})
		}
		all = append(all, promql.NewStorageSeries(s))
	}
	return all
}

func (all scrapes) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: all.find}, nil
}

func (all scrapes) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found series
	for _, s := range all {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			found.left = append(found.left, s)
		}
	}
	return &found
}

type series struct {
	at   *promql.StorageSeries
	left scrapes
}

func (s *series) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

func (s *series) At() storage.Series                { return s.at }
func (s *series) Err() error                        { return nil }
func (s *series) Warnings() annotations.Annotations { return nil }

// Each alert fires when what it is about has come about, and not before.
func TestAlertsFire(t *testing.T) {
	const day = 24 * hour
	certificate := func(lives, left int) []string {
		return []string{
			fmt.Sprintf(`parley_tls_certificate_not_before_timestamp_seconds{instance="a"} %d+0x60`, hour+left-lives),
			fmt.Sprintf(`parley_tls_certificate_expiry_timestamp_seconds{instance="a"} %d+0x60`, hour+left),
		}
	}
	const calls = `a2a_server_operation_duration_seconds_count{instance="a",method="GetTask",version="1.0",binding="GRPC",code="%s"} 0+%dx60`
	const ended = `parley_tasks_ended_total{instance="a",agent="default",state="%s"} 0+%dx60`
	const commits = `parley_commit_duration_seconds_bucket{instance="a",le="%s"} 0+%dx60`
	const denied = `parley_auth_failures_total{instance="a",reason="%s"} 0+%dx60`
	f := fmt.Sprintf
	groups, errs := rulefmt.ParseFile(deploy+"alerts.yaml", false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rest := map[string]string{} // that no row has made fire yet
	rules := map[string]string{}
	for _, r := range groups.Groups[0].Rules {
		rest[r.Alert], rules[r.Alert] = r.Expr, r.Expr
	}
	for _, c := range []struct {
		alert string
		fires bool
		of    string
		says  []string
	}{
		{"ParleyNotReady", false, "a server that is well", []string{`parley_ready 1x60`, `up{job="parley"} 1x60`}},
		{"ParleyNotReady", true, "a full disk", []string{`parley_ready 0x60`, `up{job="parley"} 1x60`}},
		{"ParleyNotReady", true, "a server that is gone", []string{`parley_ready 1x20`, `up{job="parley"} 1x20 0x40`}},
		{"ParleyCommitsSlow", false, "commits of 10 ms", []string{f(commits, "0.016", 100), f(commits, "1", 100), f(commits, "+Inf", 100)}},
		{"ParleyCommitsSlow", true, "commits of a second", []string{f(commits, "0.016", 1), f(commits, "1", 100), f(commits, "+Inf", 100)}},
		{"ParleyCallsFail", false, "mistakes of callers", []string{f(calls, "ok", 90), f(calls, "TaskNotFoundError", 90)}},
		{"ParleyCallsFail", true, "one failure in ten", []string{f(calls, "ok", 90), f(calls, "UnavailableError", 10)}},
		{"ParleyTasksFail", false, "one failure in ten", []string{f(ended, "completed", 9), f(ended, "failed", 1)}},
		{"ParleyTasksFail", true, "one failure in two", []string{f(ended, "completed", 9), f(ended, "failed", 9)}},
		{"ParleyAtCapacity", false, "room", []string{`parley_capacity_used 3x60`, `parley_capacity_limit 4x60`}},
		{"ParleyAtCapacity", false, "no limit", []string{`parley_capacity_used 3x60`}},
		{"ParleyAtCapacity", true, "no room", []string{`parley_capacity_used 4x60`, `parley_capacity_limit 4x60`}},
		{"ParleyWebhooksBehind", false, "a minute", []string{`parley_webhook_oldest_seconds 60x60`}},
		{"ParleyWebhooksBehind", true, "an hour", []string{`parley_webhook_oldest_seconds 0+60x60`}},
		{"ParleyDeadLetters", false, "none", []string{`parley_webhook_dead_letters_total 0x60`}},
		{"ParleyDeadLetters", true, "the first", []string{`parley_webhook_dead_letters_total 0x30 1x29`}},
		{"ParleyGuessing", false, "callers without credentials", []string{f(denied, "missing", 600), f(denied, "invalid", 6)}},
		{"ParleyGuessing", true, "two wrong ones a second", []string{f(denied, "invalid", 60), f(denied, "blocked", 60)}},
		{"ParleyReloadFailed", false, "a reload that worked", []string{`parley_config_last_reload_successful 1x60`}},
		{"ParleyReloadFailed", true, "one that did not", []string{`parley_config_last_reload_successful 1x50 0x10`}},
		{"ParleyCertificateExpires", false, "a day, with 20 h left", certificate(day, 20*hour)},
		{"ParleyCertificateExpires", true, "a day, with 5 h left", certificate(day, 5*hour)},
		{"ParleyCertificateExpires", false, "90 days, with 15 left", certificate(90*day, 15*day)},
		{"ParleyCertificateExpires", true, "90 days, with 13 left", certificate(90*day, 13*day)},
		{"ParleyCertificateExpires", false, "a year, with 15 days left", certificate(365*day, 15*day)},
		{"ParleyCertificateExpires", true, "an hour ago", certificate(day, -hour)},
		{"ParleyAuditLost", false, "none", []string{`parley_audit_lost_total 0x60`}},
		{"ParleyAuditLost", true, "the first", []string{`parley_audit_lost_total 0x30 1x29`}},
	} {
		engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
		q, err := engine.NewInstantQuery(t.Context(), scraped(t, c.says), nil, rules[c.alert], time.Unix(hour, 0))
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Exec(t.Context()).Vector()
		if err != nil || (len(got) > 0) != c.fires {
			t.Errorf("%s of %s: got %v, %v\n%s", c.alert, c.of, got, err, strings.Join(c.says, "\n"))
		}
		if c.fires {
			delete(rest, c.alert)
		}
	}
	if len(rest) > 0 {
		t.Errorf("no row makes these fire: %v", rest)
	}
}
