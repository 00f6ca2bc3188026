package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

var randomRounds = flag.Int("rounds", 20, "rounds of TestRandomTasks")

// whim is an agent that does what the seed in its message says: the same on
// each attempt.
var whim = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	var seed uint64
	fmt.Sscan(t.Text(), &seed)
	r := rand.New(rand.NewPCG(seed, 1))
	if r.IntN(10) == 0 {
		return t.Reply("direct")
	}
	for range r.IntN(6) {
		switch r.IntN(9) {
		case 0:
			if err := t.Status(fmt.Sprint("at ", r.IntN(100))); err != nil {
				return err
			}
		case 1, 2:
			w := t.Artifact("text")
			for range r.IntN(40) {
				if _, err := w.WriteString(strings.Repeat("x", r.IntN(50))); err != nil {
					return err
				}
			}
			w.Close()
		case 3:
			raw := a2a.RawPart([]byte(strings.Repeat("b", stored.MinBlob)), "application/x", "")
			if err := t.Artifact("raw").Last(raw); err != nil {
				return err
			}
		case 4, 5:
			if _, err := t.Ask(ctx, "what now?"); err != nil {
				return err
			}
		case 6:
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					w := t.Artifact(fmt.Sprint("at once ", i))
					for range 20 {
						fmt.Fprint(w, "y")
					}
					w.Close()
				})
			}
			wg.Wait()
		case 7:
			if _, err := agent.Step(ctx, t, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
		case 8:
			select {
			case <-time.After(time.Duration(r.IntN(3)) * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	switch r.IntN(12) {
	case 0:
		return t.Fail("as it likes")
	case 1:
		return t.Reject("as it likes")
	case 2:
		return errors.New("an error")
	case 3:
		panic("a panic")
	case 4:
		runtime.Goexit()
	}
	return nil
})

// chosenIDs is how many tasks random callers of version 0.1 share.
const chosenIDs = 6

// With random agents, callers and restarts, each stream folds to the task as it is read, each
// sealed task is its log, and nothing is left over.
func TestRandomTasks(t *testing.T) {
	for i := range *randomRounds {
		seed := uint64(i)
		if *randomRounds > 1000 {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomTasks(t, seed) })
	}
}

func randomTasks(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	st := store.NewMemory()
	defer st.Close()
	var ids []string
	var mu sync.Mutex // protects ids
	for range 3 {     // lives of the process
		w := newWorldSet(t, st, whim, testCard(), &Options{
			Capacity:    r.IntN(2) * r.IntN(4),
			Work:        int64(r.IntN(2)) << 20,
			Limits:      Limits{Running: 1000},
			CreateAfter: time.Millisecond,
			CancelWait:  time.Second,
			LongPoll:    time.Millisecond,
			MaxLost:     100,
		}, func(e *Engine) {
			if r.IntN(2) == 0 {
				e.owners.MaxParked = r.IntN(2)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 6 {
			r := rand.New(rand.NewPCG(r.Uint64(), 3))
			callers.Go(func() {
				for range 6 {
					randomCall(ctx, t, w, r, &mu, &ids)
				}
			})
		}
		if r.IntN(2) == 0 {
			time.AfterFunc(time.Duration(r.IntN(4000))*time.Microsecond, cancel)
		}
		if r.IntN(2) == 0 {
			w.stop() // beneath the callers
		}
		callers.Wait()
		cancel()
		w.stop()
		w.wantNothingCounted()
		if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
			t.Fatalf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
		}
	}
	w := newWorldWith(t, st, whim, testCard(), &Options{MaxLost: 100})
	ends := map[string]a2a.TaskState{}
	for i := range chosenIDs {
		id := fmt.Sprint("chosen-", i)
		if _, err := st.Get(t.Context(), store.Key{ID: id}, store.RowOnly); err == nil {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		ends[id] = finish(t, w, id).Status.State
	}
	w.stop()
	checkState(t, st, ends)
}

func randomCall(ctx context.Context, t *testing.T, w *world, r *rand.Rand, mu *sync.Mutex, ids *[]string) {
	if r.IntN(5) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	req := send(fmt.Sprint(r.Uint64()))
	legacy := &a2a.Legacy{}
	mu.Lock()
	if r.IntN(3) == 0 {
		legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true, FinishedToo: true}
		req.Legacy = legacy
		req.Message.TaskID = fmt.Sprint("chosen-", r.IntN(chosenIDs))
		if r.IntN(4) == 0 {
			req.Message.MessageID = "again"
		}
	} else if n := len(*ids); n > 0 && r.IntN(3) > 0 {
		req.Message.TaskID = (*ids)[r.IntN(n)]
	}
	mu.Unlock()
	met := func(task *a2a.Task) {
		if task != nil && req.Message.TaskID == "" {
			mu.Lock()
			*ids = append(*ids, task.ID)
			mu.Unlock()
		}
	}
	var err error
	current := int64(r.IntN(8))
	if r.IntN(4) == 0 {
		req.Configuration = &a2a.SendMessageConfiguration{IfGenerationMatch: &current}
	}
	switch r.IntN(6) {
	case 0:
		var resp *a2a.SendMessageResponse
		if resp, err = w.SendMessage(ctx, req); err == nil {
			met(resp.Task)
		}
	case 1:
		if req.Configuration == nil {
			req.Configuration = &a2a.SendMessageConfiguration{}
		}
		req.Configuration.ReturnImmediately = true
		var resp *a2a.SendMessageResponse
		if resp, err = w.SendMessage(ctx, req); err == nil {
			met(resp.Task)
		}
	case 2:
		var evs []*a2a.StreamResponse
		evs, err = collect(w.SendStreamingMessage(ctx, withMessages(req, r.IntN(3))))
		if len(evs) > 0 {
			met(evs[0].Task)
			checkStream(t, w, evs)
		}
	case 3:
		if req.Message.TaskID != "" {
			var evs []*a2a.StreamResponse
			within, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			evs, err = collect(w.SubscribeToTask(within, &a2a.SubscribeToTaskRequest{ID: req.Message.TaskID, After: int64(r.IntN(3)), Legacy: legacy, Timeline: true}))
			cancel()
			checkStream(t, w, evs)
		}
	case 4:
		if req.Message.TaskID != "" && r.IntN(3) == 0 {
			_, err = w.CancelTask(ctx, &a2a.CancelTaskRequest{ID: req.Message.TaskID})
		}
	case 5:
		if req.Message.TaskID != "" {
			_, err = w.GetTask(ctx, &a2a.GetTaskRequest{ID: req.Message.TaskID, CurrentGeneration: &current})
		}
	}
	if coded := new(*a2a.Error); err != nil && !errors.As(err, coded) && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an internal error: %v", err)
	}
}

// withMessages has a stream show the messages of clients, with a timeline of n entries in
// front.
func withMessages(req *a2a.SendMessageRequest, n int) *a2a.SendMessageRequest {
	if req.Configuration == nil {
		req.Configuration = new(a2a.SendMessageConfiguration)
	}
	req.Configuration.TimelineLength = new(int32(n))
	return req
}

// checkStream compares a stream, folded, with the log up to its last element.
func checkStream(t *testing.T, w *world, evs []*a2a.StreamResponse) {
	if len(evs) == 0 || evs[0].Task == nil {
		return
	}
	for i := range evs[1:] {
		if evs[i+1].Seq <= evs[i].Seq {
			t.Errorf("element %d follows element %d", evs[i+1].Seq, evs[i].Seq)
		}
	}
	got := foldStream(evs)
	want, err := w.read.FoldTo(context.Background(), store.Key{ID: got.ID}, evs[len(evs)-1].Seq)
	if err != nil {
		t.Error(err)
		return
	}
	for i := range evs[1:] {
		a, b := generationOf(evs[i]), generationOf(evs[i+1])
		if evs[i+1].State() == a2a.TaskStateSubmitted {
			a++ // the end of the turn before is not in the stream
		}
		if b != a+1 {
			t.Errorf("generation %d follows generation %d", b, a)
		}
	}
	// Whose words came when is in the timeline.
	got.History, want.History = nil, nil
	got.Timeline, got.Elicitations = nil, nil
	for _, a := range got.Artifacts {
		a.StartGeneration, a.EndGeneration = 0, 0
	}
	g, e := string(got.AppendJSON(nil)), string(want.AppendJSON(nil))
	if g != e {
		t.Errorf("a stream folds to\n%s, the log to\n%s", g, e)
	}
}

// wantNothingCounted is for the end of an engine.
func (w *world) wantNothingCounted() {
	w.t.Helper()
	tasks, owners := w.admission.At()
	if seats, queued := w.admission.Load(); tasks+owners+seats+queued != 0 {
		w.t.Errorf("%d tasks of %d owners are counted, with %d seats and %d in line", tasks, owners, seats, queued)
	}
	if b := w.owners.Weights; b != nil && b.Used() != 0 {
		w.t.Errorf("%d bytes are held", b.Used())
	}
}

// finish answers what a task asks until it ends, or cancels it.
func finish(t *testing.T, w *world, id string) *a2a.Task {
	t.Helper()
	var task *a2a.Task
	for range 200 { // a turn of version 0.1 may have another behind it
		_, err := w.SendMessage(t.Context(), reply(&a2a.Task{ID: id}, "go on"))
		if task = w.mustGet(id); err != nil && task.Status.State.Terminal() {
			break
		}
	}
	if !task.Status.State.Terminal() {
		t.Errorf("task %s does not end: %s", id, task.Status.State)
	}
	rec, err := w.st.Get(t.Context(), store.Key{ID: id}, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Updated.Equal(task.Status.Timestamp) {
		t.Errorf("the row was updated at %v, the status at %v", rec.Updated, task.Status.Timestamp)
	}
	entries, err := w.st.Entries(t.Context(), store.Key{ID: id}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries[1:] {
		if entries[i+1].Time.Before(entries[i].Time) {
			t.Errorf("time goes back at entry %d", entries[i+1].Seq)
		}
	}
	return task
}
