package task

import "github.com/parley-a2a/parley/a2a"

// maxSteps is how many steps of one name a turn may have.
const maxSteps = 1 << 20

// steps are those of a turn, by their names. A step is told by its name and by how
// often that name came before, so that steps of different names may run side by side.
type steps map[string]*namedSteps

// namedSteps are those of one name, in the order in which they begin.
type namedSteps struct {
	results  []a2a.JSON // nil where none is recorded
	recorded int
	taken    []bool // by this run
	free     int    // none before this one is free
}

func (s *steps) of(name string) *namedSteps {
	if *s == nil {
		*s = steps{}
	}
	n := (*s)[name]
	if n == nil {
		n = new(namedSteps)
		(*s)[name] = n
	}
	return n
}

// again is for a run from the top: no step is taken.
func (s steps) again() {
	for _, n := range s {
		clear(n.taken)
		n.free = 0
	}
}

// take returns the place of the next step that this run has not taken, and its
// recorded result; nil if there is none.
func (n *namedSteps) take() (i int, result a2a.JSON) {
	for n.free < len(n.taken) && n.taken[n.free] {
		n.free++
	}
	i = n.free
	if i == len(n.taken) {
		n.taken = append(n.taken, false)
	}
	n.taken[i] = true
	if i < len(n.results) {
		result = n.results[i]
	}
	return i, result
}

// release is for a step that came to nothing: the next of its name is the same one.
func (n *namedSteps) release(i int) {
	n.taken[i] = false
	n.free = min(n.free, i)
}

// entry is what records the result of the step at a place.
func (n *namedSteps) entry(name string, i int, result a2a.JSON) *a2a.Step {
	s := &a2a.Step{Name: name, Result: result}
	if i != n.recorded {
		s.Nth = int64(i) + 1
	}
	return s
}

// replay notes a step that is recorded. One at an impossible place is ignored: it runs
// again.
func (s *steps) replay(r *a2a.Step) {
	n := s.of(r.Name)
	i := n.recorded
	if r.Nth > 0 {
		i = int(min(r.Nth, maxSteps+1)) - 1
	}
	if i >= maxSteps {
		return
	}
	for len(n.results) <= i {
		n.results = append(n.results, nil)
	}
	n.results[i] = r.Result
	if n.results[i] == nil {
		n.results[i] = a2a.JSON("null")
	}
	n.recorded++
}
