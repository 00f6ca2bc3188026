package task

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// stepsOfPage returns the steps that docs/state-machine.md lists as "* FROM, … → TO, …",
// by "FROM → TO": "yes", or what the line says after "in version".
func stepsOfPage(t *testing.T) map[string]string {
	page, err := os.ReadFile("../../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]string{}
	for line := range strings.Lines(string(page)) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "* ")
		froms, tos, arrow := strings.Cut(item, " → ")
		if !ok || !arrow {
			continue
		}
		tos, condition, _ := strings.Cut(tos, ", for tasks created in version ")
		for from := range strings.SplitSeq(froms, ", ") {
			for to := range strings.SplitSeq(tos, ", ") {
				steps[from+" → "+to] = cmp.Or(strings.TrimSuffix(condition, " only"), "yes")
			}
		}
	}
	return steps
}

// docs/state-machine.md and the rules say the same.
func TestStateMachineDocument(t *testing.T) {
	steps, known := stepsOfPage(t), 0
	for _, from := range a2a.TaskStates() {
		for _, to := range a2a.TaskStates() {
			said := steps[strings.TrimPrefix(from.String(), "TASK_STATE_")+" → "+strings.TrimPrefix(to.String(), "TASK_STATE_")]
			if said != "" {
				known++
			}
			for _, version := range []a2a.Version{"", "0.3", "0.1"} {
				if want := said == "yes" || said == string(version) && said != ""; MayFollow(from, to, version.Reopens()) != want {
					t.Errorf("%s to %s in version %q: the page says %q, the rules %v", from, to, version, said, !want)
				}
			}
		}
	}
	if known != 32 {
		t.Errorf("the page lists %d steps between states, want 32", known)
	}
}

func TestUnspecifiedIsNoState(t *testing.T) {
	for _, s := range a2a.TaskStates() {
		if MayFollow(s, a2a.TaskStateUnspecified, true) || MayFollow(a2a.TaskStateUnspecified, s, true) {
			t.Errorf("%s goes to or from the unspecified state", s)
		}
	}
}

func artifactEntry(id string, add, last bool, parts ...*a2a.Part) *a2a.Entry {
	return &a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{
		Artifact: &a2a.Artifact{ArtifactID: id, Parts: parts}, Append: add, LastChunk: last,
	}}
}

func statusEntry(s a2a.TaskState) *a2a.Entry {
	return &a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: s}}}
}

func TestArtifactRules(t *testing.T) {
	p := a2a.TextPart("x")
	tests := []struct {
		name   string
		before []*a2a.Entry
		entry  *a2a.Entry
		want   error
	}{
		{"begin", nil, artifactEntry("a", false, false, p), nil},
		{"append to nothing", nil, artifactEntry("a", true, false, p), errNotBegun},
		{"append", []*a2a.Entry{artifactEntry("a", false, false, p)}, artifactEntry("a", true, true, p), nil},
		{"append after the last chunk", []*a2a.Entry{artifactEntry("a", false, true, p)}, artifactEntry("a", true, false, p), errClosed},
		{"begin anew after the last chunk", []*a2a.Entry{artifactEntry("a", false, true, p)}, artifactEntry("a", false, false, p), nil},
		{"no parts", nil, artifactEntry("a", false, false), errNoParts},
		{"after the end", []*a2a.Entry{statusEntry(a2a.TaskStateCompleted)}, artifactEntry("a", false, false, p), ErrTerminal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDraft()
			for _, en := range tt.before {
				if err := d.follow(en); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.follow(tt.entry); err != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// FuzzRules feeds any sequence of events to the rules and checks what must hold even if some
// are refused: a refused event changes nothing, nothing follows an end, and a log made of the
// accepted events folds to the draft's state.
func FuzzRules(f *testing.F) {
	f.Add([]byte{0x12, 0x40, 0x41, 0x13})
	f.Add([]byte{0x16, 0x12, 0x43, 0x42, 0x41, 0x15, 0x12})
	f.Add([]byte{0x81, 0x13, 0x01, 0x12, 0x01, 0x16, 0x41})
	f.Fuzz(func(t *testing.T, script []byte) {
		d := newDraft()
		var version a2a.Version
		if len(script) > 0 && script[0]&0x80 != 0 {
			version = "0.1"
		}
		log := []*a2a.Entry{{Seq: 1, Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t", ContextID: "c", Version: version}}}
		d.version = version
		for _, b := range script {
			var en *a2a.Entry
			if b&0x40 != 0 {
				en = artifactEntry(string('a'+rune(b>>3&1)), b&1 != 0, b&2 != 0, a2a.TextPart("x"))
			} else {
				en = statusEntry(a2a.TaskState(b & 15))
			}
			if en.Kind == a2a.EntryStatus && b&0x20 != 0 {
				ended := d.state.Terminal()
				if err := d.reopen(en); (err == nil) != (ended && version == "0.1" && d.state == a2a.TaskStateSubmitted) {
					t.Fatalf("reopened in version %q, ended before %v: %v", version, ended, err)
				} else if err == nil {
					en.Seq = int64(len(log) + 1)
					log = append(log, en)
				}
				continue
			}
			ended := d.state.Terminal()
			before := d.state
			if err := d.follow(en); err != nil {
				if d.state != before {
					t.Fatalf("a refused event changed the state from %s to %s", before, d.state)
				}
				continue
			}
			if ended {
				t.Fatal("an event was accepted after the end")
			}
			en.Seq = int64(len(log) + 1)
			log = append(log, en)
		}
		task := &a2a.Task{}
		again := newDraft()
		for _, en := range log {
			task.Apply(en)
			again.replay(en)
		}
		if task.Status.State != d.state {
			t.Errorf("the log folds to %s, the draft is %s", task.Status.State, d.state)
		}
		if again.state != d.state || again.reopened != d.reopened || again.version != d.version {
			t.Errorf("a replayed draft is %+v, the draft is %+v", again, d)
		}
		if task.Generation != d.generation || again.generation != d.generation {
			t.Errorf("generations %d and %d, the draft has %d", task.Generation, again.generation, d.generation)
		}
		for _, a := range task.Artifacts {
			if len(a.Parts) == 0 {
				t.Errorf("artifact %s has no parts", a.ArtifactID)
			}
		}
	})
}
