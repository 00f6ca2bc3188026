package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func newArtifact(h *fakeHost, name string) *Artifact { return NewTurn(h).Artifact(name) }

func TestArtifactMarksItsChunks(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(w *Artifact)
		want  []string
	}{
		{"one write and close", func(w *Artifact) { w.WriteString("a"); w.Close() }, []string{`>x "a"`, `+. ""`}},
		{"last only", func(w *Artifact) { w.Last(a2a.TextPart("a"), a2a.TextPart("b")) }, []string{`>x. "a" "b"`}},
		{"chunks and last", func(w *Artifact) {
			w.WriteString("a")
			w.Add(a2a.DataPart(a2a.JSON("1")))
			w.Last(a2a.TextPart("z"))
			w.Close()
		}, []string{`>x "a"`, `+ data(1)`, `+. "z"`}},
		{"last without parts is close", func(w *Artifact) { w.WriteString("a"); w.Last() }, []string{`>x "a"`, `+. ""`}},
		{"empty writes", func(w *Artifact) {
			w.Write(nil)
			w.WriteString("")
			w.Add()
			w.WriteString("a")
			w.Write(nil)
			w.Add()
			w.Close()
		}, []string{`>x "a"`, `+. ""`}},
		{"close twice", func(w *Artifact) { w.WriteString("a"); w.Close(); w.Close() }, []string{`>x "a"`, `+. ""`}},
		{"a rune over three writes", func(w *Artifact) {
			w.Write([]byte("1\xe2"))
			w.Write([]byte("\x82"))
			w.Write([]byte("\xac2"))
			w.Close()
		}, []string{`>x "1"`, `+ "€2"`, `+. ""`}},
		{"an unfinished rune at the end", func(w *Artifact) { w.WriteString("1\xe2\x82"); w.Close() },
			[]string{`>x "1"`, `+. "��"`}},
		{"nothing but an unfinished rune", func(w *Artifact) { w.WriteString("\xf0"); w.Close() }, []string{`>x. "�"`}},
		{"an unfinished rune before a part", func(w *Artifact) {
			w.WriteString("\xc3")
			w.Add(a2a.TextPart("p"))
			w.WriteString("\xa9")
			w.Close()
		}, []string{`>x "�" "p"`, `+ "�"`, `+. ""`}},
		{"again", func(w *Artifact) {
			w.WriteString("a\xc3")
			w.Again()
			w.WriteString("b")
			w.WriteString("c")
			w.Close()
			w.Again()
			w.Last(a2a.TextPart("d"))
		}, []string{`>x "a"`, `>x "b"`, `+ "c"`, `+. ""`, `>x. "d"`}},
		{"again without more", func(w *Artifact) { w.Last(a2a.TextPart("d")); w.Again(); w.Close() }, []string{`>x. "d"`}},
		{"an unfinished rune before the last part", func(w *Artifact) { w.WriteString("\xc3"); w.Last(a2a.TextPart("p")) },
			[]string{`>x. "�" "p"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost("")
			c.write(newArtifact(h, "x"))
			wantScript(t, h, c.want...)
		})
	}
}

func TestArtifactJoinsWhatCameInChunks(t *testing.T) {
	h := newHost("")
	w := newArtifact(h, "x")
	w.WriteString("a")
	if err := w.Join(); err != nil || h.step != 0 {
		t.Fatalf("%d steps for one chunk, %v", h.step, err)
	}
	w.WriteString("b")
	if err := w.Join(); err != nil || h.step != 1 || h.steps[0].name != a2a.StepJoin+"1 "+w.ID() {
		t.Errorf("steps %+v, %v", h.steps, err)
	}
}

func TestArtifactUnseenIfNothingWasWritten(t *testing.T) {
	h := newHost("")
	w := newArtifact(h, "x")
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if len(h.events) != 0 {
		t.Errorf("emitted %s", h.script())
	}
}

func TestArtifactFirstChunkCarriesItsDescription(t *testing.T) {
	h := newHost("")
	turn := NewTurn(h)
	turn.Artifact("other")
	w := turn.Artifact("x")
	w.Description, w.Metadata, w.Extensions = "what it is", a2a.JSON(`{"a":1}`), []string{"urn:x"}
	w.WriteString("1")
	w.WriteString("2")
	first, second := h.events[0].artifact, h.events[1].artifact
	if first.ArtifactID != "artifact-1" || first.ArtifactID != w.ID() || second.ArtifactID != w.ID() {
		t.Errorf("ids %q, %q, ID %q", first.ArtifactID, second.ArtifactID, w.ID())
	}
	if first.Name != "x" || first.Description != "what it is" || string(first.Metadata) != `{"a":1}` || !slices.Equal(first.Extensions, []string{"urn:x"}) {
		t.Errorf("first chunk %+v", first)
	}
	if second.Name != "" || second.Description != "" || second.Metadata != nil || second.Extensions != nil {
		t.Errorf("second chunk repeats: %+v", second)
	}
}

func TestArtifactRefusesWritesAfterItsEnd(t *testing.T) {
	for name, end := range map[string]func(w *Artifact) error{
		"close": (*Artifact).Close,
		"last":  func(w *Artifact) error { return w.Last(a2a.TextPart("end")) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost("")
			w := newArtifact(h, "x")
			w.WriteString("a")
			if err := end(w); err != nil {
				t.Fatal(err)
			}
			n := len(h.events)
			if _, err := w.WriteString("b"); err == nil {
				t.Error("WriteString succeeded")
			}
			if err := w.Add(a2a.TextPart("b")); err == nil {
				t.Error("Add succeeded")
			}
			if err := w.Last(a2a.TextPart("b")); err == nil {
				t.Error("Last succeeded")
			}
			if len(h.events) != n {
				t.Errorf("emitted after the end: %s", h.script())
			}
		})
	}
}

func TestArtifactRefusesEmptyParts(t *testing.T) {
	h := newHost("")
	w := newArtifact(h, "x")
	if err := w.Add(a2a.TextPart("a"), nil); !errors.Is(err, errEmptyPart) {
		t.Errorf("nil part: %v", err)
	}
	if err := w.Last(&a2a.Part{}); !errors.Is(err, errEmptyPart) {
		t.Errorf("part without content: %v", err)
	}
	if len(h.events) != 0 {
		t.Errorf("emitted %s", h.script())
	}
}

// A refused chunk leaves the artifact as it was, so that the next one has the
// right marks and no byte is lost.
func TestArtifactUnchangedByRefusedChunk(t *testing.T) {
	h := newHost("")
	refuse := errors.New("disk full")
	var failing bool
	h.emitted = func(event) error {
		if failing {
			return refuse
		}
		return nil
	}
	w := newArtifact(h, "x")
	try := func(f func() error) {
		t.Helper()
		failing = true
		if err := f(); !errors.Is(err, refuse) {
			t.Errorf("refused: got %v", err)
		}
		failing = false
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	try(func() error { _, err := w.WriteString("a\xc3"); return err })
	try(func() error { _, err := w.WriteString("\xa9"); return err })
	try(func() error { return w.Add(a2a.TextPart("b")) })
	try(func() error { return w.Close() })
	wantScript(t, h, `>x "a"`, `+ "é"`, `+ "b"`, `+. ""`)
}

func TestArtifactAfterTaskEnded(t *testing.T) {
	h := newHost("")
	turn := NewTurn(h)
	w := turn.Artifact("x")
	w.WriteString("a")
	turn.Reject("no")
	if n, err := w.WriteString("b"); n != 0 || !errors.Is(err, ErrEnded) {
		t.Errorf("WriteString = %d, %v; want 0, ErrEnded", n, err)
	}
	if err := w.Close(); !errors.Is(err, ErrEnded) {
		t.Errorf("Close = %v, want ErrEnded", err)
	}
}

func TestArtifactDoesNotKeepTheCallersBytes(t *testing.T) {
	h := newHost("")
	w := newArtifact(h, "x")
	b := []byte("a\xc3")
	w.Write(b)
	b[0], b[1] = 'X', 'X'
	parts := []*a2a.Part{a2a.TextPart("p")}
	w.Write([]byte("\xa9"))
	w.Add(parts...)
	parts[0] = nil
	wantScript(t, h, `>x "a"`, `+ "é"`, `+ "p"`)
}

func TestArtifactFromManyGoroutines(t *testing.T) {
	h := newHost("")
	w := newArtifact(h, "x")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				fmt.Fprintf(w, "%d\n", i)
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil { // the host refuses wrong marks
		t.Fatal(err)
	}
	if len(h.events) != 401 {
		t.Errorf("%d chunks, want 401", len(h.events))
	}
}

// However a byte string is split over writes, the text is that of the whole.
func FuzzArtifactWrite(f *testing.F) {
	f.Add([]byte("plain"), []byte{1, 2})
	f.Add([]byte("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"), []byte{2, 0, 1, 4, 1, 1, 1})
	f.Add([]byte("\xff\xfe\xe2\x82A\xf0\x9f\x98"), []byte{1, 1, 1, 1})
	f.Add([]byte("\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80"), []byte{1, 3})
	f.Add([]byte("\x80\x80\x80\x80\x80"), []byte{})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		h := newHost("")
		w := newArtifact(h, "x")
		rest := data
		for _, c := range cuts {
			n := min(int(c), len(rest))
			if m, err := w.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("Write of %d bytes = %d, %v", n, m, err)
			}
			rest = rest[n:]
		}
		w.Write(rest)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := h.text(t), string([]rune(string(data))); got != want {
			t.Errorf("%q split by %v\n got %q\nwant %q", data, cuts, got, want)
		}
		for i, ev := range h.events {
			if ev.append != (i > 0) || ev.last != (i == len(h.events)-1) {
				t.Errorf("chunk %d of %d: append=%v last=%v", i, len(h.events), ev.append, ev.last)
			}
			if ev.artifact.Parts[0].Text == "" && !ev.last {
				t.Errorf("chunk %d is empty", i)
			}
		}
	})
}

// What a lost attempt left of an artifact is taken up or begun anew, as the
// agent wants.
func TestArtifactResume(t *testing.T) {
	left := func(attempt int) *fakeHost {
		h := newHost("")
		h.attempt = attempt
		h.left = []*a2a.Artifact{
			{ArtifactID: "artifact-7", Parts: []*a2a.Part{a2a.TextPart("another's")}},
			{ArtifactID: "artifact-0", Parts: []*a2a.Part{a2a.TextPart("one"), a2a.TextPart("two")}},
		}
		h.open = map[string]bool{"artifact-0": true, "artifact-7": true}
		return h
	}
	for _, tt := range []struct {
		name    string
		attempt int
		resume  bool
		had     int
		want    []string
	}{
		{"taken up", 2, true, 2, []string{`+ "three"`, `+. "four"`}},
		{"begun anew", 2, false, 0, []string{`>x "three"`, `+. "four"`}},
		{"first attempt", 1, true, 0, []string{`>x "three"`, `+. "four"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := left(tt.attempt)
			w, had := NewTurn(h).Artifact("x"), 0
			if tt.resume {
				had = len(w.Resume())
			}
			if _, err := w.WriteString("three"); err != nil || had != tt.had {
				t.Fatalf("%d parts before, %v", had, err)
			}
			if n := len(w.Resume()); n > 0 {
				t.Errorf("taken up after a write: %d parts", n)
			}
			if err := w.Last(a2a.TextPart("four")); err != nil {
				t.Fatal(err)
			}
			wantScript(t, h, tt.want...)
		})
	}
	h := left(2)
	turn := NewTurn(h)
	turn.Artifact("the first")
	if n := len(turn.Artifact("the second").Resume()); n > 0 {
		t.Errorf("the second artifact has %d parts of another", n)
	}
}
