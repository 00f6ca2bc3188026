package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// report is what a run came to, as JSON.
type report struct {
	Date       string            `json:"date"`
	Machine    machine           `json:"machine"`
	Short      bool              `json:"short"`
	Rounds     int               `json:"rounds"`
	Seconds    float64           `json:"seconds"` // of one measurement
	Pinned     bool              `json:"pinned"`
	Contenders []who             `json:"contenders"`
	Scenarios  []*scenarioReport `json:"scenarios"`
	Bar        []barReport       `json:"bar,omitempty"`
}

type machine struct {
	Processors int     `json:"processors"`
	Model      string  `json:"model,omitempty"`
	MemoryGB   float64 `json:"memoryGB,omitempty"`
	System     string  `json:"system"`
	Go         string  `json:"go"`
	Load       string  `json:"load,omitempty"` // before the first measurement
}

// failed counts the series that have no figures because something was wrong.
func (r *report) failed() (n int) {
	for _, s := range r.Scenarios {
		for _, one := range s.Series {
			if one.Failed != "" {
				n++
			}
		}
	}
	return n
}

type who struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Note    string `json:"note,omitempty"`
	Dialect string `json:"dialect"`
	Missing string `json:"missing,omitempty"` // why it did not take part at all
}

type scenarioReport struct {
	Key        string    `json:"key"`
	Title      string    `json:"title"`
	Unit       string    `json:"unit"`
	LessBetter bool      `json:"lessBetter,omitempty"`
	Done       string    `json:"done,omitempty"` // what processor time is per
	Series     []*series `json:"series"`
	bars       []barReport
}

func thisMachine() machine {
	load, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	short := strings.Join(strings.Fields(string(load))[:min(3, len(strings.Fields(string(load))))], " ")
	return machine{
		Processors: processors, Model: machineModel(), MemoryGB: round(megabytes(machineMemory())/1024, 1),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Load: short,
	}
}

// processors before any of them were set apart.
var processors = runtime.NumCPU()

func round(f float64, digits int) float64 {
	var r float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.*f", digits, f), "%g", &r)
	return r
}

// result makes a scenario's part of the report.
func result(a about, all []*series) *scenarioReport {
	m := medians{figures: map[need]*figures{}, rounds: map[need][]figures{}, lessBetter: a.lessBetter}
	for _, s := range all {
		if f := s.median(); f != nil {
			k := need{s.Contender, s.Case}
			m.figures[k], m.rounds[k] = f, s.Rounds
		}
	}
	r := &scenarioReport{Key: a.key, Title: a.title, Unit: a.unit, LessBetter: a.lessBetter, Done: a.done, Series: all}
	for _, b := range a.bars {
		r.bars = append(r.bars, b.report(a.key, m))
	}
	return r
}

// print writes a scenario as a table.
func (r *scenarioReport) print(w io.Writer) {
	fmt.Fprintf(w, "\n(%s) %s\n\n", r.Key, r.Title)
	table(w, r.rows())
	for _, note := range r.notes() {
		fmt.Fprintln(w, note)
	}
	for _, b := range r.bars {
		if b.Verdict != notMeasured {
			fmt.Fprintf(w, "bar: %s %s; wanted %s: %s\n", b.measured(), b.Text, b.wanted(), b.Verdict)
		}
	}
}

// rows are a scenario's figures as a table.
func (r *scenarioReport) rows() [][]string {
	cpu := "CPU µs/" + r.Done
	if r.Done == "" {
		cpu = "CPU"
	}
	limits := map[string]*figures{}
	for _, s := range r.Series {
		if s.Contender == "bare" {
			limits[s.Case] = s.median()
		}
	}
	rows := [][]string{{"", r.Unit, "least to most", "× bare", "p50 ms", "p99 ms", cpu, "generator's", "MB"}}
	last := ""
	for _, s := range r.Series {
		if s.Case != last {
			rows = append(rows, []string{s.Case})
			last = s.Case
		}
		m := s.median()
		if m == nil {
			continue // the notes say why
		}
		least, most := s.spread()
		bound := ""
		if m.Over != "" {
			bound = ">"
		}
		times, _ := ratio(m, limits[s.Case], r.LessBetter)
		rows = append(rows, []string{
			"  " + s.Contender, bound + figure(m.Main), figure(least) + " to " + figure(most),
			figureOrDash(times), figureOrDash(m.P50), figureOrDash(m.P99), figureOrDash(m.CPU), figureOrDash(m.Own), figureOrDash(m.Memory),
		})
	}
	return rows
}

// table writes rows in columns, the first one to the left. A row of one column is
// a heading and may be wider.
func table(w io.Writer, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if len(row) > 1 {
				wide[i] = max(wide[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", max(0, wide[i]-utf8.RuneCountInString(cell)))
			if i == 0 {
				line += cell + space
			} else {
				line += "  " + space + cell
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// notes say who is not in the table and why, who did not come to an end, and where the
// generator had little left.
func (r *scenarioReport) notes() (lines []string) {
	type note struct{ who, why string }
	seen := map[note]bool{}
	for _, s := range r.Series {
		n := note{s.Contender, "left out: " + s.Skipped}
		if s.Failed != "" {
			first, _, _ := strings.Cut(s.Failed, "\n")
			n.why = s.Case + ": FAILED, so there are no figures: " + first
		} else if s.Skipped == "" {
			switch m := s.median(); {
			case m == nil:
				continue
			case m.Note != "":
				n.why = s.Case + ": " + m.Note
			case m.Over != "":
				n.why = s.Case + ": stopped at " + m.Over
			case m.Busy > 0.9:
				n.why = fmt.Sprintf("%s: the generator used %.0f %% of its processors, so it may be what limits", s.Case, 100*m.Busy)
			default:
				continue
			}
		}
		if !seen[n] {
			seen[n] = true
			lines = append(lines, n.who+": "+n.why)
		}
	}
	return lines
}

// figure writes three significant digits.
func figure(f float64) string {
	switch abs := max(f, -f); {
	case abs >= 100:
		return thousands(int(f + 0.5))
	case abs >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

func figureOrDash(f float64) string {
	if f == 0 {
		return "–"
	}
	return figure(f)
}

// heading says what was measured, and where.
func (r *report) heading(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s; %d processors", r.Date, m.Processors)
	if m.Model != "" {
		fmt.Fprintf(w, " (%s), %.0f GB", m.Model, m.MemoryGB)
	}
	fmt.Fprintf(w, "; %s, %s\n", m.System, m.Go)
	pinned := "servers and generator share the processors"
	if r.Pinned {
		pinned = "servers on the first processor, the generator on the others"
	}
	fmt.Fprintf(w, "medians of %d interleaved rounds of %.3g s; %s", r.Rounds, r.Seconds, pinned)
	if m.Load != "" {
		fmt.Fprintf(w, "; load before: %s", m.Load)
	}
	fmt.Fprintln(w)
	for _, c := range r.Contenders {
		line := fmt.Sprintf("  %-14s %s; %s; %s", c.Name, c.Version, c.Dialect, c.Note)
		if c.Missing != "" {
			line = fmt.Sprintf("  %-14s left out: %s", c.Name, c.Missing)
		}
		fmt.Fprintln(w, line)
	}
	if r.Short {
		fmt.Fprintln(w, "This is the short form: it shows that everything works. Its figures are too rough to quote.")
	}
}

func (r *report) write(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

func today() string { return time.Now().UTC().Format("2006-01-02 15:04 UTC") }
