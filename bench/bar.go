package main

import (
	"fmt"
	"io"
)

// bar is what is asked of Parley with its tasks on disk.
type bar struct {
	text            string
	atLeast, atMost float64 // one of them
	needs           []need  // what it is made of
	value           func(m medians) (float64, bool)
	cpu             func(m medians) (float64, bool) // the same of processor time, to know better; may be nil
}

// need is a contender in a case.
type need struct{ contender, label string }

// medians are the figures of a scenario.
type medians struct {
	figures    map[need]*figures
	lessBetter bool
}

// of returns nil where there are none, or only how far something came.
func (m medians) of(contender, label string) *figures {
	f := m.figures[need{contender, label}]
	if f == nil || f.Over != "" && contender == parleyDisk {
		return nil
	}
	return f
}

// ratio is how many times better one is than the other.
func ratio(one, other *figures, lessBetter bool) (float64, bool) {
	if one == nil || other == nil || one.Main == 0 || other.Main == 0 {
		return 0, false
	}
	if lessBetter {
		return other.Main / one.Main, true
	}
	return one.Main / other.Main, true
}

// cheaper is how many times less processor time one takes than the other.
func cheaper(one, other *figures) (float64, bool) {
	if one == nil || other == nil || one.CPU == 0 || other.CPU == 0 {
		return 0, false
	}
	return other.CPU / one.CPU, true
}

// between is a bar for one measurement as a ratio to another.
func between(text string, one, other need, atLeast float64) bar {
	return bar{
		text: text, atLeast: atLeast, needs: []need{one, other},
		value: func(m medians) (float64, bool) {
			return ratio(m.of(one.contender, one.label), m.of(other.contender, other.label), m.lessBetter)
		},
		cpu: func(m medians) (float64, bool) {
			return cheaper(m.of(one.contender, one.label), m.of(other.contender, other.label))
		},
	}
}

// against is a bar in one case, as a ratio to another contender.
func against(label, contender string, atLeast float64) bar {
	return between("× "+contender+", "+label, need{parleyDisk, label}, need{contender, label}, atLeast)
}

// compared is a bar between two cases of Parley's.
func compared(label, other string, atLeast float64) bar {
	return between(label+" × "+other, need{parleyDisk, label}, need{parleyDisk, other}, atLeast)
}

// needed says whether a bar of the scenario is made of that measurement.
func (a about) needed(contender, label string) bool {
	for _, b := range a.bars {
		for _, n := range b.needs {
			if n == (need{contender, label}) {
				return true
			}
		}
	}
	return false
}

// compares says whether a bar of the scenario is made of anything of a contender's.
func (a about) compares(contender string) bool {
	for _, b := range a.bars {
		for _, n := range b.needs {
			if n.contender == contender {
				return true
			}
		}
	}
	return false
}

// barReport is what came of a bar.
type barReport struct {
	Scenario string  `json:"scenario"`
	Text     string  `json:"text"`
	Value    float64 `json:"value,omitempty"`
	CPU      float64 `json:"cpu,omitempty"` // the same ratio of processor time
	AtLeast  float64 `json:"atLeast,omitempty"`
	AtMost   float64 `json:"atMost,omitempty"`
	Verdict  string  `json:"verdict"`
}

// Verdicts.
const (
	met         = "met"
	missed      = "missed"
	notMeasured = "not measured"
)

func (b *bar) report(scenario string, m medians) barReport {
	r := barReport{Scenario: scenario, Text: b.text, AtLeast: b.atLeast, AtMost: b.atMost, Verdict: notMeasured}
	v, ok := b.value(m)
	if !ok {
		return r
	}
	r.Value, r.Verdict = v, missed
	if b.atMost != 0 && v <= b.atMost || b.atMost == 0 && v >= b.atLeast {
		r.Verdict = met
	}
	if b.cpu != nil {
		r.CPU, _ = b.cpu(m) // zero is unknown
	}
	return r
}

func (b barReport) wanted() string {
	if b.AtMost != 0 {
		return "≤ " + figure(b.AtMost)
	}
	return "≥ " + figure(b.AtLeast)
}

func (b barReport) measured() string {
	if b.Verdict == notMeasured {
		return "–"
	}
	return figure(b.Value)
}

// barRows are the lines of the bar as a table.
func (r *report) barRows() [][]string {
	rows := [][]string{{"the bar", "wanted", "measured", "by CPU", ""}}
	for _, b := range r.Bar {
		rows = append(rows, []string{"(" + b.Scenario + ") " + b.Text, b.wanted(), b.measured(), figureOrDash(b.CPU), b.Verdict})
	}
	return rows
}

// verdict is the end of a report: what was wanted, and what came of it.
func (r *report) verdict(w io.Writer) {
	count := map[string]int{}
	for _, b := range r.Bar {
		count[b.Verdict]++
	}
	if count[met]+count[missed] == 0 {
		return // sizes of which nothing is asked
	}
	fmt.Fprintln(w)
	table(w, r.barRows())
	fmt.Fprintf(w, "%d met, %d missed, %d not measured\n", count[met], count[missed], count[notMeasured])
}
