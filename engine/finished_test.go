package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// asIs spells what a caller gets of a task: its JSON in both forms, and the
// fields that are set of one that is encoded.
func asIs(t *a2a.Task) string {
	return fmt.Sprintf("%s\n%s\n%s %s %s %v %d %q", t.AppendPlain(nil), t.AppendJSON(nil),
		t.ID, t.ContextID, t.Status.State, t.Status.Timestamp.UnixMilli(), t.Generation, t.Version)
}

// Finished tasks of any kind are, as they are stored, byte for byte what they are
// when decoded: from the cache when they end, from the store, and from the cache
// when they were read.
func TestEncodedTasksAreAsDecoded(t *testing.T) {
	open := func(path string) store.Store {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	path := filepath.Join(t.TempDir(), "a2a.db")
	st := open(path)
	w := newWorld(t, st, whim)
	r := rand.New(rand.NewPCG(1, 1))
	for seed := range 60 {
		req := sendNow(fmt.Sprint(seed))
		req.Message.Metadata = a2a.JSON(`{"a": "}}\",\"history\":[" }`)
		req.Message.Extensions = []string{"https://example.org/ünï\x01"}
		if v := []a2a.Version{"", "", "0.3", "0.1"}[r.IntN(4)]; v != "" {
			req.Legacy = &a2a.Legacy{Version: v, TaskOnly: true}
		}
		req.Configuration.ReturnImmediately = false
		resp, err := w.SendMessage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for task := resp.Task; task != nil && task.Status.State.Interrupted(); {
			task = w.mustSend(reply(task, "go on"))
		}
	}
	encoded := map[bool]int{}
	check := func(w *world) {
		t.Helper()
		all, err := st.Tasks(t.Context(), nil, 1000)
		if err != nil || len(all) < 40 {
			t.Fatalf("%d tasks, %v", len(all), err)
		}
		lengths := []*int32{nil, new(int32(0)), new(int32(1)), new(int32(2)), new(int32(100))}
		for _, n := range lengths {
			for i := range all {
				slow, _, err := w.topics.Load(t.Context(), all[i].Key)
				if err != nil {
					t.Fatal(err)
				}
				want := asIs(slow.LimitHistory(n))
				for _, takes := range []bool{true, false, true} {
					got, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: all[i].ID, HistoryLength: n, Encoded: takes})
					if err != nil {
						t.Fatal(err)
					}
					if asIs(got) != want {
						t.Fatalf("encoded %v:\n got %s\nwant %s", takes, asIs(got), want)
					}
					if !takes && got.Encoded != nil {
						t.Fatalf("nobody wanted it encoded: %s", asIs(got))
					}
					encoded[got.Encoded != nil]++
				}
			}
			for _, artifacts := range []bool{true, false} {
				var pages [2][]*a2a.Task
				for i := range pages {
					page, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{HistoryLength: n, IncludeArtifacts: artifacts, PageSize: new(int32(100)), Encoded: i == 0})
					if err != nil || len(page.Tasks) < 40 {
						t.Fatalf("%+v, %v", page, err)
					}
					pages[i] = page.Tasks
				}
				for i, got := range pages[0] {
					if pages[1][i].Encoded != nil || asIs(got) != asIs(pages[1][i]) {
						t.Fatalf("in a list, artifacts %v:\n got %s\nwant %s", artifacts, asIs(got), asIs(pages[1][i]))
					}
				}
			}
		}
	}
	check(w)
	w.stop()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(path)
	defer func() { st.Close() }()
	for _, o := range []*Options{nil, {Cache: -1}, {DeadAfter: 1 << 40}} {
		w = newWorldWith(t, st, whim, testCard(), o)
		check(w)
		w.stop()
	}
	if encoded[true] < 1000 || encoded[false] < 1000 {
		t.Errorf("%d answers were encoded, %d were not", encoded[true], encoded[false])
	}
}

// mustGetEncoded returns a task as 1.0 over JSON gets it.
func (w *world) mustGetEncoded(id string) *a2a.Task {
	w.t.Helper()
	task, err := w.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: id, Encoded: true})
	if err != nil {
		w.t.Fatalf("GetTask: %v", err)
	}
	return task
}

// A finished task is served without a look at the store, and only to its own caller.
func TestFinishedTasksAreCached(t *testing.T) {
	counted := &countedStore{Store: store.NewMemory()}
	defer counted.Close()
	w := newWorld(t, counted, parrot)
	task := w.mustSend(send("x"))
	if got := w.mustGetEncoded(task.ID); got.Encoded == nil || counted.gets != 0 {
		t.Errorf("encoded %v, after %d looks at the store", got.Encoded != nil, counted.gets)
	}
	w.mustGet(task.ID)
	if counted.gets != 0 || w.topics.LenLocked() != 0 {
		t.Errorf("decoded, after %d looks at the store, with %d topics left", counted.gets, w.topics.LenLocked())
	}
	for _, c := range []a2a.Caller{{Subject: "somebody"}, {Tenant: "else"}} {
		ctx := a2a.WithCaller(t.Context(), c)
		_, err := w.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, Encoded: true})
		wantError(t, err, a2a.ErrTaskNotFound)
	}
	_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, Encoded: true, HistoryLength: new(int32(-1))})
	wantError(t, err, a2a.ErrInvalidParams)
}

type countedStore struct {
	store.Store
	gets int
}

func (s *countedStore) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	s.gets++
	return s.Store.Get(ctx, k, most)
}

// A deleted task is not found from then on, cached or not.
func TestDeletedTasksAreNotCached(t *testing.T) {
	w := newWorld(t, nil, parrot)
	id := w.mustSend(send("x")).ID
	w.mustGetEncoded(id)
	err := ErrAtWork
	for err == ErrAtWork { // its owner is on the way out
		err = w.Delete(t.Context(), store.Key{ID: id})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.wantGone(id)
	_, err = w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id, Encoded: true})
	wantError(t, err, a2a.ErrTaskNotFound)
}

// A finished task of version 0.1 may go on, and is read from the store.
func TestReopenedTasksAreNotCached(t *testing.T) {
	w := newWorld(t, nil, parrot)
	for i := range 3 {
		w.mustSend(first01("chosen", fmt.Sprint("word", i)))
		for range 2 {
			if got := string(w.mustGetEncoded("chosen").AppendPlain(nil)); !strings.Contains(got, fmt.Sprint("word", i)) {
				t.Errorf("after message %d the task is %s", i, got)
			}
		}
	}
	for state := a2a.TaskStateSubmitted; state <= a2a.TaskStateAuthRequired; state++ {
		for _, version := range []a2a.Version{"", "0.1", "0.3"} {
			if state.Terminal() && task.MayFollow(state, a2a.TaskStateSubmitted, version.Reopens()) && stored.Final(&a2a.Task{Version: version, Status: a2a.TaskStatus{State: state}}) {
				t.Errorf("a task of %q that is %s counts as final, and may go on", version, state)
			}
		}
	}
}

// TestPeekIsNotAheadOfWhatIsPublished: as TestLookIsNotAheadOfWhatIsPublished,
// for a caller that does not meet the task's readers.
func TestPeekIsNotAheadOfWhatIsPublished(t *testing.T) {
	st := &lateStore{Store: store.NewMemory(), late: make(chan struct{})}
	close(st.late)
	defer st.Close()
	w := newWorldWith(t, st, parrot, testCard(), &Options{Cache: -1})
	id := w.mustSend(send("x")).ID
	var tp *topic.Topic
	adopt := func() {
		tp = w.topics.Join(store.Key{ID: id})
		tp.Adopt(&task.Owner{}, &a2a.Task{ID: id, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, 2)
	}
	st.onRead.Store(&adopt)
	if got := w.mustGetEncoded(id); got.Status.State != a2a.TaskStateWorking {
		t.Errorf("the task is %s", got.Status.State)
	}
	w.topics.Leave(tp)
	w.stop()
}

// Seals of earlier releases are read as ever, in lists, too.
func TestOldSeals(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Artifact("a").Last(t.Message().Parts...) }))
	for _, version := range []string{"", "0.3"} {
		old := store.NewMemory()
		t.Cleanup(func() { old.Close() })
		req := send("x")
		req.Legacy = &a2a.Legacy{Version: a2a.Version(version)}
		task := w.mustSend(req)
		key := store.Key{ID: task.ID}
		rec, err := st.Get(t.Context(), key, store.Whole)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := st.Entries(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Do(t.Context(), old, &store.Append{Row: rec.Row, Entries: entries, Seal: oldSeal(t, rec.Seal)}); err != nil {
			t.Fatal(err)
		}
		v := newWorld(t, old, parrot)
		for range 2 {
			if got := v.mustGetEncoded(task.ID); got.Encoded != nil || asIs(got) != asIs(task) {
				t.Errorf("\n got %s\nwant %s", asIs(got), asIs(task))
			}
		}
		list, err := v.ListTasks(t.Context(), &a2a.ListTasksRequest{Encoded: true, IncludeArtifacts: true})
		if err != nil || len(list.Tasks) != 1 || asIs(list.Tasks[0]) != asIs(task) {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

// oldSeal is a seal as releases before this form wrote it.
func oldSeal(t *testing.T, s *store.Seal) *store.Seal {
	t.Helper()
	task, err := stored.Unseal(s, true)
	if err != nil {
		t.Fatal(err)
	}
	body := a2a.Task{ID: task.ID, Status: a2a.TaskStatus{State: task.Status.State}, Artifacts: task.Artifacts}
	task.Artifacts = nil
	head := task.AppendJSON(nil)
	if task.Version != "" {
		head = fmt.Appendf(nil, `{"version":%q,"task":%s}`, task.Version, head)
	}
	return &store.Seal{Head: head, Body: body.AppendJSON(nil)}
}

// A store that other processes have too is read without a cache: they may delete
// what is in it.
func TestNoCacheOfASharedStore(t *testing.T) {
	for _, o := range []*Options{{DeadAfter: time.Second}, {Cache: -5}, {Cache: 1 << 20, DeadAfter: time.Second}} {
		if o.filled().Cache >= 0 {
			t.Errorf("%+v has one", o)
		}
	}
	if (*Options)(nil).filled().Cache < 0 {
		t.Error("by default there is none")
	}
}
