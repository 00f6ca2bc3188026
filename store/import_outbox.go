package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The lines of an export that export_outbox.go writes.
type (
	keptLine struct {
		Name    text            `json:"name"`
		Value   json.RawMessage `json:"value"`
		Value64 []byte          `json:"value64"`
	}
	pushLine struct {
		ID      text            `json:"id"`
		Host    text            `json:"host"`
		Created time.Time       `json:"created"`
		Live    bool            `json:"live"`
		Cursor  int64           `json:"cursor"`
		Tries   int32           `json:"tries"`
		Since   time.Time       `json:"since"`
		Due     time.Time       `json:"due"`
		Reason  text            `json:"reason"`
		Body    json.RawMessage `json:"body"`
		Body64  []byte          `json:"body64"`
	}
	letterLine struct {
		Push   text      `json:"push"`
		Seq    int64     `json:"seq"`
		Time   time.Time `json:"time"`
		Tries  int32     `json:"tries"`
		Again  bool      `json:"again"`
		Reason text      `json:"reason"`
	}
)

// push returns the config as it is imported: nobody delivers it, so that the
// next server does.
func (l *pushLine) push(k Key) PushConfig {
	return PushConfig{
		Key: k, ID: string(l.ID), Host: string(l.Host), Body: either(l.Body, l.Body64), Created: Milli(l.Created), Live: l.Live,
		Progress: Progress{
			Cursor: l.Cursor, Tries: l.Tries, Since: milliOrZero(l.Since), Due: milliOrZero(l.Due), Reason: string(l.Reason),
		},
	}
}

func (l *letterLine) letter(k Key) DeadLetter {
	return DeadLetter{
		PushID: PushID{k, string(l.Push)}, Seq: l.Seq, Time: Milli(l.Time), Tries: l.Tries, Reason: string(l.Reason), Again: l.Again,
	}
}

// checkPushes says what cannot be, before anything is written.
func (a *archived) checkPushes() error {
	known := map[string]bool{}
	for i := range a.pushes {
		p := &a.pushes[i]
		if p.ID == "" || known[p.ID] {
			return fmt.Errorf("push config %q has no id, or comes twice", p.ID)
		}
		if p.Cursor < 0 || p.Cursor > a.row.Last {
			return fmt.Errorf("push config %q is at entry %d, there are %d", p.ID, p.Cursor, a.row.Last)
		}
		known[p.ID] = true
	}
	seen := map[letterID]bool{}
	for i := range a.letters {
		l := &a.letters[i]
		id := letterID{l.ID, l.Seq}
		if !known[l.ID] || seen[id] || l.Seq < 1 || l.Seq > a.row.Last {
			return fmt.Errorf("dead letter %d of push config %q is of none that is there, or comes twice", l.Seq, l.ID)
		}
		seen[id] = true
	}
	return nil
}

// samePushes compares the configs that both have. What is delivered goes on,
// there or where the export was made, and clients delete and replace theirs; but
// what was created as the same delivers the same to the same.
func (m *importer) samePushes(ctx context.Context, a *archived) error {
	for i := range a.pushes {
		w := &a.pushes[i]
		p, err := m.st.Push(ctx, w.PushID())
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if p.Created.Equal(w.Created) && (p.Host != w.Host || !bytes.Equal(p.Body, w.Body)) {
			return errDiffers
		}
	}
	return nil
}

// keep imports what is kept, unless something else is: a server that has other
// keys goes on with those.
func (m *importer) keep(ctx context.Context, l *keptLine) error {
	value := either(l.Value, l.Value64)
	if value == nil {
		value = []byte{} // which is not nothing
	}
	name := string(l.Name)
	all, err := m.st.Kept(ctx)
	if err != nil {
		return err
	}
	is, there := all[name]
	switch {
	case there && bytes.Equal(is, value):
		m.there.Kept++
		return nil
	case there:
		m.there.Other++
		return nil
	}
	if _, err = m.st.Keep(ctx, name, nil, value); err == nil {
		m.imported.Kept++
	}
	return err
}

// known reports whether a name is one that exports have.
func (l *keptLine) known() bool { return slices.Contains(exportedNames, string(l.Name)) }
