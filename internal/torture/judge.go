package torture

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// judge compares all that is stored with all that was seen. It returns how
// many tasks there are.
func (w *world) judge(ctx context.Context) (int, error) {
	cl, err := a2aclient.Dial(ctx, "http://"+w.o.Addr, &a2aclient.Options{Version: "1.1", Bindings: []string{a2a.BindingJSONRPC}})
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
	for _, r := range w.records {
		for _, f := range begun.lacks(r) {
			w.violate(f.claim, "%s: %s", r, f.text)
		}
	}
	w.server.log.mu.Lock()
	bad := w.server.log.bad
	w.server.log.mu.Unlock()
	for _, text := range bad {
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
	found = append(found, audit(h, r)...)
	if sumTask(listed) != sumTask(h.task) {
		found = append(found, faultf(Logs, "a list shows it otherwise than GetTask"))
	}
	if r != nil && r.plan.kind == "steps" {
		found = append(found, auditEffects(h, effects)...)
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

// settled lists all tasks, once none is at work any more.
func (w *world) settled(ctx context.Context, cl *a2aclient.Client) ([]*a2a.Task, error) {
	limit := time.Now().Add(quietWithin)
	for {
		busy := 0
		for _, s := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking} {
			res, err := cl.ListTasks(ctx, &a2a.ListTasksRequest{Status: s, PageSize: new(int32(1))})
			if err != nil {
				return nil, fmt.Errorf("list what is %v: %w", s, err)
			}
			busy += int(res.TotalSize)
		}
		if busy == 0 || time.Now().After(limit) {
			return list(ctx, cl) // what is still at work shows in the audit
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func list(ctx context.Context, cl *a2aclient.Client) ([]*a2a.Task, error) {
	var all []*a2a.Task
	for token := ""; ; {
		req := &a2a.ListTasksRequest{PageSize: new(int32(100)), PageToken: token, IncludeArtifacts: true}
		res, err := cl.ListTasks(ctx, req)
		if err != nil {
			// The first list of several pages writes a secret, and a store that
			// is made to fail may do so even now. Not twice, though.
			res, err = cl.ListTasks(ctx, req)
		}
		if err != nil {
			return nil, fmt.Errorf("list all tasks: %w", err)
		}
		all = append(all, res.Tasks...)
		if token = res.NextPageToken; token == "" {
			if int(res.TotalSize) != len(all) {
				return nil, fmt.Errorf("the list of tasks has %d of %d", len(all), res.TotalSize)
			}
			return all, nil
		}
	}
}

// recall reads a task's history: the stream behind its first entry.
func recall(ctx context.Context, cl *a2aclient.Client, listed *a2a.Task) (*history, error) {
	task, err := cl.GetTask(ctx, &a2a.GetTaskRequest{ID: listed.ID})
	if err != nil {
		return nil, fmt.Errorf("get task %s: %w", listed.ID, err)
	}
	h := &history{task: task}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for el, err := range cl.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID, After: 1}) {
		if err != nil {
			return nil, fmt.Errorf("replay task %s: %w", task.ID, err)
		}
		if el.Task != nil {
			h.first = el.Task
		} else {
			h.events = append(h.events, el)
		}
		if int64(len(h.events)) >= task.Generation-1 && !task.Status.State.Terminal() {
			break // it waits, and so would we
		}
	}
	if h.first == nil {
		return nil, fmt.Errorf("replay task %s: it does not begin with the task", task.ID)
	}
	return h, nil
}

// String is the history as one reads it.
func (h *history) String() string {
	var b strings.Builder
	for _, el := range h.events {
		switch {
		case el.StatusUpdate != nil:
			fmt.Fprintf(&b, "\t%d %v %q\n", el.Seq, el.State(), el.StatusUpdate.Status.Message.Text())
		case el.ArtifactUpdate != nil:
			u := el.ArtifactUpdate
			fmt.Fprintf(&b, "\t%d artifact %s append=%v last=%v", el.Seq, u.Artifact.Name, u.Append, u.LastChunk)
			for _, p := range u.Artifact.Parts {
				fmt.Fprintf(&b, " %q", p.Text)
			}
			b.WriteByte('\n')
		}
	}
	for _, m := range h.task.History {
		fmt.Fprintf(&b, "\tmessage %s %v %q\n", m.MessageID, m.Role, m.Text())
	}
	return b.String()
}

// effect is a run of a step, as the agent's own file has it.
type effect struct{ step, result string }

func (w *world) readEffects() (map[string][]effect, error) {
	all := map[string][]effect{}
	if w.o.Effects == "" {
		return all, nil
	}
	f, err := os.Open(w.o.Effects)
	if os.IsNotExist(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: line %q", w.o.Effects, lines.Text())
		}
		all[words[0]] = append(all[words[0]], effect{words[1], words[2]})
	}
	return all, lines.Err()
}

// recorded are the results of a task's steps as its log shows them, by step.
func recorded(h *history) map[string][]string {
	shown := map[string][]string{}
	for _, el := range h.events {
		if u := el.ArtifactUpdate; u != nil {
			for _, p := range u.Artifact.Parts {
				if step, result, ok := strings.Cut(strings.TrimSpace(p.Text), "="); ok {
					shown[step] = append(shown[step], result)
				}
			}
		}
	}
	return shown
}

// auditEffects judges that a step whose result was recorded did not run again:
// all runs of the agent show the same result, and it is that of the last run
// of the step. (A step that has two records shows as a position too many.)
func auditEffects(h *history, effects []effect) (found []fault) {
	for step, results := range recorded(h) {
		for _, r := range results[1:] {
			if r != results[0] {
				found = append(found, faultf(Steps, "step %s had the result %s and then %s", step, results[0], r))
			}
		}
		last := ""
		for _, e := range effects {
			if e.step == step {
				last = e.result
			}
		}
		if last != results[0] {
			found = append(found, faultf(Steps, "step %s ran again after its result %s was recorded", step, results[0]))
		}
	}
	return found
}
