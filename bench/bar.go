package main

import (
	"fmt"
	"io"
	"math"
)

// bar is what is asked of Parley with its tasks on disk.
type bar struct {
	text            string
	atLeast, atMost float64                         // one of them
	needs           []need                          // what it is made of
	value           func(m medians) (float64, bool) // nil: the ratio of the first need to the second
}

// need is a contender in a case.
type need struct{ contender, label string }

// medians are the figures of a scenario.
type medians struct {
	figures    map[need]*figures
	rounds     map[need][]figures // what they are the medians of
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

// estimate is a figure and its standard error, which is 0 if one round is all there is.
type estimate struct{ value, err float64 }

// inRounds is how many times as much of something one has as the other, over all rounds
// together. Rounds are disturbed in pairs, so the error is what it changes by if a pair is
// left out (the jackknife).
func inRounds(one, other []figures, of func(f figures) float64) (e estimate, ok bool) {
	n := min(len(one), len(other))
	without := func(i int) float64 {
		var a, b float64
		for j := range n {
			if j != i {
				a, b = a+of(one[j]), b+of(other[j])
			}
		}
		return a / b
	}
	if e.value = without(n); !(e.value > 0 && e.value <= math.MaxFloat64) {
		return estimate{}, false
	}
	if n > 1 {
		for i := range n {
			d := without(i) - e.value
			e.err += d * d * float64(n-1) / float64(n)
		}
		e.err = math.Sqrt(e.err)
	}
	return e, true
}

// between is a bar for one measurement as a ratio to another.
func between(text string, one, other need, atLeast float64) bar {
	return bar{text: text, atLeast: atLeast, needs: []need{one, other}}
}

// measured is what a bar asks about, and the same of processor time, to know better.
func (b *bar) measured(m medians) (is, cpu estimate, ok bool) {
	if b.value != nil {
		is.value, ok = b.value(m)
		return is, cpu, ok
	}
	one, other := b.needs[0], b.needs[1]
	if m.of(one.contender, one.label) == nil || m.of(other.contender, other.label) == nil {
		return is, cpu, false
	}
	cpu, _ = inRounds(m.rounds[other], m.rounds[one], func(f figures) float64 { return f.CPU }) // zero is unknown
	if m.lessBetter {
		one, other = other, one
	}
	is, ok = inRounds(m.rounds[one], m.rounds[other], func(f figures) float64 { return f.Main })
	return is, cpu, ok
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

// barReport is the outcome of a bar.
type barReport struct {
	Scenario string  `json:"scenario"`
	Text     string  `json:"text"`
	Value    float64 `json:"value,omitempty"`
	Error    float64 `json:"error,omitempty"` // of Value, as its standard error
	CPU      float64 `json:"cpu,omitempty"`   // the same ratio of processor time
	CPUError float64 `json:"cpuError,omitempty"`
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
	is, cpu, ok := b.measured(m)
	if !ok {
		return r
	}
	r.Value, r.Error, r.CPU, r.CPUError, r.Verdict = is.value, is.err, cpu.value, cpu.err, missed
	if b.atMost != 0 && is.value <= b.atMost || b.atMost == 0 && is.value >= b.atLeast {
		r.Verdict = met
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
	return estimate{b.Value, b.Error}.String()
}

// String writes as many digits as the error allows.
func (e estimate) String() string {
	if e.err == 0 {
		return figureOrDash(e.value)
	}
	digits := min(3, max(0, 1-int(math.Floor(math.Log10(e.err))))) // two of the error
	return fmt.Sprintf("%.*f ± %.*f", digits, e.value, digits, e.err)
}

// barRows are the lines of the bar as a table.
func (r *report) barRows() [][]string {
	rows := [][]string{{"the bar", "wanted", "measured", "by CPU", ""}}
	for _, b := range r.Bar {
		rows = append(rows, []string{"(" + b.Scenario + ") " + b.Text, b.wanted(), b.measured(), estimate{b.CPU, b.CPUError}.String(), b.Verdict})
	}
	return rows
}

// verdict is the end of a report: what was wanted, and the outcome.
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
