package download

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

func TestNames(t *testing.T) {
	for theirs, want := range map[string]string{
		"report.pdf": "report.pdf", "../../etc/passwd": "passwd", `..\..\x.txt`: "x.txt", "/": "file", "..": "file", ".": "file", "": "file",
		".bashrc": "_bashrc", "...x": "_x", "CON": "_CON", "nul.txt": "_nul.txt", "com1 .log": "_com1 .log", "a:b*c?.md": "a_b_c_.md", "x. . ": "x", "-rf": "_-rf",
		"a\nb\x1b[2Jc": "a bc", "gnp.\u202etxt": "gnp.txt", "zero\u200bwidth": "zerowidth", "日本語.txt": "日本語.txt", " spaced ": "spaced",
	} {
		if got := Name(theirs); got != want {
			t.Errorf("Name(%q) = %q, want %q", theirs, got, want)
		}
	}
	if got := Name(strings.Repeat("é", 300) + ".json"); len(got) > maxName || !strings.HasSuffix(got, "é.json") {
		t.Errorf("a long name became %q", got)
	}
}

func FuzzName(f *testing.F) {
	f.Add("../x")
	f.Add("a/..")
	f.Add("aux.tar.gz")
	f.Fuzz(func(t *testing.T, theirs string) {
		got := Name(theirs)
		stem, _, _ := strings.Cut(strings.ToLower(got), ".")
		if got == "" || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\:\x00\n") || !filepath.IsLocal(got) ||
			strings.HasPrefix(got, ".") || strings.HasSuffix(got, ".") || devices[strings.TrimSpace(stem)] {
			t.Errorf("Name(%q) = %q", theirs, got)
		}
	})
}

func content(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s has %q, %v; want %q", path, got, err, want)
	}
}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	artifacts := []*a2a.Artifact{
		{ArtifactID: "1", Name: "poem", Parts: []*a2a.Part{a2a.TextPart("one "), a2a.TextPart("two"), a2a.DataPart(a2a.JSON(`{"a":1}`))}},
		{ArtifactID: "2", Parts: []*a2a.Part{a2a.RawPart([]byte("x"), "image/png", "../p.png"), a2a.RawPart([]byte("y"), "image/png", "P.png"), a2a.URLPart("https://example.com/r", "", "r")}},
	}
	files := Files(artifacts)
	if err := Save(dir, files, false); err != nil {
		t.Fatal(err)
	}
	content(t, filepath.Join(dir, "poem.txt"), "one two")
	content(t, filepath.Join(dir, "poem.json"), "{\"a\":1}\n")
	content(t, filepath.Join(dir, "p.png"), "x")
	content(t, filepath.Join(dir, "P-2.png"), "y")
	if last := files[len(files)-1]; last.URL != "https://example.com/r" || last.Path != "" {
		t.Errorf("a reference became %+v", last)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 4 {
		t.Errorf("the folder has %v, %v", list, err)
	}

	// Nothing is written if one is there.
	if err := os.Remove(filepath.Join(dir, "poem.txt")); err != nil {
		t.Fatal(err)
	}
	var exists *ExistsError
	if err := Save(dir, Files(artifacts), false); !errors.As(err, &exists) || exists.Device || exists.Path != filepath.Join(dir, "poem.json") {
		t.Errorf("got %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 3 {
		t.Errorf("the folder has %v, %v", list, err)
	}
	if err := Save(dir, Files(artifacts), true); err != nil {
		t.Errorf("with force: %v", err)
	}
}

// A link in the folder leads nowhere, and stays what it is.
func TestSaveDoesNotFollowLinks(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "x")); err != nil {
		t.Skip(err)
	}
	var exists *ExistsError
	err := Save(dir, Files([]*a2a.Artifact{{Parts: []*a2a.Part{a2a.RawPart([]byte("theirs"), "", "x")}}}), true)
	if !errors.As(err, &exists) || !exists.Device {
		t.Errorf("got %v", err)
	}
	content(t, outside, "mine")
}
