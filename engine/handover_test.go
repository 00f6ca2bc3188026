package engine

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

func TestLateLeaverLeavesItsSuccessorAlone(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, interview)
	task := w.mustSend(send("go"))
	w.stop()

	w = newWorld(t, st, interview)
	key := store.Key{ID: task.ID}
	first := w.newOwner(key, "")
	first.topic = w.join(key)
	w.work.Add(1)
	defer w.work.Done()
	if err := first.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !first.quiet() {
		t.Fatal("an owner with nothing to do stays")
	}
	second, err := w.acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	first.leave()
	if snap, _ := second.topic.snapshot(); snap == nil {
		t.Error("the task of the second owner is gone")
	} else {
		wantState(t, w.mustSend(reply(task, "Ada")), a2a.TaskStateInputRequired)
	}
	second.release()
}
