package serve

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/store"
)

// Runs implements admin.API.
func (a *administration) Runs(ctx context.Context, task string) ([]admin.Run, error) {
	r, err := a.look(ctx, "task runs", task)
	if err != nil {
		return nil, err
	}
	var runs []admin.Run
	for raw, err := range store.EachEntry(ctx, a.store, r.Key, 0, r.Last) {
		if err != nil {
			return nil, a.failed("read a task", err)
		}
		kind := a2a.EntryKind(raw.Kind)
		if kind != a2a.EntryMessage && kind != a2a.EntryStatus && kind != a2a.EntryStep {
			continue
		}
		en, err := a2a.DecodeEntry(raw.Seq, raw.Time, kind, raw.Body)
		if err != nil {
			return nil, a.failed("read a task", err)
		}
		if kind == a2a.EntryMessage {
			// An answer continues the run that asked.
			if n := len(runs); n == 0 || !runs[n-1].Ended.IsZero() {
				runs = append(runs, admin.Run{Turn: raw.Seq, Began: raw.Time, State: admin.StateWord(a2a.TaskStateSubmitted), Steps: []admin.Step{}})
			}
			continue
		}
		if len(runs) == 0 {
			continue
		}
		run := &runs[len(runs)-1]
		switch kind {
		case a2a.EntryStatus:
			state := en.Status.Status.State
			if run.State = admin.StateWord(state); state.Terminal() {
				run.Ended = raw.Time
			}
		case a2a.EntryStep:
			run.Steps = append(run.Steps, admin.Step{Seq: raw.Seq, Name: en.Step.Name, Nth: en.Step.Nth, Time: raw.Time, Size: len(en.Step.Result)})
		}
	}
	if n := len(runs); n > 0 {
		runs[n-1].Attempts = r.Attempt
	}
	return runs, nil
}

// Log implements admin.API.
func (a *administration) Log(ctx context.Context, task string, after int64, most int) (*admin.Log, error) {
	r, err := a.look(ctx, "task log", task)
	if err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, admin.Invalid("after", "%d must be a position of the log, 0 or more", after)
	}
	if most < 0 || most > admin.MaxLimit {
		return nil, admin.Invalid("limit", "%d must be from 1 to %d", most, admin.MaxLimit)
	}
	page, err := a.store.Entries(ctx, r.Key, after, most)
	if err != nil {
		return nil, a.failed("read a task", err)
	}
	l := &admin.Log{Entries: []admin.LogEntry{}, Last: r.Last}
	for i := range page {
		l.Entries = append(l.Entries, logEntry(&page[i]))
	}
	if n := len(page); n > 0 && page[n-1].Seq < r.Last {
		l.Next = page[n-1].Seq
	}
	return l, nil
}

var kinds = map[a2a.EntryKind]string{
	a2a.EntryCreated: "created", a2a.EntryMessage: "message", a2a.EntryStatus: "status", a2a.EntryArtifact: "artifact", a2a.EntryStep: "step", a2a.EntryCancel: "cancel",
}

func logEntry(raw *store.Entry) admin.LogEntry {
	en := admin.LogEntry{Seq: raw.Seq, Time: raw.Time, Kind: kinds[a2a.EntryKind(raw.Kind)], Body: raw.Body}
	if !json.Valid(raw.Body) {
		en.Body = json.RawMessage("null")
	}
	return en
}

// FollowLog implements admin.API.
func (a *administration) FollowLog(ctx context.Context, task string, after int64) iter.Seq2[admin.LogEntry, error] {
	return func(yield func(admin.LogEntry, error) bool) {
		r, err := a.look(ctx, "task log", task)
		if err != nil {
			yield(admin.LogEntry{}, err)
			return
		}
		for raw, err := range a.engine.FollowLog(ctx, r.Key, after) {
			if err != nil {
				yield(admin.LogEntry{}, a.failed("read a task", err))
				return
			}
			if !yield(logEntry(&raw), nil) {
				return
			}
		}
	}
}
