package task

import "github.com/parley-a2a/parley/a2a"

// maxSteps is how many steps of one name a turn may have.
const maxSteps = 1 << 20

// steps are the steps of a turn, by name. A step is identified by its name and by how often
// that name came before, so that steps of different names may run side by side.
type steps map[string]*namedSteps

// namedSteps are the steps of one name, in the order in which they begin.
type namedSteps struct {
	results  []a2a.JSON // nil if none is recorded
	recorded int
	taken    []bool // by this run
	free     int    // all before this index are taken
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

// again prepares for a run from the top: no step is taken.
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

// release gives back the place of a step that failed: the next step of its name gets it.
func (n *namedSteps) release(i int) {
	n.taken[i] = false
	n.free = min(n.free, i)
}

// entry returns the record of the result of the step at place i.
func (n *namedSteps) entry(name string, i int, result a2a.JSON) *a2a.Step {
	s := &a2a.Step{Name: name, Result: result}
	if i != n.recorded {
		s.Nth = int64(i) + 1
	}
	return s
}

// replay adds a recorded step. One at an impossible place is ignored, so it runs again.
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
