package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// fillTasks makes n finished tasks a millisecond apart, oldest first.
func fillTasks(w *world, n int, contextID string) []*a2a.Task {
	var out []*a2a.Task
	for range n {
		req := send("x")
		req.Message.ContextID = contextID
		out = append(out, w.mustSend(req))
		time.Sleep(time.Millisecond) // fake time
	}
	return out
}

func listWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		w := newWorld(t, st, parrot)
		test(t, w)
		w.stop()
		st.Close()
	})
}

func ids(tasks []*a2a.Task) (out []string) {
	for _, t := range tasks {
		out = append(out, t.ID)
	}
	return out
}

func TestListPages(t *testing.T) {
	listWorld(t, func(t *testing.T, w *world) {
		tasks := fillTasks(w, 7, "")
		req := &a2a.ListTasksRequest{PageSize: new(int32(3))}
		var got []*a2a.Task
		for pages := 1; ; pages++ {
			page, err := w.ListTasks(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if page.TotalSize != int32(7+pages-1) || page.PageSize != 3 {
				t.Errorf("page %d: total %d, size %d", pages, page.TotalSize, page.PageSize)
			}
			got = append(got, page.Tasks...)
			if page.NextPageToken == "" {
				break
			}
			req.PageToken = page.NextPageToken
			fillTasks(w, 1, "") // newer tasks do not disturb the walk to older ones
		}
		want := ids(tasks)
		for i, id := range ids(got) {
			if id != want[len(want)-1-i] {
				t.Fatalf("place %d is another task", i)
			}
		}
		if len(got) != 7 {
			t.Errorf("%d tasks, want 7", len(got))
		}
	})
}

// fullDisk is a store that cannot make its first secret any more.
type fullDisk struct{ store.Store }

func (fullDisk) Secret(context.Context, string) ([]byte, error) {
	return nil, errors.New("the disk is full")
}

// TestListOfOnePageWritesNothing: a full disk must not hide what is on it.
func TestListOfOnePageWritesNothing(t *testing.T) {
	mem := store.NewMemory()
	defer mem.Close()
	w := newWorld(t, fullDisk{mem}, parrot)
	tasks := fillTasks(w, 2, "")
	page, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
	if err != nil || len(page.Tasks) != len(tasks) {
		t.Errorf("got %+v, %v", page, err)
	}
	w.stop()
}

func TestListFilters(t *testing.T) {
	listWorld(t, func(t *testing.T, w *world) {
		a := fillTasks(w, 3, "ctx-a")
		fillTasks(w, 2, "ctx-b")
		other := send("x")
		other.Tenant = "elsewhere"
		w.mustSend(other)
		tests := []struct {
			name string
			req  a2a.ListTasksRequest
			want int32
		}{
			{"all of the tenant", a2a.ListTasksRequest{}, 5},
			{"context", a2a.ListTasksRequest{ContextID: "ctx-a"}, 3},
			{"state", a2a.ListTasksRequest{Status: a2a.TaskStateCompleted}, 5},
			{"another state", a2a.ListTasksRequest{Status: a2a.TaskStateWorking}, 0},
			{"since, inclusive", a2a.ListTasksRequest{StatusTimestampAfter: a[1].Status.Timestamp}, 4},
			{"all filters", a2a.ListTasksRequest{ContextID: "ctx-a", Status: a2a.TaskStateCompleted, StatusTimestampAfter: a[1].Status.Timestamp}, 2},
			{"another tenant", a2a.ListTasksRequest{Tenant: "elsewhere"}, 1},
			{"another tenant's context", a2a.ListTasksRequest{Tenant: "elsewhere", ContextID: "ctx-a"}, 0},
		}
		for _, tt := range tests {
			resp, err := w.ListTasks(t.Context(), &tt.req)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if resp.TotalSize != tt.want || int32(len(resp.Tasks)) != tt.want {
				t.Errorf("%s: %d tasks, total %d, want %d", tt.name, len(resp.Tasks), resp.TotalSize, tt.want)
			}
		}
	})
}

func TestListContents(t *testing.T) {
	listWorld(t, func(t *testing.T, w *world) {
		task := fillTasks(w, 1, "")[0]
		get := func(req *a2a.ListTasksRequest) *a2a.Task {
			resp, err := w.ListTasks(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			return resp.Tasks[0]
		}
		if got := get(&a2a.ListTasksRequest{}); got.Artifacts != nil || len(got.History) != 1 {
			t.Errorf("by default: %d artifacts, %d messages; want none, 1", len(got.Artifacts), len(got.History))
		}
		sameTask(t, get(&a2a.ListTasksRequest{IncludeArtifacts: true}), task)
		if got := get(&a2a.ListTasksRequest{HistoryLength: new(int32(0))}); got.History != nil {
			t.Error("history with historyLength 0")
		}
	})
}

func TestPageTokensAreBound(t *testing.T) {
	listWorld(t, func(t *testing.T, w *world) {
		fillTasks(w, 3, "ctx")
		first, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: new(int32(1))})
		if err != nil {
			t.Fatal(err)
		}
		token := first.NextPageToken
		flipped := []byte(token)
		flipped[3] ^= 1
		bad := []a2a.ListTasksRequest{
			{PageToken: "nonsense!"},
			{PageToken: "AAAA"},
			{PageToken: string(flipped)},
			{PageToken: token, ContextID: "ctx"},
			{PageToken: token, Status: a2a.TaskStateCompleted},
			{PageToken: token, Tenant: "other"},
			{PageToken: token, StatusTimestampAfter: time.UnixMilli(1)},
		}
		for _, req := range bad {
			_, err := w.ListTasks(t.Context(), &req)
			wantError(t, err, a2a.ErrInvalidParams)
		}
		// The size may change, and so may the process.
		w2 := newWorld(t, w.st, parrot)
		rest, err := w2.ListTasks(t.Context(), &a2a.ListTasksRequest{PageToken: token, PageSize: new(int32(50))})
		if err != nil || len(rest.Tasks) != 2 {
			t.Errorf("the rest: %+v, %v", rest, err)
		}
		w2.stop()
	})
}
