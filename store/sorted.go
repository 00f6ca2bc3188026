package store

import "slices"

// sorted holds the tasks of one list, oldest first, which is the reverse of the list's order.
// Inserting a task moves only the newer ones, which are usually few. Removing a task moves
// the newer or the older ones, whichever are fewer.
type sorted []*memoryTask

// find returns the index of the first task that is not older than p, in the order of lists.
func (s sorted) find(p Position) int {
	at, _ := slices.BinarySearchFunc(s, p, func(t *memoryTask, p Position) int { return p.compare(t.position()) })
	return at
}

// listName names a list of an owner's tasks by its filters.
type listName struct {
	tenant, owner, context string // context "": any
	state                  int32  // 0: any
}

// lists returns the names of the lists that a row is in.
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

// enlist inserts a task into its lists.
func (d *memory) enlist(t *memoryTask) {
	for _, name := range lists(&t.row) {
		s := d.lists[name]
		d.lists[name] = slices.Insert(s, s.find(t.position()), t)
	}
}

// listedAs reports whether r would be in the same lists as t, at the same place.
func (t *memoryTask) listedAs(r *Row) bool {
	return t.row.Key == r.Key && t.row.Context == r.Context && t.row.State == r.State && t.row.Updated.Equal(Milli(r.Updated))
}

// unlist removes a task from its lists. Call it before the task's row changes. A new task is
// in no list.
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
