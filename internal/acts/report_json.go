package acts

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// writeJSON writes the whole report, for programs.
func (r *Report) writeJSON(w io.Writer) error {
	type result struct {
		*Result
		Duration int64 `json:"durationMs"`
	}
	out := struct {
		Agent      string      `json:"agent"`
		Version    string      `json:"agentVersion"`
		Card       string      `json:"card"`
		At         string      `json:"generatedAt"`
		Duration   int64       `json:"durationMs"`
		Verdict    string      `json:"verdict"`
		Interfaces []Interface `json:"interfaces"`
		Notes      []string    `json:"notJudged,omitempty"`
		Summary    summary     `json:"summary"`
		Results    []result    `json:"results"`
	}{r.Agent, r.AgentVersion, r.Card, r.Began.UTC().Format(time.RFC3339), r.Took.Milliseconds(), r.Verdict(), r.Interfaces, r.Notes, r.summary(nil), []result{}}
	for _, x := range r.Results {
		out.Results = append(out.Results, result{x, x.Took.Milliseconds()})
	}
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// summary is the summary in ACTS's own report (ACTS §13.2).
type summary struct {
	Count
	Duration int64            `json:"duration_ms"`
	ByLevel  map[string]Count `json:"by_level"`
}

func (r *Report) summary(f func(*Result) bool) summary {
	of := func(level Level) Count {
		return r.Counts(func(x *Result) bool { return (f == nil || f(x)) && (level == "" || x.Level == level) })
	}
	s := summary{Count: of(""), Duration: r.Took.Milliseconds(), ByLevel: map[string]Count{}}
	for _, l := range Levels {
		s.ByLevel[string(l)] = of(l)
	}
	return s
}

// writeACTS writes a report in the format of ACTS §13. A report there covers one transport, so
// several interfaces make a list of reports.
func (r *Report) writeACTS(w io.Writer) error {
	type failure struct {
		Message  string `json:"message"`
		Step     string `json:"step_id,omitempty"`
		Expected string `json:"expected,omitempty"`
		Actual   string `json:"actual,omitempty"`
		Path     string `json:"assertion_path,omitempty"`
	}
	type test struct {
		ID       string   `json:"id"`
		Name     string   `json:"name"`
		Level    Level    `json:"level"`
		Result   string   `json:"result"`
		Duration int64    `json:"duration_ms"`
		Skip     string   `json:"skip_reason,omitempty"`
		Failure  *failure `json:"failure,omitempty"`
	}
	type suite struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Tests []test `json:"tests"`
	}
	type report struct {
		ACTS        string            `json:"acts_version"`
		Spec        string            `json:"spec_version"`
		At          string            `json:"generated_at"`
		SDK         map[string]string `json:"sdk"`
		Transport   string            `json:"transport"`
		Environment map[string]string `json:"environment"`
		Summary     summary           `json:"summary"`
		Suites      []suite           `json:"suites"`
	}
	var all []report
	for _, i := range r.Interfaces {
		out := report{
			"1.0", i.Version, r.Began.UTC().Format(time.RFC3339), map[string]string{"name": r.Agent, "version": r.AgentVersion, "language": "unknown"},
			i.Binding, map[string]string{"os": runtime.GOOS, "runner": "parley"}, r.summary(i.has), []suite{},
		}
		for _, a := range r.areas() {
			s := suite{ID: a.ID, Name: a.Name}
			for _, x := range r.Results {
				if x.Suite != a.ID || !i.has(x) {
					continue
				}
				t := test{ID: x.ID, Name: x.Name, Level: x.Level, Result: x.Outcome, Duration: x.Took.Milliseconds()}
				switch {
				case x.Failure != nil:
					t.Failure = &failure{x.Failure.Message, x.Failure.Step, x.Failure.Expected, x.Failure.Actual, x.Failure.Path}
				case x.Outcome == Error:
					t.Failure = &failure{Message: x.Reason}
				default:
					t.Skip = x.Reason
				}
				s.Tests = append(s.Tests, t)
			}
			if len(s.Tests) > 0 {
				out.Suites = append(out.Suites, s)
			}
		}
		all = append(all, out)
	}
	if len(all) == 1 {
		return writeJSON(w, all[0])
	}
	return writeJSON(w, all)
}

// writeJUnit writes a report for CI systems, with a test suite for each interface.
func (r *Report) writeJUnit(w io.Writer) error {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *message `xml:"failure"`
		Error   *message `xml:"error"`
		Skipped *message `xml:"skipped"`
	}
	type testsuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		At       string     `xml:"timestamp,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	type testsuites struct {
		XMLName xml.Name    `xml:"testsuites"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Suites  []testsuite `xml:"testsuite"`
	}
	out := testsuites{Name: "A2A conformance of " + xmlText(r.Agent), Time: seconds(r.Took)}
	for _, i := range r.Interfaces {
		s := testsuite{Name: i.Binding + " " + i.Version, At: r.Began.UTC().Format("2006-01-02T15:04:05")}
		for _, x := range r.Results {
			if !i.has(x) {
				continue
			}
			c := testcase{Class: i.Binding + "-" + i.Version + "." + x.Suite, Name: x.ID + " " + xmlText(x.Name), Time: seconds(x.Took)}
			s.Tests++
			switch {
			case x.Outcome == Fail && !x.Known && x.Level == Must:
				s.Failures++
				var text strings.Builder
				(&textReport{w: &text}).failure(x)
				c.Failure = &message{xmlText(x.Failure.Message), xmlText(text.String())}
			case x.Outcome == Fail:
				s.Skipped++ // CI systems have no tolerated failure, so the message carries it
				c.Skipped = &message{Message: fmt.Sprintf("%s, not counted: %s", x.Level, xmlText(x.Failure.Message))}
			case x.Outcome == Error:
				s.Errors++
				c.Error = &message{Message: xmlText(x.Reason)}
			case x.Outcome == Skip:
				s.Skipped++
				c.Skipped = &message{Message: xmlText(x.Reason)}
			}
			s.Cases = append(s.Cases, c)
		}
		out.Suites = append(out.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// xmlText drops characters that XML cannot carry.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
