package task

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// Steps of one name are told apart by the order in which they begin, whichever ends
// first; one that fails is the next one again.
func TestStepsOfOneName(t *testing.T) {
	var now, later steps
	n := now.of("x")
	record := func(i int, result string) {
		r := n.entry("x", i, a2a.JSON(result))
		later.replay(r)
		now.replay(&a2a.Step{Name: "x", Result: r.Result, Nth: int64(i) + 1})
	}
	i, _ := n.take()
	j, _ := n.take()
	record(j, "2")
	n.release(i) // it failed
	if again, _ := n.take(); again != i {
		t.Fatalf("the step that failed is number %d now", again)
	}
	record(i, "1")
	k, _ := n.take()
	record(k, "3")
	for _, s := range []steps{now, later} {
		s.again()
		for want := range 3 {
			if i, result := s.of("x").take(); i != want || string(result) != fmt.Sprint(want+1) {
				t.Errorf("step %d is %d with the result %s", want, i, result)
			}
		}
		if _, result := s.of("x").take(); result != nil {
			t.Errorf("a fourth has the result %s", result)
		}
	}
	// Steps one after another are recorded as they always were.
	if r := new(namedSteps).entry("x", 0, nil); r.Nth != 0 {
		t.Errorf("the first is recorded as number %d", r.Nth)
	}
}

// A number that no log has does not take memory.
func FuzzStepsReplay(f *testing.F) {
	f.Add(int64(1), int64(0))
	f.Add(int64(1<<62), int64(-1))
	f.Fuzz(func(t *testing.T, one, two int64) {
		var s steps
		s.replay(&a2a.Step{Name: "x", Nth: one})
		s.replay(&a2a.Step{Name: "x", Nth: two})
		if n := len(s.of("x").results); n > maxSteps {
			t.Fatalf("%d places", n)
		}
	})
}
