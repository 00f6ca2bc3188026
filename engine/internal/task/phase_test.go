package task

import (
	"fmt"
	"log/slog"
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
	steps, known := stepsOfPage(t), 0
	for from := range phases {
		for to := range phases {
			said := steps[phaseNames[from]+" → "+phaseNames[to]] == "yes"
			if said {
				known++
			}
			if mayBecome(from, to) != said {
				t.Errorf("%s to %s: the page says %v, the table %v", phaseNames[from], phaseNames[to], said, !said)
			}
		}
	}
	if known < 20 {
		t.Errorf("the page lists %d steps between phases", known)
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
