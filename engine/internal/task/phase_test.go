package task

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
)

// No test of this package may see an owner take a step that its table does not have.
func init() {
	UnexpectedPhase = func(_ *slog.Logger, from, to string) {
		panic(fmt.Sprintf("the owner of a task goes from %s to %s", from, to))
	}
}

// docs/state-machine.md and mayBecome say the same.
func TestPhaseDocument(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	named := func(cell string) (phase, bool) {
		i := slices.Index(phaseNames[:], cell)
		return phase(i), i >= 0
	}
	var columns []string
	rows := 0
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != int(phases)+1 {
			continue
		}
		if columns == nil {
			columns = cells
			continue
		}
		from, ok := named(cells[0])
		if !ok {
			continue // the line below the heading
		}
		rows++
		for i, cell := range cells[1:] {
			to, ok := named(columns[i+1])
			if !ok {
				t.Fatalf("column %q is not a phase", columns[i+1])
			}
			if want := cell == "yes"; mayBecome(from, to) != want {
				t.Errorf("%s to %s: the document says %q, the table %v", from, to, cell, !want)
			}
		}
	}
	if rows != int(phases) {
		t.Errorf("the document's table has %d phases, want %d", rows, phases)
	}
}

// From every phase an ownership comes to its end, and every phase is reached.
func TestPhasesBeginAndEnd(t *testing.T) {
	reached := map[phase]bool{phaseLoading: true}
	for range phases {
		for from := range phases {
			for to := range phases {
				if reached[from] && mayBecome(from, to) {
					reached[to] = true
				}
			}
		}
	}
	for p := range phases {
		if !reached[p] {
			t.Errorf("no owner is ever %s", p)
		}
		if p != phaseClosed && !mayBecome(p, phaseClosed) {
			t.Errorf("an owner that is %s cannot leave", p)
		}
		if mayBecome(phaseClosed, p) || mayBecome(p, phaseLoading) || mayBecome(p, p) {
			t.Errorf("%s is entered from closed, from itself, or is loading again", p)
		}
	}
}
