//go:build unix

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// withFiles returns options for files below a folder of the test, and checks in the
// end that nothing is left in it.
func withFiles(t *testing.T) *ExecOptions {
	dir := t.TempDir()
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the folder: %v, %v", left, err)
		}
	})
	return &ExecOptions{Files: true, FilesDir: dir}
}

func filesHost(text string, parts ...*a2a.Part) *fakeHost {
	h := newHost(text)
	if text == "" {
		h.message.Parts = nil
	}
	h.message.Parts = append(h.message.Parts, parts...)
	return h
}

func closes(t *testing.T, c *command) *command {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestExecFilesComeAndGo(t *testing.T) {
	c := closes(t, shell(withFiles(t), `cat; ls "$PARLEY_IN"; cat "$PARLEY_IN/notes.txt"; mkdir "$PARLEY_OUT/sub"
		cp "$PARLEY_IN/x.png" "$PARLEY_OUT/sub/copy.png"; echo '# hi' >"$PARLEY_OUT/a.md"; printf '\377' >"$PARLEY_OUT/b"; ln -s /etc/passwd "$PARLEY_OUT/c"; mkfifo "$PARLEY_OUT/d"`))
	h := filesHost("text\n", a2a.RawPart([]byte("noted\n"), "text/plain", "notes.txt"), a2a.RawPart([]byte("PNG"), "image/png", "../../x.png"))
	if err := runExec(t, t.Context(), c, h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output "text\n"`, `+ "notes.txt\n"`, `+ "x.png\n"`, `+. "noted\n"`,
		`>a.md. raw(232068690a text/markdown a.md)`, `>b. raw(ff application/octet-stream b)`, `>sub/copy.png. raw(504e47 image/png copy.png)`)

	h = filesHost("", a2a.RawPart([]byte("x"), "", ""))
	if err := runExec(t, t.Context(), closes(t, shell(withFiles(t), `cat; ls "$PARLEY_IN"`)), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>output. "file\n"`)

	h = filesHost("", a2a.URLPart("https://example.com/x", "", ""))
	if err := runExec(t, t.Context(), closes(t, shell(withFiles(t), `cat`)), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `rejected "this agent works on text and files; send a message with a text part or a file"`)
}

func TestExecFilesInLines(t *testing.T) {
	c := closes(t, speaker(withFiles(t), `read -r line; cp "$PARLEY_IN/x.png" "$PARLEY_OUT/y.png"
		case $line in *'"url":"file://'"$PARLEY_IN"'/x.png","filename":"x.png","mediaType":"image/png"'*) echo '{"type":"complete","text":"done"}' ;; esac`))
	h := filesHost("text", a2a.RawPart([]byte("PNG"), "image/png", "x.png"))
	if err := runExec(t, t.Context(), c, h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `>y.png. raw(504e47 image/png y.png)`, `completed "done"`)
}

func TestExecBoundsFiles(t *testing.T) {
	for script, want := range map[string]string{
		`cd "$PARLEY_OUT"; touch $(seq 101)`:                                           "the command left more files than the limit of 100",
		`cd "$PARLEY_OUT"; mkdir $(seq 1001)`:                                          "the command left more than 1000 files and folders",
		`cd "$PARLEY_OUT"; for i in 1 2 3 4 5 6 7 8 9; do mkdir x; cd x; done`:         "the command left folders that are more than 8 deep",
		`head -c 17000000 /dev/zero >"$PARLEY_OUT/x"`:                                  "the command left a file larger than the limit of 16777216 bytes",
		`cd "$PARLEY_OUT"; head -c 15000000 /dev/zero >1; cp 1 2`:                      "the command printed more than the limit of 20971520 bytes",
		`cd "$PARLEY_OUT"; mkdir -p x/y; : >x/y/z; chmod 0 x/y x; chmod 500 .; exit 2`: "the command exited with status 2",
		`rm -rf "$PARLEY_OUT" "$PARLEY_IN"; ln -s /etc "$PARLEY_OUT"; kill -9 $$`:      "the command was ended by a signal (killed)",
		`rm -r "$PARLEY_OUT"; ln -s /etc "$PARLEY_OUT"`:                                "the command replaced its folder for files with something else",
	} {
		o := withFiles(t)
		o.MaxOutput = 20 << 20
		wantReason(t, runExec(t, t.Context(), closes(t, shell(o, script)), newHost("x")), want)
	}
}

// What the command puts in place of its folder is not followed out of it.
func TestExecFilesStayInTheirFolder(t *testing.T) {
	h := newHost("x")
	script := `rm -r "$PARLEY_OUT"; mkdir "$PARLEY_IN/secret"; echo hush >"$PARLEY_IN/secret/s"; mkdir "$PARLEY_OUT"; ln -s ../in/secret "$PARLEY_OUT/a"; ln -s ../in/secret/s "$PARLEY_OUT/b"`
	if err := runExec(t, t.Context(), closes(t, shell(withFiles(t), script)), h); err != nil {
		t.Fatal(err)
	}
	if len(h.events) > 0 {
		t.Errorf("emitted %s", h.script())
	}
}

// A command that tidies up, or that the system tidied up after, does its work.
func TestExecFilesAreOnlyMissed(t *testing.T) {
	o := withFiles(t)
	c := closes(t, shell(o, `cat; rm -r "$PARLEY_IN" "$PARLEY_OUT"`))
	for range 2 {
		h := newHost("x")
		if err := runExec(t, t.Context(), c, h); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, `>output. "x"`)
		if err := os.RemoveAll(c.room.base); err != nil { // as systems do with what is old
			t.Fatal(err)
		}
	}
}

func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf": "report.pdf", "../../etc/passwd": "passwd", `C:\x\y.txt`: "y.txt", "": "file", ".": "file", "..": "file", "/": "file",
		"-rf": "_rf", ".bashrc": "_bashrc", "a b;$(c)\n.txt": "a_b___c__.txt", "größe.tar.gz": "größe.tar.gz", "\xff.x": "_.x",
		strings.Repeat("x", 500) + ".pdf": strings.Repeat("x", 116) + ".pdf", strings.Repeat("ü", 500): strings.Repeat("ü", 60),
		"x." + strings.Repeat("y", 500): "x." + strings.Repeat("y", 118),
	} {
		if got := safeName(name); got != want {
			t.Errorf("safeName(%q) = %q, want %q", name, got, want)
		}
	}
	taken := map[string]bool{}
	for _, want := range []string{"x.txt", "X-2.txt", "x-3.txt"} {
		name := "x.txt"
		if want[0] == 'X' {
			name = "X.txt"
		}
		if got := unlike(taken, name); got != want {
			t.Errorf("unlike = %q, want %q", got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"report.pdf", "../x", `a\b`, "-rf", "\x00", strings.Repeat("ü", 100) + ".x", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safeName(name)
		if got == "" || len(got) > 130 || !utf8.ValidString(got) || filepath.Base(got) != got || got == "." || got == ".." || strings.ContainsAny(got, "-."[:1]) && got[0] == '-' || strings.ContainsAny(got, "/\\ \n\x00$`'\"") {
			t.Errorf("safeName(%q) = %q", name, got)
		}
	})
}

// What a killed server left is taken away by the next one; what a living one uses is
// not.
func TestExecTakesAwayFoldersOfTheDead(t *testing.T) {
	dir := t.TempDir()
	living := &fileRoom{dir: dir}
	base, err := living.open()
	if err != nil {
		t.Fatal(err)
	}
	dead := &fileRoom{dir: dir}
	gone, err := dead.open()
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the system does
	unlocked := filepath.Join(dir, roomName+"being-made")
	if err := os.Mkdir(unlocked, 0o700); err != nil {
		t.Fatal(err)
	}
	next := &fileRoom{dir: dir}
	if _, err := next.open(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{base: true, gone: false, unlocked: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	for _, r := range []*fileRoom{living, next} {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}
