package acts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Report is the result of a run.
type Report struct {
	Card                string
	Agent, AgentVersion string
	Began               time.Time
	Took                time.Duration
	Interfaces          []Interface
	Notes               []string // what was not tested, according to the card
	Results             []*Result
}

// Interface is an interface that was tested.
type Interface struct {
	Binding string `json:"binding"`
	Version string `json:"version"`
	URL     string `json:"url"`
	Problem string `json:"problem,omitempty"` // why no request could be made to it
}

// Count counts tests by outcome.
type Count struct {
	Total   int `json:"total"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Errors  int `json:"errors"`
	Known   int `json:"-"` // those failures that are in the baseline
}

func (c *Count) add(r *Result) {
	c.Total++
	switch r.Outcome {
	case Pass:
		c.Passed++
	case Fail:
		c.Failed++
		if r.Known {
			c.Known++
		}
	case Skip:
		c.Skipped++
	default:
		c.Errors++
	}
}

// Counts counts the results that f selects; nil selects all.
func (r *Report) Counts(f func(*Result) bool) (c Count) {
	for _, x := range r.Results {
		if f == nil || f(x) {
			c.add(x)
		}
	}
	return c
}

// Failed returns the failures of these levels, or of all, that are not in the baseline.
func (r *Report) Failed(levels ...Level) (list []*Result) {
	for _, x := range r.Results {
		if x.Outcome == Fail && !x.Known && (len(levels) == 0 || slices.Contains(levels, x.Level)) {
			list = append(list, x)
		}
	}
	return list
}

// has reports whether a result is of an interface.
func (i *Interface) has(x *Result) bool { return x.Binding == i.Binding && x.Version == i.Version }

// area is a suite of the results.
type area struct{ ID, Name string }

func (r *Report) areas() (list []area) {
	for _, x := range r.Results {
		if !slices.ContainsFunc(list, func(a area) bool { return a.ID == x.Suite }) {
			list = append(list, area{x.Suite, x.SuiteName})
		}
	}
	return list
}

// Errors returns the results that are errors of the runner or of the corpus.
func (r *Report) Errors() (list []*Result) {
	for _, x := range r.Results {
		if x.Outcome == Error {
			list = append(list, x)
		}
	}
	return list
}

// Locked reports whether tests were skipped because the agent asks for credentials.
func (r *Report) Locked() bool {
	return slices.ContainsFunc(r.Results, func(x *Result) bool { return x.Reason == AsksForCredentials })
}

// Baseline is the known failures. Its file has one line for each; # begins a comment.
type Baseline map[string]bool

// LoadBaseline reads a file; "" is an empty baseline.
func LoadBaseline(file string) (Baseline, error) {
	if file == "" {
		return Baseline{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return readBaseline(text)
}

// readBaseline parses the lines of a file.
func readBaseline(text []byte) (Baseline, error) {
	b := Baseline{}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch len(fields) {
		case 0:
		case 3:
			b[strings.Join(fields, " ")] = true
		default:
			return nil, fmt.Errorf("line %d is %q: it must be the id of a test, a binding and a version", n+1, cut(strings.TrimSpace(line), 80))
		}
	}
	return b, nil
}

// Apply marks the known failures. It returns the lines whose tests now pass.
func (b Baseline) Apply(r *Report) (over []string) {
	passed := map[string]bool{}
	for _, x := range r.Results {
		x.Known = x.Outcome == Fail && b[x.Key()]
		if x.Outcome == Pass {
			passed[x.Key()] = true
		}
	}
	for key := range b {
		if passed[key] {
			over = append(over, key)
		}
	}
	slices.Sort(over)
	return over
}

// WriteBaseline writes the failures of a run as a baseline.
func (r *Report) WriteBaseline() []byte {
	var keys []string
	why := map[string]string{}
	for _, x := range r.Results {
		if x.Outcome == Fail {
			keys = append(keys, x.Key())
			why[x.Key()] = x.Failure.Message
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	var b strings.Builder
	b.WriteString("# Failures that are known: the id of a test, a binding, a version.\n")
	for _, key := range keys {
		fmt.Fprintf(&b, "%s # %s\n", key, strings.Join(strings.Fields(cut(why[key], 100)), " "))
	}
	return []byte(b.String())
}
