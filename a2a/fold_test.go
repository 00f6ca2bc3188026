package a2a

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// logOf numbers entries and puts a creation in front.
func logOf(entries ...*Entry) []*Entry {
	log := append([]*Entry{{Kind: EntryCreated, Created: &Created{TaskID: "t", ContextID: "c", Metadata: JSON(`{"m":1}`)}}}, entries...)
	for i, e := range log {
		e.Seq, e.Time = int64(i+1), epoch.Add(time.Duration(i)*time.Second)
		if e.Status != nil {
			e.Status.Status.Timestamp = e.Time
		}
	}
	return log
}

func seq(log []*Entry) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func mustFold(t *testing.T, log []*Entry) *Task {
	t.Helper()
	task, err := Fold(seq(log))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func said(id string, role Role) *Message {
	return &Message{MessageID: id, Role: role, Parts: []*Part{TextPart(id)}}
}

func received(id string) *Entry { return &Entry{Kind: EntryMessage, Message: said(id, RoleUser)} }

func became(s TaskState, id string) *Entry {
	e := &Entry{Kind: EntryStatus, Status: &TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: TaskStatus{State: s}, Metadata: JSON(`{"event":1}`)}}
	if id != "" {
		e.Status.Status.Message = said(id, RoleAgent)
	}
	return e
}

func made(id string, add bool, texts ...string) *Entry {
	a := &Artifact{ArtifactID: id}
	for _, s := range texts {
		a.Parts = append(a.Parts, TextPart(s))
	}
	return &Entry{Kind: EntryArtifact, Artifact: &TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Artifact: a, Append: add}}
}

func TestJoinedTextIsOnePart(t *testing.T) {
	join := func(id string) *Entry { return &Entry{Kind: EntryStep, Step: &Step{Name: StepJoin + "1 " + id}} }
	picture := made("a", true)
	picture.Artifact.Artifact.Parts = []*Part{RawPart([]byte("x"), "image/png", "")}
	titled := made("a", true, "T")
	titled.Artifact.Artifact.Parts[0].Filename = "t.txt"
	log := logOf(made("a", false, "1"), made("b", false, "x"), made("b", true, "y"), made("a", true, "2"), picture,
		made("a", true, "3"), titled, made("a", true, "4", "5"), made("a", true, ""), join("a"), join("nothing"), made("a", true, "6"))
	before := mustFold(t, log[:len(log)-3])
	snapshot := before.Snapshot()
	before.Apply(log[len(log)-3])
	if n := len(snapshot.Artifacts[0].Parts); n != 8 {
		t.Errorf("the snapshot has %d parts", n)
	}
	var got []string
	task := mustFold(t, log)
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			got = append(got, a.ArtifactID+p.Text+string(p.Raw))
		}
	}
	if want := "a12 ax a3 aT a45 a6 bx by"; strings.Join(got, " ") != want || task.Generation != before.Generation+1 {
		t.Errorf("got %q, want %s; generations %d, %d", got, want, before.Generation, task.Generation)
	}
}

// summary is a task in short: state, status message, history and artifacts.
func summary(t *Task) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(t.Status.State.String(), "TASK_STATE_"))
	if m := t.Status.Message; m != nil {
		b.WriteString("(" + m.MessageID + ")")
	}
	b.WriteString(" [")
	for i, m := range t.History {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(m.MessageID)
	}
	b.WriteString("]")
	for _, a := range t.Artifacts {
		b.WriteString(" " + a.ArtifactID + a.Name + "=")
		for _, p := range a.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// chunks add up to the artifact.
func TestFold(t *testing.T) {
	for name, tt := range map[string]struct {
		log  []*Entry
		want string
	}{
		"created":                  {nil, "SUBMITTED []"},
		"one message":              {[]*Entry{received("u1")}, "SUBMITTED [u1]"},
		"status message is aside":  {[]*Entry{received("u1"), became(TaskStateWorking, "a1")}, "WORKING(a1) [u1]"},
		"and moves when replaced":  {[]*Entry{received("u1"), became(TaskStateWorking, "a1"), became(TaskStateCompleted, "a2")}, "COMPLETED(a2) [u1 a1]"},
		"also by none":             {[]*Entry{became(TaskStateWorking, "a1"), became(TaskStateCompleted, "")}, "COMPLETED [a1]"},
		"not by itself":            {[]*Entry{became(TaskStateWorking, "a1"), became(TaskStateCompleted, "a1")}, "COMPLETED(a1) []"},
		"question before answer":   {[]*Entry{received("u1"), became(TaskStateInputRequired, "q"), received("u2")}, "INPUT_REQUIRED [u1 q u2]"},
		"once":                     {[]*Entry{received("u1"), became(TaskStateAuthRequired, "q"), received("u2"), became(TaskStateWorking, "")}, "WORKING [u1 q u2]"},
		"message while working":    {[]*Entry{became(TaskStateWorking, "a1"), received("u2"), became(TaskStateWorking, "a2")}, "WORKING(a2) [u2 a1]"},
		"an id used again":         {[]*Entry{received("u1"), received("u1"), became(TaskStateWorking, "u1"), became(TaskStateWorking, "")}, "WORKING [u1 u1 u1]"},
		"the agent's words once":   {[]*Entry{became(TaskStateWorking, "a1"), became(TaskStateWorking, "a2"), became(TaskStateWorking, "a1"), became(TaskStateWorking, "")}, "WORKING [a1 a2]"},
		"messages without ids":     {[]*Entry{received(""), received("")}, "SUBMITTED [ ]"},
		"artifacts in order":       {[]*Entry{made("x", false, "1"), made("y", false, "2"), made("z", false, "3")}, "SUBMITTED [] x=1 y=2 z=3"},
		"replaced in place":        {[]*Entry{made("x", false, "1", "2"), made("y", false, "2"), made("x", false, "3")}, "SUBMITTED [] x=3 y=2"},
		"appended":                 {[]*Entry{made("x", false, "1"), made("y", false, "2"), made("x", true, "3", "4")}, "SUBMITTED [] x=134 y=2"},
		"appended to nothing":      {[]*Entry{made("x", true, "1"), made("x", true, "2")}, "SUBMITTED [] x=12"},
		"steps and cancels hidden": {[]*Entry{{Kind: EntryStep, Step: &Step{}}, {Kind: EntryCancel, Cancel: &CancelRequested{}}}, "SUBMITTED []"},
	} {
		task := mustFold(t, logOf(tt.log...))
		if got := summary(task); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if task.ID != "t" || task.ContextID != "c" || string(task.Metadata) != `{"m":1}` {
			t.Errorf("%s: got %+v", name, task)
		}
		if task.Status.Timestamp.IsZero() {
			t.Errorf("%s: the status has no time", name)
		}
	}
}

func TestChunkReplacesWhatItSays(t *testing.T) {
	first, second, third := made("x", false, "1"), made("x", true, "2"), made("x", true)
	*first.Artifact.Artifact = Artifact{ArtifactID: "x", Name: "n", Description: "d", Metadata: JSON(`{"a":1}`), Extensions: []string{"e"}}
	*second.Artifact.Artifact = Artifact{ArtifactID: "x", Name: "N", Description: "D", Metadata: JSON(`{"b":1}`), Extensions: []string{"E"}}
	task := mustFold(t, logOf(first, second, third))
	if got := string(task.Artifacts[0].AppendJSON(nil)); got != `{"artifactId":"x","name":"N","description":"D","parts":[],"metadata":{"b":1},"extensions":["E"]}` {
		t.Errorf("got %s", got)
	}
	if first.Artifact.Artifact.Name != "n" {
		t.Error("the entry was changed")
	}
}

func TestFoldRefusesWhatIsNoLog(t *testing.T) {
	good := logOf(received("u1"), received("u2"))
	broken := fmt.Errorf("disk on fire")
	for name, log := range map[string]iter.Seq2[*Entry, error]{
		"empty":         seq(nil),
		"gap":           seq([]*Entry{good[0], good[2]}),
		"no beginning":  seq(good[1:]),
		"no creation":   seq([]*Entry{{Seq: 1, Kind: EntryMessage, Message: good[1].Message}}),
		"two creations": seq([]*Entry{good[0], {Seq: 2, Kind: EntryCreated, Created: &Created{}}}),
		"error": func(yield func(*Entry, error) bool) {
			if yield(good[0], nil) {
				yield(nil, broken)
			}
		},
	} {
		if task, err := Fold(log); err == nil || task != nil {
			t.Errorf("%s: got %v, %v", name, task, err)
		} else if name == "error" && err != broken {
			t.Errorf("got %v", err)
		}
	}
}

func TestApplyEventLeavesTheStreamAlone(t *testing.T) {
	shared := &StreamResponse{Task: mustFold(t, logOf(received("u1"), made("x", false, "1")))}
	shared.Task.Artifacts[0].Parts = slices.Grow(shared.Task.Artifacts[0].Parts, 10)
	before := string(shared.AppendJSON(nil))
	var readers [3]Task
	for i := range readers {
		readers[i].ApplyEvent(shared)
		readers[i].ApplyEvent(made("x", true, fmt.Sprint("from", i)).Event())
		readers[i].ApplyEvent(became(TaskStateWorking, fmt.Sprint("m", i)).Event())
		readers[i].ApplyEvent(became(TaskStateCompleted, "").Event())
	}
	for i := range readers {
		if got, want := summary(&readers[i]), fmt.Sprintf("COMPLETED [u1 m%d] x=1from%d", i, i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if after := string(shared.AppendJSON(nil)); after != before {
		t.Errorf("changed from %s to %s", before, after)
	}
}

// Tasks that share a slice must not both write to its spare capacity.
func TestTasksThatShareEntriesGrowApart(t *testing.T) {
	begin := made("x", false, "0")
	begin.Artifact.Artifact.Parts = slices.Grow(begin.Artifact.Artifact.Parts, 10)
	log := logOf(received("1"), received("2"), received("3"), begin)
	a, b := mustFold(t, log), mustFold(t, log)
	c := a.Snapshot()
	for i, task := range []*Task{a, b, c} {
		task.Apply(made("x", true, fmt.Sprint(i+1)))
		task.Apply(received(fmt.Sprint("own", i+1)))
	}
	for i, task := range []*Task{a, b, c} {
		if got, want := summary(task), fmt.Sprintf("SUBMITTED [1 2 3 own%d] x=0%d", i+1, i+1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestApplyEventWithoutATask(t *testing.T) {
	var task Task
	task.ApplyEvent(&StreamResponse{Message: said("m", RoleAgent)})
	task.ApplyEvent(&StreamResponse{})
	task.ApplyEvent(&StreamResponse{ArtifactUpdate: &TaskArtifactUpdateEvent{}})
	task.ApplyEvent(made("x", true, "1").Event())
	task.ApplyEvent(became(TaskStateCompleted, "").Event())
	if got := summary(&task); got != "COMPLETED [] x=1" || task.ID != "t" || task.ContextID != "c" {
		t.Errorf("got %s, %+v", got, task)
	}
}

func TestLimitHistory(t *testing.T) {
	task := mustFold(t, logOf(received("1"), received("2"), received("3")))
	for _, tt := range []struct {
		n    *int32
		want string
	}{
		{nil, "[1 2 3]"}, {ptr(int32(0)), "[]"}, {ptr(int32(1)), "[3]"}, {ptr(int32(2)), "[2 3]"}, {ptr(int32(3)), "[1 2 3]"}, {ptr(int32(99)), "[1 2 3]"}, {ptr(int32(-1)), "[]"},
	} {
		got := task.LimitHistory(tt.n)
		if s := summary(got); s != "SUBMITTED "+tt.want {
			t.Errorf("got %s, want %s", s, tt.want)
		}
		if tt.want == "[]" && got.History != nil {
			t.Error("no history must leave no member")
		}
	}
	if got := summary(task); got != "SUBMITTED [1 2 3]" {
		t.Errorf("the task was changed to %s", got)
	}
}

func TestEntryBodies(t *testing.T) {
	log := logOf(
		received("u1"), became(TaskStateWorking, "a1"), made("x", true, "1"),
		&Entry{Kind: EntryStep, Step: &Step{Name: "charge", Result: JSON(`12345678901234567890`)}},
		&Entry{Kind: EntryStep, Step: &Step{Name: "void", Result: JSON(`null`)}},
		&Entry{Kind: EntryStep, Step: &Step{Name: "nothing"}},
		&Entry{Kind: EntryCancel, Cancel: &CancelRequested{Subject: "ann", Metadata: JSON(`{"why":null}`)}},
		&Entry{Kind: EntryCancel, Cancel: &CancelRequested{}},
		&Entry{Kind: EntryMessage, Message: said("u2", RoleUser), Received: &Received{
			AcceptedOutputModes: []string{"text/html"}, Extensions: []string{"urn:x"}, Metadata: JSON(`{"n":12345678901234567890}`), Hops: 3, Trace: "00-a-b-01",
		}},
		&Entry{Kind: EntryMessage, Message: said("u3", RoleUser), Received: &Received{Credentials: true}},
	)
	want := []string{
		`{"taskId":"t","contextId":"c","metadata":{"m":1}}`,
		`{"message":{"messageId":"u1","role":"ROLE_USER","parts":[{"text":"u1"}]}}`,
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a1","role":"ROLE_AGENT","parts":[{"text":"a1"}]},"timestamp":"2026-01-02T03:04:07.000Z"},"metadata":{"event":1}}}`,
		`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"x","parts":[{"text":"1"}]},"append":true}}`,
		`{"name":"charge","result":12345678901234567890}`, `{"name":"void","result":null}`, `{"name":"nothing"}`,
		`{"subject":"ann","metadata":{"why":null}}`, `{}`,
		`{"message":{"messageId":"u2","role":"ROLE_USER","parts":[{"text":"u2"}]},"received":{"acceptedOutputModes":["text/html"],"extensions":["urn:x"],"metadata":{"n":12345678901234567890},"hops":3,"trace":"00-a-b-01"}}`,
		`{"message":{"messageId":"u3","role":"ROLE_USER","parts":[{"text":"u3"}]},"received":{"credentials":true}}`,
	}
	for i, e := range log {
		body := e.AppendBody(nil)
		if string(body) != want[i] {
			t.Errorf("got %s, want %s", body, want[i])
		}
		back, err := DecodeEntry(e.Seq, e.Time, e.Kind, body)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.AppendBody(nil); !bytes.Equal(again, body) || back.Seq != e.Seq || !back.Time.Equal(e.Time) || back.Kind != e.Kind {
			t.Errorf("got %s, %+v", again, back)
		}
		event := e.Event()
		switch e.Kind {
		case EntryStatus, EntryArtifact:
			if event.Seq != e.Seq || string(event.AppendJSON(nil)) != string(body) {
				t.Errorf("the event of %s is %s", body, event.AppendJSON(nil))
			}
		default:
			if event != nil {
				t.Errorf("%s shows as %s", body, event.AppendJSON(nil))
			}
		}
	}
}

func TestDamagedEntriesAreNotTheCallersFault(t *testing.T) {
	for _, tt := range []struct {
		kind EntryKind
		body string
	}{
		{EntryCreated, ``}, {EntryCreated, `{"taskId":5}`}, {EntryMessage, `{"parts":[{}]}`}, {EntryMessage, `null`},
		{EntryStatus, `{}`}, {EntryStatus, bodyOf(made("x", false, "1"))}, {EntryArtifact, bodyOf(became(TaskStateWorking, ""))},
		{EntryArtifact, `{"artifactUpdate":{}}`}, {EntryStep, `[]`}, {EntryCancel, `x`}, {0, `{}`}, {99, `{}`},
	} {
		e, err := DecodeEntry(7, epoch, tt.kind, []byte(tt.body))
		if err == nil || e != nil || !strings.HasPrefix(err.Error(), "decode log entry 7: ") {
			t.Errorf("%d %s: got %v, %v", tt.kind, tt.body, e, err)
		}
		if _, ok := err.(*Error); ok {
			t.Errorf("%d %s: got an error of the protocol", tt.kind, tt.body)
		}
	}
}

func bodyOf(e *Entry) string { return string(e.AppendBody(nil)) }

// Any sequence of entries keeps the promises of Apply and Snapshot.
func FuzzFold(f *testing.F) {
	f.Add([]byte("\x00\x10\x21\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"), uint8(3))
	f.Add(bytes.Repeat([]byte{0x33, 0x73, 0x05}, 20), uint8(9))
	f.Fuzz(func(t *testing.T, ops []byte, forkAt uint8) {
		if len(ops) > 200 {
			return
		}
		log := logOf(entriesOf(ops)...)
		task := new(Task)
		type frozen struct {
			task *Task
			doc  string
		}
		var snapshots []frozen
		var fork, client *Task
		var forkLog []*Entry
		for i, e := range log {
			before := bodyOf(e)
			task.Apply(e)
			if client != nil && e.Event() != nil {
				client.ApplyEvent(e.Event())
			}
			if i == int(forkAt)%len(log) {
				fork, forkLog = task.Snapshot(), slices.Clone(log[:i+1])
				client = new(Task)
				client.ApplyEvent(&StreamResponse{Task: task.Snapshot()})
			} else if other := *log[i*7%len(log)]; fork != nil && other.Kind != EntryCreated {
				other.Seq = int64(len(forkLog) + 1) // the fork goes another way
				forkLog = append(forkLog, &other)
				fork.Apply(&other)
			}
			if bodyOf(e) != before {
				t.Fatalf("entry %s became %s", before, bodyOf(e))
			}
			s := task.Snapshot()
			snapshots = append(snapshots, frozen{s, string(s.AppendJSON(nil))})
		}
		for _, s := range snapshots {
			if got := string(s.task.AppendJSON(nil)); got != s.doc {
				t.Fatalf("a snapshot changed from %s to %s", s.doc, got)
			}
		}
		sameAsFresh(t, task, log)
		sameAsFresh(t, fork, forkLog)
		checkInvariants(t, task)
		// Streams do not show messages, so a question that has been answered stays
		// in a client's status until the next one.
		server, reader := task.Snapshot(), client.Snapshot()
		server.Generation, reader.Generation = 0, 0 // these logs are not stamped with it
		server.History, reader.History, server.Status.Message, reader.Status.Message = nil, nil, nil, nil
		if got, want := string(reader.AppendJSON(nil)), string(server.AppendJSON(nil)); got != want {
			t.Fatalf("the client has %s, the server %s", got, want)
		}
	})
}

// sameAsFresh compares a task that shares entries with others with one made alone from
// entries of its own.
func sameAsFresh(t *testing.T, got *Task, log []*Entry) {
	t.Helper()
	var fresh []*Entry
	for _, e := range log {
		c, err := DecodeEntry(e.Seq, e.Time, e.Kind, e.AppendBody(nil))
		if err != nil {
			t.Fatal(err)
		}
		fresh = append(fresh, c)
	}
	if got, want := string(got.AppendJSON(nil)), string(mustFold(t, fresh).AppendJSON(nil)); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func checkInvariants(t *testing.T, task *Task) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range task.History {
		if m.Role == RoleUser {
			continue // as often as it came
		}
		if seen[m.MessageID] {
			t.Fatalf("%s is twice in %s", m.MessageID, summary(task))
		}
		seen[m.MessageID] = true
	}
	clear(seen)
	for _, a := range task.Artifacts {
		if seen[a.ArtifactID] {
			t.Fatalf("%s is twice in %s", a.ArtifactID, summary(task))
		}
		seen[a.ArtifactID] = true
	}
}

// entriesOf makes an entry of each byte: two bits for the kind, the others for the
// content. Ids repeat often.
func entriesOf(ops []byte) []*Entry {
	var out []*Entry
	for i, op := range ops {
		arg := op >> 2
		switch op & 3 {
		case 0:
			out = append(out, received(fmt.Sprint("m", arg%8)))
		case 1:
			id := ""
			if arg&8 != 0 {
				id = fmt.Sprint("m", i%12)
			}
			out = append(out, became(TaskStates()[arg%8], id))
		default:
			out = append(out, made(fmt.Sprint("x", arg%3), op&1 != 0, fmt.Sprint(i, ","), "+", "-")) // three parts leave spare capacity
		}
	}
	return out
}

// The time for a chunk must not grow with the chunks before it.
func BenchmarkApplyChunk(b *testing.B) {
	for _, before := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			var task Task
			e := made("x", true, strings.Repeat("x", 100))
			for range before {
				task.Apply(e)
			}
			n := 0
			for b.Loop() {
				if n++; n%before == 0 { // keep the size about what the name says
					task.Artifacts[0].Parts = task.Artifacts[0].Parts[:before]
				}
				task.Apply(e)
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	task := typicalTask()
	b.ReportAllocs()
	for b.Loop() {
		task.Snapshot()
	}
}
