package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// made is a scenario with figures that are known beforehand.
type made struct {
	main  map[string][]float64 // by contender
	order *[]string
}

func (m made) about() about {
	return about{key: "x", title: "made up", unit: "calls/s", done: "call", bars: []bar{against("one", "bare", 0.5), against("one", "gone", 1)}}
}

func (made) cases(*plan) []setting { return []setting{{label: "one"}} }

func (m made) open(_ context.Context, _ *bench, of *contender, _ setting) (bout, error) {
	if of.name == "gone" {
		return nil, lacks("it is not here")
	}
	return &madeBout{m, of.name, 0}, nil
}

// wrong stands for a measurement that fails.
const wrong = -1

type madeBout struct {
	made
	name string
	n    int
}

func (b *madeBout) measure(context.Context) (figures, error) {
	*b.order = append(*b.order, b.name)
	b.n++
	if b.main[b.name][b.n-1] == wrong {
		return figures{}, errors.New("a wrong answer")
	}
	return figures{Main: b.main[b.name][b.n-1]}, nil
}

func (b *madeBout) close() {}

func TestRoundsAreInterleaved(t *testing.T) {
	var order []string
	s := made{map[string][]float64{parleyDisk: {10, 90, 20}, "bare": {30, 10, 20}}, &order}
	b := &bench{plan: &plan{rounds: 3}, say: io.Discard, contenders: []*contender{{name: parleyDisk}, {name: "bare"}, {name: "gone"}}}
	all, err := b.scenario(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{parleyDisk, "bare", "bare", parleyDisk, parleyDisk, "bare"}; !slices.Equal(order, want) {
		t.Errorf("measured in the order %v", order)
	}
	r := result(s.about(), all)
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"10.0 to 90.0", "2.0 ± 1.8 × bare, one; wanted ≥ 0.50: met", "gone: left out: it is not here"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	if len(r.bars) != 2 || r.bars[0].Verdict != met || r.bars[1].Verdict != notMeasured {
		t.Errorf("bars: %+v", r.bars)
	}
}

func TestNoFiguresOfWrongAnswers(t *testing.T) {
	var order []string
	s := made{map[string][]float64{"bare": {1, 1}, parleyDisk: {1, wrong}}, &order}
	b := &bench{plan: &plan{rounds: 2}, say: io.Discard, contenders: []*contender{{name: parleyDisk}, {name: "bare"}}}
	all, err := b.scenario(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Rounds) != 0 || all[0].Failed != "a wrong answer" || len(all[1].Rounds) != 2 {
		t.Errorf("%+v and %+v", all[0], all[1])
	}
	r := &report{Scenarios: []*scenarioReport{result(s.about(), all)}}
	if r.failed() != 1 || r.Scenarios[0].bars[0].Verdict != notMeasured {
		t.Errorf("%d failed, bars %+v", r.failed(), r.Scenarios[0].bars)
	}
}

func TestInterruptEndsAll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var order []string
	s := made{map[string][]float64{"bare": {wrong}}, &order}
	b := &bench{plan: &plan{rounds: 2}, say: io.Discard, contenders: []*contender{{name: "bare"}}}
	if all, err := b.scenario(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", all, err)
	}
}

func TestMedian(t *testing.T) {
	s := series{Rounds: []figures{{Main: 5, CPU: 1}, {Main: 1, CPU: 9}, {Main: 3}, {Main: 100}}}
	if m := s.median(); m.Main != 4 || m.CPU != 0.5 {
		t.Errorf("%+v", m)
	}
	if least, most := s.spread(); least != 1 || most != 100 {
		t.Errorf("%v to %v", least, most)
	}
	if (&series{}).median() != nil {
		t.Error("a median of nothing")
	}
}

func TestRatios(t *testing.T) {
	fast, slow := &figures{Main: 200}, &figures{Main: 100}
	if v, ok := ratio(fast, slow, false); v != 2 || !ok {
		t.Errorf("%v", v)
	}
	if v, ok := ratio(fast, slow, true); v != 0.5 || !ok {
		t.Errorf("%v", v)
	}
	if _, ok := ratio(fast, &figures{}, false); ok {
		t.Error("a ratio to nothing")
	}
	if _, ok := ratio(nil, fast, false); ok {
		t.Error("a ratio of nothing")
	}
}

func TestFigures(t *testing.T) {
	for f, want := range map[float64]string{0.1234: "0.12", 12.34: "12.3", 123.6: "124", 1234567: "1,234,567", 100_000: "100,000"} {
		if got := figure(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestOutsiders(t *testing.T) {
	c, err := outsider("mine=http://127.0.0.1:80/0.3")
	if err != nil || c.name != "mine" || c.addr != "127.0.0.1:80" || c.dialect != rpc03 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := outsider("mine=127.0.0.1:80"); err != nil || c.dialect != rpc10 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := outsider("127.0.0.1:80"); err == nil {
		t.Error("a peer without a name")
	}
}
