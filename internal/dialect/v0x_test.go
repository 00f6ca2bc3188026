package dialect

import (
	"errors"
	"slices"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestV0xRequests(t *testing.T) {
	c := CodecOf(V0x, a2a.BindingJSONRPC)
	two, less := int32(2), int32(-5) // the engine refuses less
	for _, tt := range []struct {
		op     Op
		params string
		want   any
	}{
		{GetTask, `{"id":"t1"}`, &a2a.GetTaskRequest{ID: "t1"}},
		{GetTask, `{"id":"t1","historyLength":0}`, &a2a.GetTaskRequest{ID: "t1"}},
		{GetTask, `{"id":"t1","historyLength":-5}`, &a2a.GetTaskRequest{ID: "t1", HistoryLength: &less}},
		{GetTask, `{"id":"t1","historyLength":2,"metadata":{}}`, &a2a.GetTaskRequest{ID: "t1", HistoryLength: &two}},
		{CancelTask, `{"id":"t1","metadata":{"a":1}}`, &a2a.CancelTaskRequest{ID: "t1", Metadata: a2a.JSON(`{"a":1}`)}},
	} {
		req, err := c.DecodeRequest(tt.op, []byte(tt.params))
		if err != nil {
			t.Errorf("%s: %v", tt.params, err)
		} else if got, want := req.(appender).AppendJSON(nil), tt.want.(appender).AppendJSON(nil); string(got) != string(want) {
			t.Errorf("%s is read as %s", tt.params, got)
		}
	}
	sub, err := c.DecodeRequest(SubscribeToTask, []byte(`{"id":"t1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := sub.(*a2a.SubscribeToTaskRequest); r.ID != "t1" || *r.Legacy != (a2a.Legacy{Version: "0.3", FinishedToo: true}) {
		t.Errorf("resubscribe: %+v", r)
	}
	for _, params := range []string{`[]`, `{"id":1}`, `{"id":"t1","historyLength":"x"}`} {
		if req, err := c.DecodeRequest(GetTask, []byte(params)); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s is read as %v, %v", params, req, err)
		}
	}
}

// The version that a task was created in decides how its readers see it.
func TestV0xAnswersInTheTasksVersion(t *testing.T) {
	c := CodecOf(V0x, a2a.BindingJSONRPC)
	n := int32(5)
	for version, form := range map[string]Dialect{"0.1": V01, "0.3": V03, "": V03} {
		task := asked()
		task.Version = a2a.Version(version)
		same := CodecOf(form, a2a.BindingJSONRPC)
		for _, req := range []*a2a.GetTaskRequest{{ID: "t1"}, {ID: "t1", HistoryLength: &n}} {
			got, want := c.AppendResult(nil, GetTask, req, task), same.AppendResult(nil, GetTask, req, task)
			if string(got) != string(want) {
				t.Errorf("%q:\n got %s\nwant %s", version, got, want)
			}
		}
		cancel := &a2a.CancelTaskRequest{ID: "t1"}
		if got, want := c.AppendResult(nil, CancelTask, cancel, task), same.AppendResult(nil, CancelTask, cancel, task); string(got) != string(want) {
			t.Errorf("%q, canceled:\n got %s\nwant %s", version, got, want)
		}
		for _, els := range [][]*a2a.StreamResponse{
			{taskIn(a2a.TaskStateWorking, "x"), chunk("y", "1", false), status(a2a.TaskStateCompleted)},
			{taskIn(a2a.TaskStateCompleted, "x")},
		} {
			els[0].Task.Version = a2a.Version(version)
			sub := &a2a.SubscribeToTaskRequest{ID: "t1"}
			e, f := c.Events(SubscribeToTask, sub), same.Events(SubscribeToTask, sub)
			if e.Ended() {
				t.Error("ended before it began")
			}
			if got, want := written(e, els...), written(f, els...); !slices.Equal(got, want) || e.Ended() != f.Ended() {
				t.Errorf("%q:\n got %s\nwant %s", version, got, want)
			}
		}
	}
}

// 0.1 shows no history where none was asked for, 0.3 all of it.
func TestV0xHistory(t *testing.T) {
	c := CodecOf(V0x, a2a.BindingJSONRPC)
	for version, want := range map[string]int{"0.1": 0, "0.3": 2} {
		task := asked()
		task.Version = a2a.Version(version)
		doc := c.AppendResult(nil, GetTask, &a2a.GetTaskRequest{ID: "t1"}, task)
		back, err := CodecOf(V03, a2a.BindingJSONRPC).DecodeResult(GetTask, &a2a.GetTaskRequest{ID: "t1"}, doc)
		if err != nil || len(back.(*a2a.Task).History) != want {
			t.Errorf("%s: %s, %v", version, doc, err)
		}
	}
}

// A stream that does not begin with a task is in 0.3: those of 0.1 always begin with
// one.
func TestV0xStreamWithoutATask(t *testing.T) {
	e := CodecOf(V0x, a2a.BindingJSONRPC).Events(SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"})
	f := CodecOf(V03, a2a.BindingJSONRPC).Events(SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"})
	els := []*a2a.StreamResponse{status(a2a.TaskStateWorking), status(a2a.TaskStateCompleted)}
	if got, want := written(e, els...), written(f, els...); !slices.Equal(got, want) {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func FuzzV0x(f *testing.F) {
	f.Add([]byte(`{"id":"t1","historyLength":"7","metadata":{"a":1}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, old := CodecOf(V0x, a2a.BindingJSONRPC), CodecOf(V01, a2a.BindingJSONRPC)
		for _, op := range []Op{GetTask, CancelTask, SubscribeToTask} {
			_, err := c.DecodeRequest(op, doc)
			if _, same := old.DecodeRequest(op, doc); (err == nil) != (same == nil) {
				t.Errorf("%s is wrong for %v, and for %v", op, err, same)
			}
		}
	})
}
