package parts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
)

// build parses a command line of send and makes its parts.
func build(t *testing.T, stdin string, args ...string) ([]*a2a.Part, error) {
	t.Helper()
	var list List
	fs := pflag.NewFlagSet("send", pflag.ContinueOnError)
	list.Register(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return Of(t.Context(), fs.Args(), list, strings.NewReader(stdin))
}

// a2a-cli §10.2: repeatable, order-preserving across flags; a media type binds
// to the part before it.
func TestPartsKeepTheOrderOfTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pdf, bin, doc := file("a.pdf", "%PDF"), file("report", "\x89PNG\r\n\x1a\n"), file("d.json", " {\"n\":10000000000000000001} \n")
	got, err := build(t, "from stdin\n", "--text", "one", "--file", bin, "--media-type", "application/x-report",
		"-", "--data", doc, "--text", "two", "--media-type", "text/markdown", "--file", pdf, "--file", "https://example.com/r.csv?x=1")
	if err != nil {
		t.Fatal(err)
	}
	markdown := a2a.TextPart("two")
	markdown.MediaType = "text/markdown"
	data := a2a.DataPart(a2a.JSON(`{"n":10000000000000000001}`))
	data.MediaType = "application/json"
	want := []*a2a.Part{
		a2a.TextPart("from stdin\n"), // the argument comes first wherever it stands
		a2a.TextPart("one"),
		a2a.RawPart([]byte("\x89PNG\r\n\x1a\n"), "application/x-report", "report"),
		data,
		markdown,
		a2a.RawPart([]byte("%PDF"), "application/pdf", "a.pdf"),
		a2a.URLPart("https://example.com/r.csv?x=1", "text/csv", "r.csv"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPartsInferAMediaTypeOnlyIfNoneIsGiven(t *testing.T) {
	dir := t.TempDir()
	png := filepath.Join(dir, "picture")
	if err := os.WriteFile(png, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := build(t, "", "--file", png, "--file", "file://"+filepath.ToSlash(png), "--file", "https://example.com/", "--text", "x")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, p := range got {
		types = append(types, p.MediaType)
	}
	if diff := cmp.Diff([]string{"image/png", "image/png", "", ""}, types); diff != "" {
		t.Error(diff)
	}
	if got[1].Kind != a2a.PartRaw || got[1].Filename != "picture" {
		t.Errorf("a file: URL became %+v, want the file's bytes", got[1])
	}
}

func TestPartsLeaveBlankTextsOut(t *testing.T) {
	got, err := build(t, "", "", "--text", "", "--file", "parts_test.go", "--text", " x ")
	if err != nil || len(got) != 2 || got[0].Filename != "parts_test.go" || got[1].Text != " x " {
		t.Errorf("%+v, %v, want the file and the text that is one", got, err)
	}
}

func TestPartsRefuse(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing to send", nil, "nothing to send: no message was given"},
		{"an empty argument", []string{""}, "nothing to send: the message is empty"},
		{"a blank argument and text", []string{" ", "--text", "\n"}, "nothing to send: the message is empty"},
		{"a media type with no part before it", []string{"--media-type", "a/b", "--text", "x"}, "behind the --text, --file or --data"},
		{"a media type behind the argument only", []string{"hello", "--media-type", "a/b"}, "behind the --text, --file or --data"},
		{"two media types", []string{"--text", "x", "--media-type", "a/b", "--media-type", "c/d"}, "has a media type already"},
		{"no media type", []string{"--text", "x", "--media-type", "pdf"}, "must be a media type"},
		{"a file that is not there", []string{"--file", "no/such"}, "no such file"},
		{"a directory", []string{"--file", "."}, "directory"},
		{"data that is no JSON", []string{"--data", "parts_test.go"}, "not a JSON document"},
		{"standard input twice", []string{"-", "--data", "-"}, "read by an earlier part"},
		{"a file of another host", []string{"--file", "file://host/x"}, "another host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := build(t, "{}", c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
