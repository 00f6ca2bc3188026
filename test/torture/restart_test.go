package torture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

var (
	finished   = flag.Int("finished", 0, "finished tasks in the database of TestRestart, which then measures; 0 means the short form")
	unfinished = flag.Int("unfinished", 10_000, "unfinished ones, with -finished")
	starts     = flag.Int("starts", 3, "how often each start is measured, with -finished; the median counts")
	stocks     = flag.String("stock", "", "directory that keeps the databases of -finished for the next time; empty keeps nothing")
)

// TestRestart is the promise that a server comes back at once however much it
// has behind it, and that what was unfinished then goes on. make restart is its
// long form, which measures.
func TestRestart(t *testing.T) {
	program := built(t)
	addr, err := FreePort(*seed + 7)
	if err != nil {
		t.Fatal(err)
	}
	if *finished > 0 {
		measure(t, program, addr)
		return
	}

	dir := t.TempDir()
	work := lost{"stream 40 5", "sleep 0.2", "ask", "echo hello"}
	full := stock{finished: 2000, unfinished: 300}
	if err := full.fill(t.Context(), filepath.Join(dir, "parley.db"), work); err != nil {
		t.Fatal(err)
	}
	before := rowsIn(t, dir)

	live(t, program, addr, dir).kill() // in the middle of it
	l := live(t, program, addr, dir)
	l.greet(t.Context())
	of := map[string]*a2aclient.Client{}
	for _, tenant := range tenants {
		of[tenant] = l.clientOf(tenant)
	}
	totals(t, of, before)
	settle(t, of, before)
	l.stop()

	after := rowsIn(t, dir)
	open := 0
	for key, was := range before {
		if isOpen(was) {
			open++
		}
		is, found := after[key]
		switch {
		case !found:
			t.Errorf("task %v is missing", key)
		case isOpen(was) && (is.Active || a2a.TaskState(is.State) != a2a.TaskStateCompleted):
			t.Errorf("task %v, which was %v, is %v", key, a2a.TaskState(was.State), a2a.TaskState(is.State))
		case !isOpen(was) && is != was:
			t.Errorf("task %v was finished and changed: %s", key, cmp.Diff(was, is))
		}
	}
	if open != full.unfinished || len(before) != full.finished+full.unfinished {
		t.Errorf("the database began with %d tasks, %d of them open, in place of %+v", len(before), open, full)
	}
	if n := len(after); n != len(before)+1 {
		t.Errorf("after one message more there are %d tasks in place of %d", n, len(before)+1)
	}
}

func isOpen(r store.Row) bool { return !a2a.TaskState(r.State).Terminal() }

// rowsIn reads the index of a database that nobody has open.
func rowsIn(t *testing.T, dir string) map[store.Key]store.Row {
	t.Helper()
	r, err := sqlite.OpenReader(filepath.Join(dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found := map[store.Key]store.Row{}
	var after *store.Key
	for {
		const page = 1000
		rows, err := r.Tasks(t.Context(), after, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			found[row.Key] = row
			after = &row.Key
		}
		if len(rows) < page {
			return found
		}
	}
}

// totals checks that lists are complete, whatever is being taken up.
func totals(t *testing.T, of map[string]*a2aclient.Client, before map[store.Key]store.Row) {
	t.Helper()
	for _, tenant := range tenants {
		want := 0
		for key := range before {
			if key.Tenant == tenant {
				want++
			}
		}
		if tenant == "" {
			want++ // the first message of this life
		}
		page, err := of[tenant].ListTasks(t.Context(), &a2a.ListTasksRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if int(page.TotalSize) != want {
			t.Errorf("tenant %q has %d tasks in place of %d", tenant, page.TotalSize, want)
		}
	}
}

// settle waits for every open task, answers those that ask, and checks the outcome of
// each.
func settle(t *testing.T, of map[string]*a2aclient.Client, before map[store.Key]store.Row) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), quietWithin)
	defer cancel()
	var work sync.WaitGroup
	at := make(chan struct{}, 32)
	for key, row := range before {
		if !isOpen(row) {
			continue
		}
		at <- struct{}{}
		work.Go(func() {
			defer func() { <-at }()
			if err := settleOne(ctx, of[key.Tenant], key); err != nil {
				t.Errorf("task %v, which was %v: %v", key, a2a.TaskState(row.State), err)
			}
		})
	}
	work.Wait()
}

func settleOne(ctx context.Context, c *a2aclient.Client, key store.Key) error {
	get := &a2a.GetTaskRequest{ID: key.ID}
	task, err := c.GetTask(ctx, get)
	if err != nil {
		return err
	}
	switch said := task.History[0].Text(); {
	case task.Status.State.Terminal():
	case said == "ask":
		if task.Status.State != a2a.TaskStateInputRequired {
			return fmt.Errorf("it asks as %v", task.Status.State)
		}
		answer := say("", "", "Ada")
		answer.Message.TaskID = key.ID
		_, err = c.SendMessage(ctx, answer)
	default:
		for _, fault := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: key.ID}) {
			err = fault
		}
		if errors.Is(err, a2a.ErrUnsupportedOperation) {
			err = nil // it ended meanwhile
		}
	}
	if err == nil {
		task, err = c.GetTask(ctx, get)
	}
	if err != nil {
		return err
	}
	want := "hello"
	switch word, _, _ := strings.Cut(task.History[0].Text(), " "); word {
	case "ask":
		want = "Ada"
	case "sleep":
		want = "slept 0.2"
	case "stream":
		want = ""
		for i := range 40 {
			want += fmt.Sprintf("chunk %d\n", i+1)
		}
	}
	if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 {
		return fmt.Errorf("it is %v (%q) with %d artifacts", task.Status.State, task.Status.Message.Text(), len(task.Artifacts))
	}
	got := ""
	for _, p := range task.Artifacts[0].Parts {
		got += p.Text
	}
	if got != want {
		return fmt.Errorf("its result is %q in place of %q", got, want)
	}
	return nil
}
