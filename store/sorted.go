package store

import "slices"

// sorted holds the tasks of one list in its order backwards, so that the newest are at
// the end: to put one moves those that are newer, which are few of most, and to take one
// those that are newer or those that are older, whichever are fewer.
type sorted []*memoryTask

// find returns the place of the first task that is not older than p, as lists order them.
func (s sorted) find(p Position) int {
	at, _ := slices.BinarySearchFunc(s, p, func(t *memoryTask, p Position) int { return p.compare(t.position()) })
	return at
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
		d.lists[name] = slices.Insert(s, s.find(t.position()), t)
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
		at := s.find(t.position())
		if at < len(s)/2 { // retention removes the oldest
			copy(s[1:], s[:at])
			s[0] = nil
			s = s[1:]
		} else {
			s = slices.Delete(s, at, at+1)
		}
		if d.lists[name] = s; len(s) == 0 {
			delete(d.lists, name)
		}
	}
}
