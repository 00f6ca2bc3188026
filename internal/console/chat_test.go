package console

import (
	"net/url"
	"regexp"
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

// A page shows the beginning of a long text, which would keep a browser busy for minutes,
// and each part is saved from its own address, before and after texts were joined.
func TestPartsAreSavedWhole(t *testing.T) {
	long := strings.Repeat("é", maxText/2+100)
	said := func(id string) *a2a.Message {
		return &a2a.Message{MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("short"), a2a.TextPart(id + long)}}
	}
	s := begun()
	chunk := func(parts ...*a2a.Part) {
		s.add(a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{Append: true, Artifact: &a2a.Artifact{ArtifactID: "x", Parts: parts}}})
	}
	s.add(a2a.Entry{Kind: a2a.EntryMessage, Message: said("m1")})
	chunk(a2a.TextPart("a"), a2a.TextPart(long))
	chunk(a2a.TextPart("b"))
	chunk(a2a.URLPart("https://example.org", "", ""), a2a.TextPart("c"+long), a2a.TextPart("d"), a2a.RawPart([]byte("picture"), "image/png", "e.png"))
	s.add(a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: said("m2")}}})
	page := newSheet(prefixOf("/t") + "flow")
	f := newFlow(page, "/t", "t", "")
	d := &taskData{Address: "/t"}
	l := reading{d: d, artifacts: map[string]*artifact{}}
	f.add(s.entries)
	var task a2a.Task
	for _, e := range s.entries {
		task.Apply(e)
		l.add(e)
	}
	html := page.HTML()
	if n := strings.Count(html, "Save the whole text"); n != 4 || strings.Contains(html, long) || len(html) > 5*maxText {
		t.Errorf("of 4 long texts a page of %d bytes has %d beginnings", len(html), n)
	}
	joined := *task.Snapshot()
	joined.Apply(&a2a.Entry{Kind: a2a.EntryStep, Step: &a2a.Step{Name: a2a.StepJoin + "1 x"}})
	addresses := regexp.MustCompile(`(?:href|src)="(/t/part[^"]+)"`).FindAllStringSubmatch(html, -1)
	for _, p := range d.Artifacts[0].Parts {
		addresses = append(addresses, []string{"", string(p.Href)})
	}
	for _, of := range []*a2a.Task{&task, &joined} {
		var got []string
		for _, a := range addresses {
			u, err := url.Parse(strings.ReplaceAll(a[1], "&amp;", "&"))
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			text := "nothing"
			if file := find(of, q.Get("a"), q.Get("m"), q.Get("n")); file != nil {
				text = strings.ReplaceAll(string(file.Content), long, "+")
			}
			got = append(got, text)
		}
		// A picture is shown from the address that it is saved from.
		if want := "m1+ a+b c+d picture picture m2+ a+b c+d picture"; strings.Join(got, " ") != want {
			t.Errorf("saved are %q, want %q", got, want)
		}
	}
}

// A tree shows a text as it is, and of a long one the beginning.
func TestTextsOfTrees(t *testing.T) {
	page := execute("part", part{Part: a2a.DataPart(a2a.JSON(`{"a":"x < y & z","b":"` + strings.Repeat("b", 2*maxText) + `"}`))})
	if !strings.Contains(page, "x &lt; y &amp; z") || !strings.Contains(page, "… and 256.0 KiB more") {
		t.Errorf("the tree is %.300s", page)
	}
}
