package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// DeadLetter is a delivery that was abandoned.
type DeadLetter struct {
	PushID       // ignored in an Advance, whose own PushID applies
	Seq    int64 // of the entry that was not delivered
	Time   time.Time
	Tries  int32
	Reason string
	Again  bool  // marked to be sent again
	At     int64 // position of its config in the order of DeadLetters; used on input only in a LetterQuery
}

// LetterQuery selects dead letters.
type LetterQuery struct {
	Of    *PushID     // only of this config; nil: of all
	Again bool        // only those marked to be sent again
	After *DeadLetter // last one of the previous page; nil: from the start
	Limit int         // at least 1
}

// letterID names a dead letter within a task.
type letterID struct {
	push string
	seq  int64
}

// bury adds dead letters to a task.
func (t *memoryTask) bury(k Key, letters []DeadLetter) {
	for _, l := range letters {
		if t.dead == nil {
			t.dead = map[letterID]DeadLetter{}
		}
		l.Key, l.Time, l.At = k, Milli(l.Time), 0
		t.dead[letterID{l.ID, l.Seq}] = l
	}
}

// DeadLetters implements Store.
func (m *Memory) DeadLetters(ctx context.Context, q LetterQuery) ([]DeadLetter, error) {
	if err := CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	var found []DeadLetter
	err := m.read(ctx, func(d *memory) error {
		look := func(t *memoryTask) {
			for id, l := range t.dead {
				if l.At = t.pushes[id.push].at; q.selects(&l) {
					found = append(found, l)
				}
			}
		}
		if q.Of == nil {
			for _, t := range d.tasks {
				look(t)
			}
		} else if t := d.tasks[q.Of.Key]; t != nil {
			look(t)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b DeadLetter) int { return a.compare(&b) })
	return found[:min(len(found), q.Limit)], err
}

func (q *LetterQuery) selects(l *DeadLetter) bool {
	return (q.Of == nil || *q.Of == l.PushID) && (!q.Again || l.Again) && (q.After == nil || l.compare(q.After) > 0)
}

// compare orders letters as DeadLetters does.
func (l *DeadLetter) compare(o *DeadLetter) int {
	return cmp.Or(cmp.Compare(l.At, o.At), cmp.Compare(l.Seq, o.Seq))
}

// SetLetters implements Store.
func (m *Memory) SetLetters(ctx context.Context, letters []DeadLetter, gone bool) error {
	return m.write(ctx, func(d *memory) {
		for i := range letters {
			t := d.tasks[letters[i].Key]
			if t == nil {
				continue
			}
			id := letterID{letters[i].ID, letters[i].Seq}
			if _, ok := t.dead[id]; !ok {
				continue
			}
			if gone {
				delete(t.dead, id)
			} else {
				t.bury(letters[i].Key, letters[i:i+1])
			}
		}
	})
}
