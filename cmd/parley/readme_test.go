package main

import (
	"bufio"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts of the documentation with what the commands print")

// TestReadmeTranscript types the console blocks of the README and of the
// documentation, and compares what is printed, apart from ids, times and the
// ports. A block that has the name of a file behind its language is that file.
func TestReadmeTranscript(t *testing.T) {
	for _, name := range []string{"README.md", "docs/operations.md", "docs/agents.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playTranscript(t, filepath.Join("..", "..", name))
		})
	}
}

// leftOut stands for an output that a document does not repeat.
const leftOut = "…\n"

// Programs that some blocks need, as their info string says.
const needsPackages = "npm" // those of interop/js

// wantsPackages is a variable that makes it an error that they are not there.
const wantsPackages = "PARLEY_NEED_NPM"

func playTranscript(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("python3"); err != nil && strings.Contains(string(raw), "python3") {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no python3, in which its examples are written")
	}
	s := newSession(t)
	var out strings.Builder
	inside := false
	name := "" // of the file that a block is
	var content strings.Builder
	lines := strings.SplitAfter(string(raw), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if *update && inside && strings.HasPrefix(line, "$ ") {
			line = uuids.ReplaceAllString(line, s.last) // a command names the newest task
		}
		typed := strings.TrimSpace(strings.TrimPrefix(line, "$ "))
		if *update && inside {
			for before, here := range s.keys {
				line = strings.ReplaceAll(line, before, here)
			}
		}
		out.WriteString(line)
		switch {
		case name != "" && strings.HasPrefix(line, "```"):
			s.write(name, content.String())
			name = ""
		case name != "":
			content.WriteString(line)
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
			if _, needs, _ := strings.Cut(strings.TrimSpace(line), " "); inside && needs == needsPackages && !s.packages() {
				inside = false
			}
			if m := fileBlock.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "```console") {
				name = m[1]
				content.Reset()
			}
		case inside && strings.HasPrefix(line, "$ "):
			var want strings.Builder
			for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") && !strings.HasPrefix(lines[i+1], "```") {
				i++
				want.WriteString(lines[i])
			}
			got := s.enter(typed)
			if want.String() == leftOut {
				out.WriteString(leftOut)
				break
			}
			s.learn(want.String(), got)
			if w, g := s.plain(want.String()), s.plain(got); w != g && !*update {
				t.Errorf("%sprints\n%sthe document says\n%s", line, g, w)
			}
			out.WriteString(s.documented(got))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// session is a shell as far as the README needs one.
type session struct {
	t      *testing.T
	dir    string
	env    []string
	addr   string
	server *exec.Cmd
	others []*exec.Cmd       // more servers, each on an address of its own
	jobs   []*exec.Cmd       // begun with &
	addrs  map[string]string // addresses that are typed, but for the server's → as in this run
	ids    map[string]string // as in the document → as in this run
	keys   map[string]string // the same of API keys
	last   string            // the newest task id
}

func newSession(t *testing.T) *session {
	s := &session{t: t, dir: t.TempDir(), addr: defaultAddress, addrs: map[string]string{}, ids: map[string]string{}, keys: map[string]string{}}
	bin := filepath.Join(t.TempDir(), "parley")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{self: bin, examples: filepath.Join(s.dir, "examples")} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"PATH=" + filepath.Dir(bin) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir}
	t.Cleanup(func() {
		s.kill()
		for _, job := range append(s.jobs, s.others...) {
			_ = job.Process.Kill()
			_ = job.Wait()
		}
	})
	return s
}

// packages puts those of interop/js where npm would, under the names they have
// there, and reports whether there are any.
func (s *session) packages() bool {
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
	own := filepath.Join(s.dir, "node_modules")
	if err := os.MkdirAll(filepath.Join(own, "@a2a-js"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	for name, as := range map[string]string{"sdk-0.3": "@a2a-js/sdk", "express": "express"} {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(own, as)); err != nil {
			s.t.Fatal(err)
		}
	}
	return true
}

func (s *session) kill() {
	if s.server != nil {
		_ = s.server.Process.Kill()
		_ = s.server.Wait()
		s.server = nil
	}
}

// enter runs one line and returns what it prints.
func (s *session) enter(line string) string {
	switch {
	case strings.HasPrefix(line, "go build"), strings.HasPrefix(line, "npm install"):
		return ""
	case strings.HasPrefix(line, "kill -HUP"):
		if err := s.server.Process.Signal(syscall.SIGHUP); err != nil {
			s.t.Fatal(err)
		}
		return ""
	case strings.HasPrefix(line, "kill"), strings.HasSuffix(line, " && kill %1"), strings.HasSuffix(line, "; kill %1"):
		s.kill()
		for _, end := range []string{"kill %1", "kill -9 %1"} {
			line = strings.TrimRight(strings.TrimSuffix(line, end), " &;")
		}
		if line == "" {
			return ""
		}
	case strings.HasPrefix(line, "export "):
		return s.export(strings.TrimPrefix(strings.ReplaceAll(line, defaultAddress, s.addr), "export "))
	case strings.HasPrefix(line, "parley serve"):
		return s.serve(line)
	}
	s.meet(line)
	line = s.translate(strings.ReplaceAll(line, defaultAddress, s.addr))
	line = strings.NewReplacer("stream 60 500", "stream 60 50", "sleep 1;", "sleep 0.02;").Replace(line) // nobody watches
	if begin, ok := strings.CutSuffix(line, " &"); ok {
		job := s.shell("exec " + begin)
		s.jobs = append(s.jobs, job)
		if err := job.Start(); err != nil {
			s.t.Fatal(err)
		}
		return ""
	}
	if rest, ok := strings.CutPrefix(line, "wait %2 && "); ok {
		if err := s.jobs[0].Wait(); err != nil {
			s.t.Errorf("%v: %v", s.jobs[0].Args, err)
		}
		s.jobs, line = s.jobs[1:], rest
	}
	cmd := s.shell(line)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", line, err, out)
	}
	out = impatient.ReplaceAll(out, nil)
	if id := taskID.FindSubmatch(out); id != nil {
		s.last = string(id[1])
	}
	if len(out) == 0 {
		return ""
	}
	return strings.TrimRight(string(out), "\n") + "\n"
}

// export sets a variable to a word of the shell, which may run a command.
func (s *session) export(assignment string) string {
	name, _, _ := strings.Cut(assignment, "=")
	cmd := s.shell(s.translate(assignment) + ` && printf %s "$` + name + `"`)
	var said strings.Builder
	cmd.Stderr = &said
	value, err := cmd.Output()
	if err != nil {
		s.t.Errorf("export %s: %v\n%s", assignment, err, said.String())
	}
	s.env = append(s.env, name+"="+string(value))
	return said.String()
}

// translate is a line with the ids and addresses of this run.
func (s *session) translate(line string) string {
	for document, here := range s.addrs {
		line = strings.ReplaceAll(line, document, here)
		line = strings.ReplaceAll(line, ".py "+port(document), ".py "+port(here))
	}
	for _, ids := range []map[string]string{s.ids, s.keys} {
		for document, here := range ids {
			line = strings.ReplaceAll(line, document, here)
		}
	}
	return line
}

func (s *session) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// serve starts a server in the background, on the session's port from the
// second time on, and returns its banner.
func (s *session) serve(line string) string {
	another := strings.Contains(line, "--listen")
	listen := " --listen 127.0.0.1:0"
	switch {
	case another:
		listen = ""
	case s.addr != defaultAddress:
		listen = " --listen " + s.addr
	}
	s.meet(line)
	line = strings.Replace(strings.ReplaceAll(line, defaultAddress, s.addr), "parley serve", "exec parley serve"+listen, 1)
	cmd := s.shell(s.translate(line))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if another {
		s.others = append(s.others, cmd)
	} else {
		s.server = cmd
	}
	var banner strings.Builder
	for sc := bufio.NewScanner(pipe); sc.Scan(); {
		banner.WriteString(sc.Text() + "\n")
		if strings.Contains(sc.Text(), "Stop") {
			break
		}
	}
	found := address.FindStringSubmatch(banner.String())
	if found == nil {
		s.t.Fatalf("%s printed no address:\n%s", line, banner.String())
	}
	if !another {
		s.addr = found[1]
	}
	return banner.String()
}

// meet gives each address of a line one that is free here. The server's own is
// what it says it is.
func (s *session) meet(line string) {
	at := ports.FindAllString(line, -1)
	for _, alone := range portAlone.FindAllStringSubmatch(line, -1) {
		at = append(at, "127.0.0.1:"+alone[1])
	}
	for _, at := range at {
		if at == defaultAddress || s.addrs[at] != "" {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		s.addrs[at] = l.Addr().String()
		l.Close()
	}
}

// port is that of an address.
func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// write makes a file of the document.
func (s *session) write(name, content string) {
	s.meet(content)
	content = s.translate(strings.ReplaceAll(content, defaultAddress, s.addr))
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil { // a script can be run
		s.t.Fatal(err)
	}
}

// documented is an output as the document has it.
func (s *session) documented(out string) string {
	for document, here := range s.addrs {
		out = strings.ReplaceAll(out, here, document)
	}
	return strings.ReplaceAll(out, s.addr, defaultAddress)
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	taskID = regexp.MustCompile(`Task ID: (\S+)`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	keyIDs = regexp.MustCompile(`(?m)^Key: ([a-z2-7]{10})$`)
	ports  = regexp.MustCompile(`127\.0\.0\.1:\d+`)

	impatient = regexp.MustCompile(`(?m)^Note: waiting for task .*\n`) // a machine that is slow today
	portAlone = regexp.MustCompile(`\.py (\d+)\b`)                     // programs of examples get one
	fileBlock = regexp.MustCompile("^```\\w+ (\\S+)\n$")
)

// learn matches what names the same in both outputs.
func (s *session) learn(document, here string) {
	s.match(document, here, uuids, s.ids)
	s.match(document, here, keyIDs, s.keys)
}

// match takes the ids that a pattern finds as the same, in their order.
func (s *session) match(document, here string, pattern *regexp.Regexp, ids map[string]string) {
	mine := pattern.FindAllStringSubmatch(here, -1)
	for i, found := range pattern.FindAllStringSubmatch(document, -1) {
		if id := found[len(found)-1]; i < len(mine) && ids[id] == "" {
			ids[id] = mine[i][len(found)-1]
		}
	}
}

// plain is an output without what differs from run to run.
func (s *session) plain(out string) string {
	out = s.translate(out)
	return ports.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "ADDRESS")
}

// defaultAddress is where the README's server listens.
const defaultAddress = "127.0.0.1:7275"
