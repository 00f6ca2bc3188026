package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// Outbox is the part of a Store that keeps webhooks: their configs (added by an Append or by
// SetPush), the progress of the deliveries of each config, and the deliveries that were
// abandoned. The bodies of deliveries are read from the log.
type Outbox interface {
	// SetPush creates or replaces a push config of a task, including its progress. The dead
	// letters of a replaced config stay, because they can be sent again to the new receiver.
	// SetPush returns ErrNotFound if there is no such task.
	SetPush(ctx context.Context, p *PushConfig) error

	// Push returns a push config, or ErrNotFound.
	Push(ctx context.Context, id PushID) (*PushConfig, error)

	// Pushes returns up to limit push configs of a task whose IDs sort after after, ordered
	// by the bytes of their IDs. limit must be at least 1. An unknown task has none.
	Pushes(ctx context.Context, k Key, after string, limit int) ([]PushConfig, error)

	// DropPush removes a push config with its dead letters. If there is no such config, it
	// does nothing. Many dead letters are removed in several steps, and the config in the
	// last one; after an error some may be removed already.
	DropPush(ctx context.Context, id PushID) error

	// Advance changes the progress of push configs and adds dead letters, durably and all in
	// one step. It leaves configs alone that were deleted or created again, or that do not
	// belong to the node that the Advance names.
	Advance(ctx context.Context, all []Advance) error

	// ClaimPushes gives node up to limit push configs that are Live and whose Node is dead in
	// the sense of Claim, and returns how many. Fewer than limit means that none is left.
	ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error)

	// LivePushes returns up to limit push configs that are Live and belong to node, in a
	// stable order, starting after the config whose At is after (0: from the first). A
	// replaced config keeps its position. Its cost does not depend on the number of other
	// configs.
	LivePushes(ctx context.Context, node string, after int64, limit int) ([]PushState, error)

	// DeadLetters returns a page of the dead letters of all tasks, in the order of their
	// configs (see LivePushes), then by Seq.
	DeadLetters(ctx context.Context, q LetterQuery) ([]DeadLetter, error)

	// SetLetters replaces those of letters that are stored, or removes them if gone is set.
	SetLetters(ctx context.Context, letters []DeadLetter, gone bool) error
}

// PushConfig is a webhook of a task as stored: where to deliver the entries of the task's
// log, and how far the deliveries have come. The log is its queue, so a backlog of any length
// takes no extra space.
type PushConfig struct {
	Key         // task; ignored in an Append, which has its own
	ID   string // unique within the task
	Host string // of the receiver; deliveries to one host share a limit
	Body []byte // how to deliver what; opaque

	Created time.Time
	Node    string // the node that delivers
	Live    bool   // deliveries may be outstanding; if Node is dead, another node takes over
	Progress
}

// Progress says how far the deliveries of a PushConfig have come.
type Progress struct {
	Cursor int64     // last seq that was delivered or abandoned
	Tries  int32     // failed attempts to deliver the next entry
	Since  time.Time // time of the first of them; zero if there is none
	Due    time.Time // time of the next attempt; zero: at once
	Reason string    // why the last attempt failed, or why there will be no more
}

// PushID names a PushConfig.
type PushID struct {
	Key
	ID string
}

// PushID returns p's name.
func (p *PushConfig) PushID() PushID { return PushID{p.Key, p.ID} }

// Compare orders PushIDs by their tasks' keys, then by the bytes of ID.
func (p PushID) Compare(o PushID) int { return cmp.Or(p.Key.Compare(o.Key), cmp.Compare(p.ID, o.ID)) }

// PushState is a PushConfig with the end of its task's log.
type PushState struct {
	PushConfig
	Last int64 // seq of the log's last entry
	At   int64 // position in the order of LivePushes
}

// Advance changes the progress of one PushConfig's deliveries.
type Advance struct {
	PushID
	Created time.Time // must equal the config's, so that a config created later is left alone
	Node    string    // if set, must equal the config's
	Progress
	Live bool
	Dead []DeadLetter // deliveries abandoned by this change
}

// Validate reports an error in a PushConfig.
func (p *PushConfig) Validate() error {
	if p.ID == "" {
		return errors.New("store: a push config has no id")
	}
	return nil
}

// validatePushes is the part of Validate that covers push configs and dead letters.
func (a *Append) validatePushes() error {
	if len(a.Pushes) == 0 && len(a.Letters) == 0 {
		return nil
	}
	known := map[string]bool{}
	for i := range a.Pushes {
		if err := a.Pushes[i].Validate(); err != nil {
			return err
		}
		known[a.Pushes[i].ID] = true
	}
	for i := range a.Letters {
		if !known[a.Letters[i].ID] {
			return errors.New("store: a dead letter is of no push config that comes with it")
		}
	}
	return nil
}

func (p PushConfig) clone() PushConfig {
	p.Body = bytes.Clone(p.Body)
	p.Created, p.Since, p.Due = Milli(p.Created), Milli(p.Since), Milli(p.Due)
	return p
}

// SetPush implements Store.
func (m *Memory) SetPush(ctx context.Context, p *PushConfig) error {
	if err := p.Validate(); err != nil {
		return err
	}
	found := false
	err := m.write(ctx, func(d *memory) {
		if _, found = d.tasks[p.Key]; found {
			d.setPush(p.Key, *p)
		}
	})
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}

// setPush creates or replaces a config of a task that exists.
func (d *memory) setPush(k Key, p PushConfig) {
	t := d.tasks[k]
	p.Key = k
	is := t.pushes[p.ID]
	if is == nil {
		d.place++
		is = &memoryPush{task: t, at: d.place}
		d.pushes = append(d.pushes, is)
		if t.pushes == nil {
			t.pushes = map[string]*memoryPush{}
		}
		t.pushes[p.ID] = is
	}
	is.PushConfig = p.clone()
}

// pushFrom returns the index in d.pushes of the first config at position at or later.
func (d *memory) pushFrom(at int64) int {
	i, _ := slices.BinarySearchFunc(d.pushes, at, func(p *memoryPush, at int64) int { return cmp.Compare(p.at, at) })
	return i
}

// unpush removes a config from d.pushes.
func (d *memory) unpush(p *memoryPush) {
	i := d.pushFrom(p.at)
	d.pushes = slices.Delete(d.pushes, i, i+1)
}

func (p *memoryPush) state() PushState { return PushState{p.clone(), p.task.row.Last, p.at} }

// Push implements Store.
func (m *Memory) Push(ctx context.Context, id PushID) (*PushConfig, error) {
	var found *PushConfig
	err := m.read(ctx, func(d *memory) error {
		if t := d.tasks[id.Key]; t != nil {
			if p, ok := t.pushes[id.ID]; ok {
				found = new(p.clone())
				return nil
			}
		}
		return ErrNotFound
	})
	return found, err
}

// Pushes implements Store.
func (m *Memory) Pushes(ctx context.Context, k Key, after string, limit int) ([]PushConfig, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []PushConfig
	err := m.read(ctx, func(d *memory) error {
		if t := d.tasks[k]; t != nil {
			for id, p := range t.pushes {
				if id > after {
					found = append(found, p.clone())
				}
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b PushConfig) int { return cmp.Compare(a.ID, b.ID) })
	return found[:min(len(found), limit)], err
}

// DropPush implements Store.
func (m *Memory) DropPush(ctx context.Context, id PushID) error {
	return m.write(ctx, func(d *memory) {
		if t := d.tasks[id.Key]; t != nil {
			if p := t.pushes[id.ID]; p != nil {
				d.unpush(p)
			}
			delete(t.pushes, id.ID)
			maps.DeleteFunc(t.dead, func(l letterID, _ DeadLetter) bool { return l.push == id.ID })
		}
	})
}

// Advance implements Store.
func (m *Memory) Advance(ctx context.Context, all []Advance) error {
	return m.write(ctx, func(d *memory) {
		for i := range all {
			a := &all[i]
			t := d.tasks[a.Key]
			if t == nil {
				continue
			}
			p, ok := t.pushes[a.ID]
			if !ok || !p.Created.Equal(Milli(a.Created)) || a.Node != "" && a.Node != p.Node {
				continue
			}
			p.Progress, p.Live = a.Progress, a.Live
			p.PushConfig = p.clone()
			for _, l := range a.Dead {
				l.ID = a.ID
				t.bury(a.Key, []DeadLetter{l})
			}
		}
	})
}

// ClaimPushes implements Store.
func (m *Memory) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	n := 0
	err := m.write(ctx, func(d *memory) {
		for _, p := range d.pushes {
			if n < limit && p.Live && p.Node != node && !d.alive(p.Node, Milli(deadBefore)) {
				p.Node = node
				n++
			}
		}
	})
	return n, err
}

// LivePushes implements Store.
func (m *Memory) LivePushes(ctx context.Context, node string, after int64, limit int) ([]PushState, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []PushState
	err := m.read(ctx, func(d *memory) error {
		for _, p := range d.pushes[d.pushFrom(after+1):] {
			if p.Live && p.Node == node {
				if found = append(found, p.state()); len(found) == limit {
					break
				}
			}
		}
		return nil
	})
	return found, err
}

// AllPushes returns up to limit push configs of all tasks and nodes, live or not, in the
// order of LivePushes. It is for operators; drivers have this method too.
func (m *Memory) AllPushes(ctx context.Context, after int64, limit int) ([]PushState, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []PushState
	err := m.read(ctx, func(d *memory) error {
		all := d.pushes[d.pushFrom(after+1):]
		for _, p := range all[:min(len(all), limit)] {
			found = append(found, p.state())
		}
		return nil
	})
	return found, err
}
