package a2a

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// storedTasks are tasks with each member and without.
func storedTasks() []*Task {
	words := &Message{MessageID: "m", Role: RoleAgent, Parts: []*Part{TextPart("}}],\"history\":[{\"metadata\":{\" ünï")}, Metadata: JSON(`{"a": [1, "}"]}`)}
	file := &Artifact{ArtifactID: "a", Parts: []*Part{RawPart([]byte{0, 255}, "a/b", "f"), DataPart(JSON(`{"artifacts":[{}]}`))}}
	var out []*Task
	for i := range 1 << 6 {
		has := func(bit int) bool { return i>>bit&1 == 1 }
		t := &Task{ID: "t\"1\xff", Generation: 7, Status: TaskStatus{State: TaskStateFailed}}
		if has(0) {
			t.ContextID, t.Status.Timestamp = "c1", time.UnixMilli(1767323045678).UTC()
		}
		if has(1) {
			t.Status.Message = words
		}
		if has(2) {
			t.History = []*Message{words, {MessageID: "n", Role: RoleUser, Parts: []*Part{URLPart("https://x", "", "")}}}
		}
		if has(3) {
			t.Metadata = JSON("{\n \"history\":[] }")
		}
		if has(4) {
			t.Artifacts = []*Artifact{file, file}
		}
		if has(5) {
			t.Version = "0.3"
		}
		out = append(out, t)
	}
	return append(out, counted(typicalTask()))
}

func counted(t *Task) *Task {
	t.Generation = 3
	return t
}

func sealed(t *Task) (head, body []byte) {
	h := *t
	h.Artifacts = nil
	return h.AppendStored([]byte("in front"), 0)[len("in front"):], t.AppendStoredBody(nil)
}

// A task that is served in its stored form equals, byte for byte, one that is decoded
// and encoded again.
func TestStoredTasksAreServedAsTheyAre(t *testing.T) {
	for i, task := range storedTasks() {
		head, body := sealed(task)
		var slow Task
		if err := slow.DecodeStored(head); err != nil {
			t.Fatalf("%d: %s: %v", i, head, err)
		}
		if err := slow.DecodeStoredBody(body); err != nil {
			t.Fatalf("%d: %s: %v", i, body, err)
		}
		if slow.Generation != task.Generation || slow.Version != task.Version {
			t.Errorf("%d: generation %d, version %q", i, slow.Generation, slow.Version)
		}
		without := slow
		without.Artifacts = nil
		for _, n := range []*int32{nil, new(int32), new(int32(1)), new(int32(2)), new(int32(3))} {
			for _, artifacts := range []bool{true, false} {
				want, b := slow.LimitHistory(n), body
				if !artifacts {
					want, b = without.LimitHistory(n), nil
				}
				got := ReadStored(head, b, n)
				if got == nil {
					if !(n != nil && *n > 0 && int(*n) < len(task.History)) {
						t.Errorf("%d: %s has to be decoded", i, head)
					}
					continue
				}
				for name, pair := range map[string][2][]byte{
					"1.0": {got.AppendPlain([]byte("x")), want.AppendPlain([]byte("x"))},
					"1.1": {got.AppendJSON(nil), want.AppendJSON(nil)},
					"of a page of 1.0": {
						(&ListTasksResponse{Tasks: []*Task{got, got}}).AppendPlain(nil),
						(&ListTasksResponse{Tasks: []*Task{want, want}}).AppendPlain(nil),
					},
				} {
					if !bytes.Equal(pair[0], pair[1]) {
						t.Errorf("%d: %s\n got %s\nwant %s", i, name, pair[0], pair[1])
					}
				}
				if got.Generation != want.Generation || got.Version != want.Version {
					t.Errorf("%d: generation %d, version %q", i, got.Generation, got.Version)
				}
				if err := got.Decode(); err != nil || got.Encoded != nil {
					t.Fatalf("%d: %v", i, err)
				}
				if g, w := fmt.Sprintf("%s %s", got.AppendJSON(nil), got.Version), fmt.Sprintf("%s %s", want.AppendJSON(nil), want.Version); g != w {
					t.Errorf("%d: decoded\n got %s\nwant %s", i, g, w)
				}
			}
		}
	}
}

// An entry whose content is stored elsewhere is not served as stored.
func TestSpilledTasksAreDecoded(t *testing.T) {
	for spilled, want := range map[Spilled][2]bool{0: {true, true}, SpilledHead: {}, SpilledBody: {true, false}, SpilledHead | SpilledBody: {}} {
		task := counted(typicalTask())
		head, body := task.AppendStored(nil, spilled), task.AppendStoredBody(nil)
		if alone, both := ReadStored(head, nil, nil) != nil, ReadStored(head, body, nil) != nil; alone != want[0] || both != want[1] {
			t.Errorf("spilled %d: the head alone %v, with its body %v", spilled, alone, both)
		}
	}
}

// The forms of earlier releases can still be read.
func TestOldStoredTasks(t *testing.T) {
	for _, task := range storedTasks() {
		head := *task
		head.Artifacts, head.Generation = nil, 5
		doc := head.AppendJSON(nil)
		if task.Version != "" {
			doc = append(append([]byte(`{"version":"0.3","task":`), doc...), '}')
		}
		body := (&Task{ID: task.ID, Status: TaskStatus{State: task.Status.State}, Artifacts: task.Artifacts}).AppendJSON(nil)
		if ReadStored(doc, nil, nil) != nil || ReadStored(doc, body, nil) != nil {
			t.Errorf("%s is served as it is", doc)
		}
		var got Task
		if err := got.DecodeStored(doc); err != nil {
			t.Fatal(err)
		}
		if err := got.DecodeStoredBody(body); err != nil {
			t.Fatal(err)
		}
		want := *task
		want.Generation = 5
		if g, w := string(got.AppendJSON(nil))+string(got.Version), string(want.AppendJSON(nil))+string(want.Version); g != w {
			t.Errorf("\n got %s\nwant %s", g, w)
		}
	}
}

// FuzzDecodeStored reads what a damaged database may have: it is served or
// refused, and a task that is served as stored equals the decoded one.
func FuzzDecodeStored(f *testing.F) {
	for _, task := range storedTasks() {
		head, body := sealed(task)
		f.Add(head, body)
		old := *task
		old.Artifacts = nil
		f.Add(old.AppendJSON(nil), task.AppendJSON(nil))
	}
	for _, s := range []string{"", "{}", `{"version":"0.3","task":{}}`, `{"generation":1,"messages":0,"history":99999999999999999999,"metadata":2,"task":{}}`, `{"generation":`} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, head, body []byte) {
		var slow Task
		err := slow.DecodeStored(head)
		if err == nil {
			err = slow.DecodeStoredBody(body)
		}
		for _, n := range []*int32{nil, new(int32)} {
			fast := ReadStored(head, body, n)
			if fast == nil || fast.Encoded == nil {
				continue
			}
			got := fast.AppendJSON(nil)
			if fast.Generation <= 0 || !strings.HasSuffix(string(got), fmt.Sprintf(`"generation":"%d"}`, fast.Generation)) {
				t.Fatalf("generation %d of %q", fast.Generation, got)
			}
			if err == nil && !bytes.HasPrefix(fast.AppendPlain(nil), []byte("{")) {
				t.Fatalf("%q", got)
			}
			_ = fast.Decode()
		}
	})
}
