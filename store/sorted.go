package store

import (
	"slices"
	"sort"
)

// sorted holds the tasks of one list in its order backwards, so that the newest
// are at the end, where most are put. They are in blocks: a change moves the tasks
// of one block, and the tasks before a position are counted block by block.
type sorted struct {
	blocks [][]*memoryTask // none of them empty
	n      int
}

// bigBlock is how many tasks a block has at most.
const bigBlock = 512

// find returns the place of the first task that is not older than p, as lists
// order them; without one, that behind the last block.
func (s *sorted) find(p Position) (block, at int) {
	older := func(t *memoryTask) bool { return t.position().compare(p) > 0 }
	block = sort.Search(len(s.blocks), func(i int) bool { return !older(s.blocks[i][len(s.blocks[i])-1]) })
	if block < len(s.blocks) {
		in := s.blocks[block]
		at = sort.Search(len(in), func(i int) bool { return !older(in[i]) })
	}
	return block, at
}

// insert puts a task in its place.
func (s *sorted) insert(t *memoryTask) {
	s.n++
	block, at := s.find(t.position())
	if last := len(s.blocks) - 1; block > last {
		if last < 0 || len(s.blocks[last]) >= bigBlock {
			s.blocks = append(s.blocks, []*memoryTask{t})
		} else {
			s.blocks[last] = append(s.blocks[last], t)
		}
		return
	}
	in := slices.Insert(s.blocks[block], at, t)
	if s.blocks[block] = in; len(in) > bigBlock {
		half := len(in) / 2
		s.blocks[block] = in[:half:half] // what is added to it goes elsewhere
		s.blocks = slices.Insert(s.blocks, block+1, slices.Clone(in[half:]))
		clear(in[half:])
	}
}

// remove takes a task away that is where it was put.
func (s *sorted) remove(t *memoryTask) {
	s.n--
	block, at := s.find(t.position())
	s.blocks[block] = slices.Delete(s.blocks[block], at, at+1)
	if len(s.blocks[block]) == 0 {
		s.blocks = slices.Delete(s.blocks, block, block+1)
	}
}

// since counts the tasks that are not older than p.
func (s *sorted) since(p Position) int {
	block, at := s.find(p)
	n := s.n - at
	for _, b := range s.blocks[:block] {
		n -= len(b)
	}
	return n
}

// before calls f for the tasks that are older than p, or for all if it is nil,
// the newest first, until it returns false.
func (s *sorted) before(p *Position, f func(*memoryTask) bool) {
	block, at := len(s.blocks), 0
	if p != nil {
		block, at = s.find(*p)
	}
	for {
		if at == 0 {
			if block--; block < 0 {
				return
			}
			at = len(s.blocks[block])
		}
		if at--; !f(s.blocks[block][at]) {
			return
		}
	}
}

// listName names a list of an owner's tasks by its filters.
type listName struct {
	tenant, owner, context string // context "": any
	state                  int32  // 0: any
}

// lists are the names of those that a row is in.
func lists(r *Row) []listName {
	names := []listName{{r.Tenant, r.Owner, "", 0}}
	if r.State != 0 {
		names = append(names, listName{r.Tenant, r.Owner, "", r.State})
	}
	if r.Context != "" {
		names = append(names, listName{r.Tenant, r.Owner, r.Context, 0})
		if r.State != 0 {
			names = append(names, listName{r.Tenant, r.Owner, r.Context, r.State})
		}
	}
	return names
}

// enlist puts a task in its lists.
func (d *memory) enlist(t *memoryTask) {
	for _, name := range lists(&t.row) {
		s := d.lists[name]
		if s == nil {
			s = &sorted{}
			d.lists[name] = s
		}
		s.insert(t)
	}
}

// listedAs reports whether a task is in the lists that r is for, at r's place.
func (t *memoryTask) listedAs(r *Row) bool {
	return t.row.Key == r.Key && t.row.Context == r.Context && t.row.State == r.State && t.row.Updated.Equal(Milli(r.Updated))
}

// unlist takes a task out of its lists, before its row changes. One that is new
// is in none.
func (d *memory) unlist(t *memoryTask) {
	if t.row.Last == 0 {
		return
	}
	for _, name := range lists(&t.row) {
		s := d.lists[name]
		if s.remove(t); s.n == 0 {
			delete(d.lists, name)
		}
	}
}
