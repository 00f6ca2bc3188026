package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/test/fixtures"
)

// tutorials is the page of TestFirstHour.
const tutorials = "docs/first-hour.md"

// pages returns those that have console blocks. Each is played from its first block to
// the last.
func pages(t *testing.T) (played []string) {
	for _, name := range listed(t, "*.md") {
		page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err == nil && name != tutorials && strings.Contains(string(page), "\n```console") { // else deleted, and not yet committed
			played = append(played, name)
		}
	}
	if !slices.Contains(played, "README.md") {
		t.Errorf("README.md has no console block; these have: %v", played)
	}
	return played
}

// TestReadmeTranscript types the console blocks of the README and of the
// documentation into a real shell on a terminal, and compares what is shown there,
// apart from ids, times, the ports that the system chose and what the shell says of
// its jobs. A block whose commands serve goes into the first shell, every other into
// the second, as the pages say; a line "^C" is that key in the first. A block that has
// the name of a file behind its language is that file.
func TestReadmeTranscript(t *testing.T) {
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "README.md" {
				t.Skip("the short form has README.md alone")
			}
			t.Parallel()
			playTranscript(t, filepath.Join("..", "..", filepath.FromSlash(name)))
		})
	}
}

// TestFirstHour types the journeys of docs/first-hour.md, each with a copy of the
// repository, shells and a machine of its own.
func TestFirstHour(t *testing.T) {
	file := filepath.Join("..", "..", filepath.FromSlash(tutorials))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitAfter(string(raw), "\n## ") // the first one says how to read the others
	if len(parts) < 2 {
		t.Fatal("there are no journeys")
	}
	t.Run("journeys", func(t *testing.T) {
		for i, part := range parts[1:] {
			title, _, _ := strings.Cut(part, "\n")
			t.Run(title, func(t *testing.T) {
				if testing.Short() {
					t.Skip("the short form has README.md alone")
				}
				t.Parallel()
				parts[i+1] = play(t, part)
			})
		}
	})
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(parts, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// leftOut stands for an output that a document does not repeat.
const leftOut = "…\n"

// Programs that some blocks need, as their info string says.
const (
	needsPackages = "npm"      // those of interop/js
	needsDatabase = "postgres" // a PostgreSQL server
	needsSystemd  = "systemd"  // a machine to install on
)

// wantsPackages is a variable that makes it an error that they are not there.
const wantsPackages = "PARLEY_NEED_NPM"

var (
	console   = regexp.MustCompile("^```console(?: (\\w+))?\n$")
	fileBlock = regexp.MustCompile("^```\\w+ (\\S+)\n$")
	// What runs until somebody stops it, and shows this when it is up.
	serving   = regexp.MustCompile(`^(?:\S+=\S+ )*(?:\./parley|parley|go run \./cmd/parley) serve\b[^&]*$|^go run \./hello$`)
	bannerEnd = `^(?:  Stop  |greeter is at )`
)

func playTranscript(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text := play(t, string(raw)); *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// play types a page and returns it as it should be.
func play(t *testing.T, page string) string {
	for _, tool := range []string{"python3", "openssl", "curl"} {
		if _, err := exec.LookPath(tool); err != nil && strings.Contains(page, tool) {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip("the page needs ", tool, ": ", err)
		}
	}
	s := newSession(t)
	lines := strings.SplitAfter(page, "\n")
	var out []string
	for len(lines) > 0 {
		line := lines[0]
		out, lines = append(out, line), lines[1:]
		end := slices.Index(lines, "```\n")
		if end < 0 {
			continue
		}
		if m := console.FindStringSubmatch(line); m != nil {
			if s.has(m[1]) {
				out = append(out, s.play(lines[:end])...)
			} else {
				out = append(out, lines[:end]...)
			}
			out, lines = append(out, lines[end]), lines[end+1:]
			continue
		}
		if m := fileBlock.FindStringSubmatch(line); m != nil {
			s.write(m[1], strings.Join(lines[:end], ""))
		}
		if strings.HasPrefix(line, "```") {
			out, lines = append(out, lines[:end+1]...), lines[end+1:]
		}
	}
	return strings.Join(out, "")
}

// session is a reader of a page who uses two terminals.
type session struct {
	t      *testing.T
	dir    string
	first  *fixtures.Terminal // for what serves
	second *fixtures.Terminal
	serves string            // the command that serves in the first; "" if none does
	ids    map[string]string // as in the document → as in this run
	last   string            // the newest task id

	third func() *fixtures.Terminal // opens one more terminal

	bin   string // the first folder of the PATH
	store string // the database that pages name as sampleStore; "" if none
}

// compiled is done once the packages of the program are in the go command's cache. A
// terminal waits some minutes for what is typed into it, and an empty cache on a busy
// machine takes longer to fill.
var compiled sync.Once

func newSession(t *testing.T) *session {
	s := &session{t: t, dir: checkout(t), ids: map[string]string{}}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	m := fixtures.NewMachine(t, s.dir, root) // at its own place the go command knows what it has compiled
	flags := "-mod=readonly -ldflags=-s"     // nobody debugs it
	if slices.Contains(strings.Fields(os.Getenv("GOFLAGS")), "-trimpath") {
		flags += " -trimpath" // what the checks have compiled is not compiled again
	}
	env := []string{"HOME=" + t.TempDir(), noLinger + "=atexit_sleep_ms=0", "GOFLAGS=" + flags, "GOPROXY=off"}
	goEnv, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Fields(string(goEnv)) {
		env = append(env, []string{"GOCACHE", "GOMODCACHE", "GOROOT"}[i]+"="+value)
	}
	compiled.Do(func() {
		list := exec.Command("go", "list", "-export", "-f", "", "./cmd/parley")
		list.Dir, list.Env = root, append(os.Environ(), env...)
		if out, err := list.CombinedOutput(); err != nil {
			t.Fatalf("compile the program: %v\n%s", err, out)
		}
	})
	s.bin = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(s.bin, "parley")); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+s.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s.third = func() *fixtures.Terminal { return m.NewTerminal(root, env) }
	s.first, s.second = s.third(), s.third()
	return s
}

// judging matches the part of a clone that only tests use: no command on a page reads it, and
// it is half of the files.
var judging = regexp.MustCompile(`^(test|bench|interop)/|/testdata/|_test\.go$`)

// checkout copies the present files of this repository's clone, except those for tests.
func checkout(t *testing.T) string {
	t.Helper()
	root, dir := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "parley")
	for _, name := range listed(t) {
		if judging.MatchString(name) {
			continue
		}
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		st, err := os.Lstat(from)
		if err != nil || !st.Mode().IsRegular() {
			continue // deleted, and not yet committed
		}
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, st.Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// play types the commands of a block and returns it as it should be.
func (s *session) play(block []string) (out []string) {
	at := s.second
	for _, line := range block {
		if command, ok := strings.CutPrefix(line, "$ "); ok && serving.MatchString(strings.TrimSpace(command)) {
			at = s.first
		}
	}
	for len(block) > 0 {
		line := block[0]
		block = block[1:]
		if line == "^C\n" {
			s.first.Type("\x03")
			shown, code := s.first.Prompt()
			if byGo := strings.HasPrefix(s.serves, "go run "); code != 0 && !byGo || byGo && !strings.HasSuffix(strings.TrimSuffix(strings.TrimSpace(shown), "stopped"), "^C") { // go itself exits with 1
				s.t.Errorf("Ctrl-C ends %s with exit code %d:\n%s", s.serves, code, shown)
			}
			s.serves = ""
			out = append(out, line)
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			s.t.Fatalf("%q is no command", line)
		}
		if *update {
			line = uuids.ReplaceAllString(line, s.last) // a command names the newest task
			for before, here := range s.ids {
				line = strings.ReplaceAll(line, before, here)
			}
			command, _ = strings.CutPrefix(line, "$ ")
		}
		next := slices.IndexFunc(block, func(line string) bool { return strings.HasPrefix(line, "$ ") || line == "^C\n" })
		if next < 0 {
			next = len(block)
		}
		want := strings.Join(block[:next], "")
		block = block[next:]
		got := s.enter(at, strings.TrimSpace(command))
		if want == leftOut {
			out = append(out, line, leftOut)
			continue
		}
		s.learn(want, got)
		if w, g := s.plain(want), s.plain(got); w != g && !*update {
			s.t.Errorf("%sshows\n%s\nthe document says\n%s", line, g, w)
		}
		out = append(out, line, strings.TrimSuffix(got, "\n")+"\n")
		if got == "" {
			out = out[:len(out)-1]
		}
	}
	return out
}

// enter types one line and returns what the terminal shows then.
func (s *session) enter(at *fixtures.Terminal, line string) string {
	line = s.translate(line)
	if s.store != "" {
		line = sampleStore.ReplaceAllLiteralString(line, "'"+s.store+"'")
	}
	if strings.HasPrefix(line, "export PARLEY_STORE=") {
		s.first.Run(line) // pages say: in both
	}
	if at == s.first && s.serves != "" { // until it was killed
		at.Prompt()
		s.serves = ""
	}
	var shown string
	switch {
	case strings.HasPrefix(line, "npm install"):
		return "" // they are there
	case serving.MatchString(line):
		shown, s.serves = at.Start(line, bannerEnd), line
	default:
		code := 0
		if shown, code = at.Run(line); code != 0 {
			s.t.Errorf("%s: exit code %d\n%s", line, code, shown)
		}
	}
	shown = noise.ReplaceAllString(shown, "")
	if id := shownTask.FindStringSubmatch(shown); id != nil {
		s.last = id[1]
	}
	return shown
}

// packages puts those of interop/js where npm would, under the names they have
// there, and reports whether there are any.
func (s *session) packages() bool {
	own := filepath.Join(s.dir, "node_modules")
	if _, err := os.Stat(own); err == nil {
		return true
	}
	from, err := filepath.Abs(filepath.Join("..", "..", "interop", "js", "node_modules"))
	if err != nil {
		s.t.Fatal(err)
	}
	if dir := os.Getenv(wantsPackages); dir != "" {
		from = dir
	}
	if _, err := os.Stat(filepath.Join(from, "sdk-0.3")); err != nil {
		if os.Getenv(wantsPackages) != "" {
			s.t.Fatal(err)
		}
		s.t.Log("the packages of interop/js are not there: what needs them is not played")
		return false
	}
	// As a copy: the machine of the test has the page's directory at the place of this one.
	if err := os.CopyFS(own, os.DirFS(from)); err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(own, "@a2a-js"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(own, "sdk-0.3"), filepath.Join(own, "@a2a-js", "sdk")); err != nil {
		s.t.Fatal(err)
	}
	return true
}

// has reports whether what a block needs is there, and sets it up.
func (s *session) has(need string) bool {
	switch need {
	case "":
		return true
	case needsPackages:
		return s.packages()
	case needsDatabase:
		return s.database()
	case needsSystemd:
		s.systemd()
		return true
	}
	s.t.Fatalf("no block can need %q", need)
	return false
}

// sampleStore is the address of a database on the pages.
var sampleStore = regexp.MustCompile(`postgres://parley@db\.example\.org/parley(?:\?sslmode=verify-full)?`)

// database makes a PostgreSQL database with nothing in it, and reports whether it could.
// The database is reached over a socket: the machine of the test has a network of its own.
func (s *session) database() bool {
	if s.store != "" {
		return true
	}
	if err := pgtest.Available(); err != nil && os.Getenv("CI") != "true" {
		s.t.Log("what needs a database is not played: ", err)
		return false
	}
	s.store = pgtest.New(s.t, nil).Database(s.t)
	return true
}

// systemctl stands in for systemd's: it runs a unit's command without a terminal and
// without the caller's environment, until its banner is there.
const systemctl = `#!/bin/sh
[ "$# $1 $2" = "3 enable --now" ] || exit 2
unit=/etc/systemd/system/$3.service
if command -v systemd-analyze >/dev/null; then systemd-analyze verify "$unit" || exit 1; fi
mkfifo "$0.journal"
env -i $(sed -n 's/^ExecStart=//p' "$unit") </dev/null >"$0.journal" 2>&1 &
exec 3<"$0.journal"
grep -q -m1 '^  Stop ' <&3 || exit 1
cat <&3 >/dev/null &
`

// systemd gives the machine folders of its own where the pages install, and what runs there.
func (s *session) systemd() {
	if _, err := os.Stat(filepath.Join(s.bin, "systemctl")); err == nil {
		return
	}
	own, built := s.t.TempDir(), filepath.Join(s.dir, "parley") // as an earlier tutorial built it
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, built)
	}
	for name, script := range map[string]string{"sudo": "#!/bin/sh\nexec \"$@\"\n", "systemctl": systemctl} {
		if err == nil {
			err = os.WriteFile(filepath.Join(s.bin, name), []byte(script), 0o755)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	said, code := s.second.Run("cd " + own + " && mkdir bin lib && { cp -a /etc etc 2>/dev/null; true; } && mount --bind etc /etc && mount --bind bin /usr/local/bin && mount --bind lib /var/lib && cd - >/dev/null")
	if code != 0 {
		s.t.Fatal(said)
	}
}

// write makes a file of the document.
func (s *session) write(name, content string) {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// translate is a line with the ids of this run.
func (s *session) translate(line string) string {
	for document, here := range s.ids {
		line = strings.ReplaceAll(line, document, here)
	}
	return line
}

var (
	shownTask = regexp.MustCompile(`(?i)\btask (?:id: )?(` + uuids.String() + `)`)
	ages      = regexp.MustCompile(`\b\d+[smh] ago +`)
	shortIDs  = regexp.MustCompile(`(?m)^[0-9a-f]{8}(?:-[0-9a-f]+)?  `)

	keyIDs = regexp.MustCompile(`(?m)^Key: ([a-z2-7]{10})$`)
	ports  = regexp.MustCompile(`127\.0\.0\.1:[1-9]\d{4}\b`) // that the system chose

	// What the shell says of its jobs, and the program when something takes long.
	noise = regexp.MustCompile(`(?m)^(?:\[\d+\][ +-].*|(?:Note: waiting for|working ·) task .*)\n`)
)

// learn matches what names the same in both outputs.
func (s *session) learn(document, here string) {
	s.match(document, here, uuids)
	s.match(document, here, keyIDs)
}

// match takes the ids that a pattern finds as the same, in their order.
func (s *session) match(document, here string, pattern *regexp.Regexp) {
	mine := pattern.FindAllStringSubmatch(here, -1)
	for i, found := range pattern.FindAllStringSubmatch(document, -1) {
		if id := found[len(found)-1]; i < len(mine) && s.ids[id] == "" {
			s.ids[id] = mine[i][len(found)-1]
		}
	}
}

// plain is an output without what differs from run to run.
func (s *session) plain(out string) string {
	out = ages.ReplaceAllString(shortIDs.ReplaceAllString(s.translate(out), "ID  "), "AGO ")
	return strings.TrimRight(ports.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "ADDRESS"), "\n")
}
