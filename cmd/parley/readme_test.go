package main

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the README's transcript with what the commands print")

// TestReadmeTranscript types the README's console blocks and compares what is
// printed, apart from ids, times and the port.
func TestReadmeTranscript(t *testing.T) {
	const readme = "../../README.md"
	raw, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	var out strings.Builder
	inside := false
	lines := strings.SplitAfter(string(raw), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if *update && inside && strings.HasPrefix(line, "$ ") {
			line = uuids.ReplaceAllString(line, s.last) // a command names the newest task
		}
		out.WriteString(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
		case inside && strings.HasPrefix(line, "$ "):
			var want strings.Builder
			for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") && !strings.HasPrefix(lines[i+1], "```") {
				i++
				want.WriteString(lines[i])
			}
			got := s.enter(strings.TrimSpace(line[2:]))
			s.learn(want.String(), got)
			if w, g := s.plain(want.String()), s.plain(got); w != g && !*update {
				t.Errorf("%sprints\n%sthe README says\n%s", line, g, w)
			}
			out.WriteString(strings.ReplaceAll(got, s.addr, defaultAddress))
		}
	}
	if *update {
		if err := os.WriteFile(readme, []byte(out.String()), 0o644); err != nil {
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
	jobs   []*exec.Cmd       // begun with &
	ids    map[string]string // as in the README → as in this run
	last   string            // the newest task id
}

func newSession(t *testing.T) *session {
	s := &session{t: t, dir: t.TempDir(), addr: defaultAddress, ids: map[string]string{}}
	bin := filepath.Join(t.TempDir(), "parley")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"PATH=" + filepath.Dir(bin) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir}
	t.Cleanup(func() {
		s.kill()
		for _, job := range s.jobs {
			_ = job.Process.Kill()
			_ = job.Wait()
		}
	})
	return s
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
	case strings.HasPrefix(line, "go build"):
		return ""
	case strings.HasPrefix(line, "kill"):
		s.kill()
		return ""
	case strings.HasPrefix(line, "export "):
		s.env = append(s.env, strings.TrimPrefix(strings.ReplaceAll(line, defaultAddress, s.addr), "export "))
		return ""
	case strings.HasPrefix(line, "parley serve"):
		return s.serve(line)
	}
	for readme, here := range s.ids {
		line = strings.ReplaceAll(line, readme, here)
	}
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
	if id := taskID.FindSubmatch(out); id != nil {
		s.last = string(id[1])
	}
	if len(out) == 0 {
		return ""
	}
	return strings.TrimRight(string(out), "\n") + "\n"
}

func (s *session) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// serve starts a server in the background, on the session's port from the
// second time on, and returns its banner.
func (s *session) serve(line string) string {
	listen := "127.0.0.1:0"
	if s.addr != defaultAddress {
		listen = s.addr
	}
	line = strings.Replace(line, "parley serve", "exec parley serve --listen "+listen, 1)
	s.server = s.shell(line)
	pipe, err := s.server.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.Start(); err != nil {
		s.t.Fatal(err)
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
	s.addr = found[1]
	return banner.String()
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	taskID = regexp.MustCompile(`Task ID: (\S+)`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	ports  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// learn matches the ids of both outputs, in their order.
func (s *session) learn(readme, here string) {
	mine := uuids.FindAllString(here, -1)
	for i, id := range uuids.FindAllString(readme, -1) {
		if i < len(mine) && s.ids[id] == "" {
			s.ids[id] = mine[i]
		}
	}
}

// plain is an output without what differs from run to run.
func (s *session) plain(out string) string {
	for readme, here := range s.ids {
		out = strings.ReplaceAll(out, readme, here)
	}
	return ports.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "ADDRESS")
}

// defaultAddress is where the README's server listens.
const defaultAddress = "127.0.0.1:7275"
