package torture

import (
	"context"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// judge compares all that is stored with all that was seen. It returns how
// many tasks there are. addr is the server to ask.
func (w *world) judge(ctx context.Context, addr string) (int, error) {
	cl, err := a2aclient.Dial(ctx, "http://"+addr, &a2aclient.Options{Version: "1.1", Bindings: []string{a2a.BindingJSONRPC}})
	if err != nil {
		return 0, fmt.Errorf("look at the result: %w", err)
	}
	tasks, err := w.settled(ctx, cl)
	if err != nil {
		return 0, err
	}
	known := map[string]*a2a.Task{}
	for _, t := range tasks {
		if known[t.ID] != nil {
			w.violate(Logs, "task %s is listed twice", t.ID)
		}
		known[t.ID] = t
	}
	begun := ledger{}
	effects, err := w.readEffects()
	if err != nil {
		return 0, err
	}
	work := make(chan *a2a.Task)
	var wg sync.WaitGroup
	var mu sync.Mutex // protects begun, and err
	for range 8 {
		wg.Go(func() {
			for t := range work {
				h, bad := recall(ctx, cl, t)
				if bad != nil {
					mu.Lock()
					err = bad
					mu.Unlock()
					continue
				}
				r := w.recordOf(h.task)
				mu.Lock()
				twice := begun.enters(r, t.ID)
				w.counts(h)
				mu.Unlock()
				w.one(h, t, r, effects[t.ID], twice)
			}
		})
	}
	for _, t := range known {
		work <- t
	}
	close(work)
	wg.Wait()
	w.agree()
	for _, r := range w.records {
		for _, f := range begun.lacks(r) {
			w.violate(f.claim, "%s: %s", r, f.text)
		}
	}
	for _, text := range w.log.signs() {
		w.violate(Service, "the server's log has: %s", text)
	}
	return len(known), err
}

// ledger is which task began with which record's message.
type ledger map[*record]string

// enters notes a task, and finds that it is the second one of its message.
func (l ledger) enters(r *record, id string) (found []fault) {
	if r == nil {
		return nil
	}
	if other := l[r]; other != "" {
		found = append(found, faultf(Repeats, "message %s began task %s, too", r.said, other))
	}
	l[r] = id
	return found
}

// lacks finds that nothing is there of what was acknowledged, or of what was
// sent again until it was answered.
func (l ledger) lacks(r *record) []fault {
	switch {
	case l[r] != "" || r.direct != nil:
		return nil
	case r.id != "":
		return []fault{faultf(Acknowledged, "was acknowledged and is not there")}
	case r.answered:
		return []fault{faultf(Repeats, "was sent until it was answered, and began nothing")}
	}
	return nil
}

// one judges a task.
func (w *world) one(h *history, listed *a2a.Task, r *record, effects []effect, found []fault) {
	if r != nil || !w.hooked {
		found = append(found, audit(h, r)...)
	} else { // it is of a client with webhooks
		a := &auditor{h: h}
		a.log()
		found = append(found, a.found...)
	}
	if sumTask(listed) != sumTask(h.task) {
		found = append(found, faultf(Logs, "a list shows it otherwise than GetTask"))
	}
	if r != nil && r.plan.kind == "steps" {
		found = append(found, auditEffects(h, effects, w.many)...)
		w.count.effects.Add(int64(len(effects)))
		w.count.steps.Add(int64(len(recorded(h))))
	}
	switch {
	case wornOut(h.task):
		w.count.wornOut.Add(1)
	case h.task.Status.State == a2a.TaskStateCanceled:
		w.count.canceled.Add(1)
	}
	who := "task " + h.task.ID
	if r != nil {
		who = r.String() + " is " + h.task.ID
	}
	for _, f := range found {
		w.violate(f.claim, "%s: %s\n%s", who, f.text, h)
	}
}

// recordOf finds out who asked for a task.
func (w *world) recordOf(t *a2a.Task) *record {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range t.History {
		if r := w.byMessage[m.MessageID]; r != nil {
			return r
		}
	}
	return nil
}
