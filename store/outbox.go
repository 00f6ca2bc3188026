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

// Outbox is the part of a Store that keeps webhooks: configs that come with an
// Append or by SetPush, the progress of each one's deliveries, and the deliveries that
// were given up. Their bodies are read from the log.
type Outbox interface {
	// SetPush creates or replaces a push config of a task, with its progress. The
	// dead letters of one that is replaced stay: where it goes now they can be
	// sent again. ErrNotFound means that there is no such task.
	SetPush(ctx context.Context, p *PushConfig) error

	// Push returns a push config, or ErrNotFound.
	Push(ctx context.Context, id PushID) (*PushConfig, error)

	// Pushes returns up to limit push configs of a task whose ID comes behind
	// after, in that order, by bytes. limit must be at least 1. An unknown task
	// has none.
	Pushes(ctx context.Context, k Key, after string, limit int) ([]PushConfig, error)

	// DropPush removes a push config with its dead letters. Removing one that is
	// not there does nothing. Many letters go in steps, the config with the last;
	// after an error some may be gone already.
	DropPush(ctx context.Context, id PushID) error

	// Advance changes the progress of push configs and adds dead letters, of all
	// that are named durably at once. Those that are gone, were created anew, or
	// are not of the node that an Advance names, are left alone.
	Advance(ctx context.Context, all []Advance) error

	// ClaimPushes gives node up to limit push configs that are Live and whose
	// Node is gone, as Claim says it, and returns how many; fewer than limit
	// means that none is left.
	ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error)

	// LivePushes returns up to limit push configs that are Live and of a node, in
	// an order that stays, from behind the one whose At is after; 0: from the
	// first. One that is replaced keeps its place. It looks at no others, however
	// many there are.
	LivePushes(ctx context.Context, node string, after int64, limit int) ([]PushState, error)

	// DeadLetters returns a page of dead letters of all tasks, in the order of
	// their configs, as LivePushes has it, then of their seqs.
	DeadLetters(ctx context.Context, q LetterQuery) ([]DeadLetter, error)

	// SetLetters replaces dead letters, each if it is there, or removes them if
	// gone is set.
	SetLetters(ctx context.Context, letters []DeadLetter, gone bool) error
}

// PushConfig is a webhook of a task as the store keeps it: where to deliver
// what its log says, and how far that has come. The log is its queue, so a
// backlog of any length costs nothing here.
type PushConfig struct {
	Key         // of the task; on input of an Append ignored, there it is the task's own
	ID   string // unique within the task
	Host string // whose receivers are; deliveries to one host are bounded together
	Body []byte // what is delivered how; opaque

	Created time.Time
	Node    string // that delivers
	Live    bool   // something may still have to be delivered; then the node that delivers must live
	Progress
}

// Progress is how far the deliveries of a PushConfig have come.
type Progress struct {
	Cursor int64     // seq up to which entries are delivered, or given up
	Tries  int32     // attempts at the next one that failed
	Since  time.Time // when the first of them did; zero without
	Due    time.Time // no attempt before this; zero: at once
	Reason string    // why the last attempt failed, or why there will be no other
}

// PushID names a PushConfig.
type PushID struct {
	Key
	ID string
}

// PushID returns p's name.
func (p *PushConfig) PushID() PushID { return PushID{p.Key, p.ID} }

// Compare orders names by their tasks' keys, then by ID, by its bytes.
func (p PushID) Compare(o PushID) int { return cmp.Or(p.Key.Compare(o.Key), cmp.Compare(p.ID, o.ID)) }

// PushState is a PushConfig with the end of its task's log.
type PushState struct {
	PushConfig
	Last int64 // seq of the log's last entry
	At   int64 // its place in the order of LivePushes
}

// Advance changes what has become of the deliveries of one PushConfig.
type Advance struct {
	PushID
	Created time.Time // as the PushConfig has it: one that replaced it is left alone
	Node    string    // if set, one that another node delivers is left alone
	Progress
	Live bool
	Dead []DeadLetter // given up with this change
}

// Validate reports what is wrong with a PushConfig.
func (p *PushConfig) Validate() error {
	if p.ID == "" {
		return errors.New("store: a push config has no id")
	}
	return nil
}

// validatePushes is the part of Validate about push configs and their letters.
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
	p.Created, p.Since, p.Due = Milli(p.Created), milliOrZero(p.Since), milliOrZero(p.Due)
	return p
}

// milliOrZero is Milli for times that may be missing.
func milliOrZero(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return Milli(t)
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

// setPush puts a config to a task that is there.
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

// pushFrom returns the index in d.pushes of the first config at a place or behind it.
func (d *memory) pushFrom(at int64) int {
	i, _ := slices.BinarySearchFunc(d.pushes, at, func(p *memoryPush, at int64) int { return cmp.Compare(p.at, at) })
	return i
}

// unpush takes a config from those of all tasks.
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

// AllPushes returns up to limit push configs of all tasks and nodes, live or not, in
// the order of LivePushes. It is for operators; drivers have it, too.
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
