package console

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// The browser takes the files that the engine does: those of the card's modes, and of
// its skills'.
func TestAcceptedFiles(t *testing.T) {
	for _, one := range []struct {
		modes, skill []string
		want         string
	}{
		{nil, nil, ""},
		{[]string{"text/plain"}, nil, "text/plain"},
		{[]string{"text/plain; charset=utf-8", "image/PNG"}, nil, "text/plain,image/png"},
		{[]string{"text/plain"}, []string{"image/*", "text/plain"}, "text/plain,image/*"},
		{[]string{"text/plain", "*/*"}, nil, ""},
	} {
		card := &a2a.AgentCard{DefaultInputModes: one.modes, Skills: []*a2a.AgentSkill{{InputModes: one.skill}}}
		if got := accepts(card); got != one.want {
			t.Errorf("with %q and a skill with %q a chat accepts %q, want %q", one.modes, one.skill, got, one.want)
		}
	}
}

// A file is saved under the name that the page shows: one that is turned around would end
// in something else.
func TestFileNamesDoNotMislead(t *testing.T) {
	for name, want := range map[string]string{
		"": "file", "a.png": "a.png", `..\..\a.png`: "a.png", "photo\u202egnp.exe": "photo\uFFFDgnp.exe",
	} {
		if got := fileName(&a2a.Part{Filename: name}); got != want {
			t.Errorf("%q is saved as %q, want %q", name, got, want)
		}
	}
}

// A tree that stops early says so.
func TestTreesSayWhatTheyLeaveOut(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{maxNodes - 1, ""}, {maxNodes, "… and 1 more that is not shown"}, {3 * maxNodes, "… and 4001 more that are not shown"}} {
		doc := "[" + strings.TrimSuffix(strings.Repeat("0,", c.n), ",") + "]"
		page := execute("part", part{Part: a2a.DataPart(a2a.JSON(doc))})
		if says := strings.Contains(page, "not shown"); says != (c.want != "") || !strings.Contains(page, c.want) {
			t.Errorf("the tree of %d values does not end with %q: …%s", c.n, c.want, page[max(0, len(page)-200):])
		}
	}
}

// The page itself has the files of an answer without a task, since no server keeps them. They
// are saved, never opened: at an address of their own they could run.
func TestFilesOfAnswersWithoutATask(t *testing.T) {
	m := &a2a.Message{MessageID: "m", Parts: []*a2a.Part{a2a.RawPart([]byte("hello"), "text/html", "a.html"), a2a.RawPart([]byte("hello"), "image/png", "")}}
	page := execute("talk", exchange(m, m))
	if n := strings.Count(page, `href="data:application/octet-stream;base64,aGVsbG8="`); n != 4 || strings.Contains(page, "/part?") || strings.Contains(page, "text/html") {
		t.Errorf("%d of 4 files can be saved: %s", n, page)
	}
	if !strings.Contains(page, `download="a.html"`) || !strings.Contains(page, `download="file.png"`) {
		t.Errorf("the files have other names: %s", page)
	}
}
