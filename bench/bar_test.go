package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func barBench() *bench {
	o := &options{bar: true}
	p, err := o.plan()
	if err != nil {
		panic(err)
	}
	return &bench{plan: p, say: io.Discard, contenders: known()}
}

// The bar's form measures what bars are made of, and nothing else.
func TestBarMeasuresWhatBarsNeed(t *testing.T) {
	b := barBench()
	for _, s := range scenarios {
		a := s.about()
		measured := map[need]bool{}
		for _, k := range b.cases(s) {
			for _, of := range b.contenders {
				if b.takesPart(s, of, k) {
					measured[need{of.name, k.label}] = true
				}
			}
		}
		for _, one := range a.bars {
			if len(one.needs) == 0 {
				t.Errorf("(%s) %s: it does not say what it is made of", a.key, one.text)
			}
			for _, n := range one.needs {
				if !measured[n] {
					t.Errorf("(%s) %s: %v is not measured", a.key, one.text, n)
				}
			}
		}
		for n := range measured {
			if !a.needed(n.contender, n.label) && n.contender != "parley-uncached" {
				t.Errorf("(%s) %v is measured for nothing", a.key, n)
			}
		}
	}
}

// Each line of the tables has its bars.
func TestEveryLineHasItsBar(t *testing.T) {
	lines := map[string]int{"a": 7, "b": 1, "c": 5, "d": 2, "e": 1, "f": 1, "g": 2 * len(listWays), "h": 3, "i": 1, "j": 14, "k": 1}
	for _, s := range scenarios {
		if a := s.about(); len(a.bars) != lines[a.key] {
			t.Errorf("(%s) has %d bars, want %d", a.key, len(a.bars), lines[a.key])
		}
	}
}

func TestBarTakesThreeQuartersOfAnHour(t *testing.T) {
	b := barBench()
	b.plan.stock = t.TempDir() // the databases are to be made
	if d := b.estimate(scenarios); d < 15*time.Minute || d > 50*time.Minute {
		t.Errorf("some %v", d)
	}
}

// Sizes that are compared are measured in turn, so that what disturbs the machine
// disturbs both.
func TestComparedCasesAreInTurn(t *testing.T) {
	b := barBench()
	for _, s := range scenarios {
		for _, one := range s.about().bars {
			var turns []int
			for i, g := range groups(b.cases(s)) {
				for _, n := range one.needs {
					if slices.ContainsFunc(g, func(k setting) bool { return k.label == n.label }) {
						turns = append(turns, i)
					}
				}
			}
			if slices.Min(turns) != slices.Max(turns) {
				t.Errorf("(%s) %s: measured apart", s.about().key, one.text)
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	r := &report{Bar: []barReport{
		{Scenario: "a", Text: "× bare", Value: 0.3, CPU: 0.29, AtLeast: 0.25, Verdict: met},
		{Scenario: "f", Text: "µs", Value: 4, AtMost: 3, Verdict: missed},
		{Scenario: "c", Text: "× gone", AtLeast: 1, Verdict: notMeasured},
	}}
	var out strings.Builder
	r.verdict(&out)
	for _, want := range []string{"(a) × bare  ≥ 0.25      0.30    0.29           met", "(f) µs      ≤ 3.00      4.00       –        missed", "1 met, 1 missed, 1 not measured"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	(&report{Bar: r.Bar[2:]}).verdict(&out)
	if out.Len() > 0 {
		t.Errorf("a verdict on nothing: %s", out.String())
	}
}

// What disturbs a pair of rounds does not count as an error of their ratio.
func TestRatioOverAllRounds(t *testing.T) {
	rounds := func(main ...float64) (all []figures) {
		for _, m := range main {
			all = append(all, figures{Main: m})
		}
		return all
	}
	mainOf := func(f figures) float64 { return f.Main }
	for _, c := range []struct {
		one, other []figures
		want       string
	}{
		{rounds(90, 9, 45), rounds(100, 10, 50), "0.90"},
		{rounds(90, 100), rounds(100, 100), "0.950 ± 0.050"}, // 0.9 and 1 without the other: 0.05² twice, by half
		{rounds(90, 100, 7), rounds(100, 100), "0.950 ± 0.050"},
		{rounds(90), rounds(100), "0.90"},
		{rounds(90), nil, "–"},
		{rounds(90), rounds(0), "–"},
	} {
		e, ok := inRounds(c.one, c.other, mainOf)
		if e.err < 1e-12 {
			e.err = 0
		}
		if got := e.String(); got != c.want || ok != (got != "–") {
			t.Errorf("%v over %v: %s, %t, want %s", c.one, c.other, got, ok, c.want)
		}
	}
}

func TestBarHasItsError(t *testing.T) {
	a := about{key: "x", bars: []bar{between("twice", need{"one", "k"}, need{"other", "k"}, 1.9)}}
	r := result(a, []*series{
		{Contender: "one", Case: "k", Rounds: []figures{{Main: 200, CPU: 10}, {Main: 180, CPU: 10}}},
		{Contender: "other", Case: "k", Rounds: []figures{{Main: 100, CPU: 30}, {Main: 100, CPU: 50}}},
	})
	if b := r.bars[0]; b.measured() != "1.90 ± 0.10" || b.CPU != 4 || b.CPUError < 0.99 || b.CPUError > 1.01 || b.Verdict != met {
		t.Errorf("%+v", b)
	}
}

func TestMarkdown(t *testing.T) {
	one := &series{Contender: parleyDisk, Case: "64 connections", Rounds: []figures{{Main: 100, CPU: 50}}}
	r := &report{Date: "today", Scenarios: []*scenarioReport{result(send{}.about(), []*series{one})}}
	r.Bar = r.Scenarios[0].bars
	path := t.TempDir() + "/figures.json"
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := markdown(&out, path); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n|:--|--:|", "| 64 connections: parley | 100 | 100 to 100 |", "| (a) × bare, 64 connections | ≥ 0.25 | – | – | not measured |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}
