//go:build unix

package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func (k tools) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// says sends a text to an agent and wants its answer.
func (k tools) says(t *testing.T, agent, text, want string) {
	t.Helper()
	out, errs, code := k.run(t, "send", "-a", agent, text)
	if code != 0 || !strings.Contains(out, "Text:\n"+want+"\n") {
		t.Errorf("%s answers %s with\n%s%s", agent, text, out, errs)
	}
}

// SIGHUP reads the file anew: agents come, go and change at once, and what runs
// ends as it began. A file that cannot be used changes nothing.
func TestHangupReplacesAgents(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	const before = `version: 1
agents:
  slow:
    default: true
    exec: {command: [sh, -c, 'touch begun; until [ -e go ]; do sleep 0.02; done; echo old']}
  goes:
    exec: {command: [echo, going]}
  stays:
    exec: {command: [sh, -c, 'read -r m; while read -r l; do :; done; echo "{}"'], mode: lines, processes: 1}
`
	k.write(t, "parley.yaml", before)
	s := k.serve(t, "", "--audit-log", "audit.jsonl")
	k.says(t, s.addr+"/agents/goes", "x", "going")
	out, _, _ := k.run(t, "send", "-a", s.addr, "--async", "x")
	id := taskID.FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	<-comes(t, filepath.Join(k.dir, "begun"))

	k.write(t, "parley.yaml", strings.NewReplacer("touch begun; until [ -e go ]; do sleep 0.02; done; echo old", "echo new", "goes:", "comes:", "going", "coming").Replace(before))
	s.tell(syscall.SIGHUP)
	begun := s.await(&s.err, `msg=reloaded because=SIGHUP agents=3 begun="(.*)"$`)
	if !strings.Contains(begun, "slow") || !strings.Contains(begun, "comes") || strings.Contains(begun, "stays") {
		t.Errorf("begun anew: %s", begun)
	}
	k.says(t, s.addr, "x", "new")
	k.says(t, s.addr+"/agents/slow", "x", "new")
	k.says(t, s.addr+"/agents/comes", "x", "coming")
	resp, err := http.Get("http://" + s.addr + "/agents/goes/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an agent that is gone answers %s", resp.Status)
	}
	k.write(t, "go", "")
	if out, _, _ := k.run(t, "task", "get", "-a", s.addr, "--wait", id[1]); !strings.Contains(out, "Text:\nold\n") {
		t.Errorf("a task that was under way ends with\n%s", out)
	}

	k.write(t, "parley.yaml", "version: 1\nlisten: 127.0.0.1:1\nagents:\n  slow:\n    exek: {command: [echo]}\n")
	s.tell(syscall.SIGHUP)
	if why := s.await(&s.err, `msg="not reloaded: the previous settings stay in force" because=SIGHUP error=(.*)$`); !strings.Contains(why, "parley.yaml:5:5: ") {
		t.Errorf("the reason has no place: %s", why)
	}
	k.says(t, s.addr, "x", "new")

	// Changes that need a restart are named.
	k.write(t, "parley.yaml", strings.Replace(before, "version: 1", "version: 1\nretention: {completed: 24h}", 1))
	s.tell(syscall.SIGHUP)
	s.await(&s.err, `take effect at the next start" settings=retention$`)

	audit, err := os.ReadFile(filepath.Join(k.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(audit), `"event":"config.reloaded"`); n != 3 || strings.Count(string(audit), `"error":"`) != 1 {
		t.Errorf("the audit log has %d records of it:\n%s", n, audit)
	}
	s.tell(syscall.SIGTERM)
	if code := s.exit(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
}

// With --reload a program that stays is begun anew when one of its files changes.
func TestChangedFilesReplaceAProgram(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	const agent = `#!/bin/sh
while read -r line; do
	case $line in *'"type":"message"'*) ;; *) continue ;; esac
	task=${line#*\"task\":\"}; task=${task%%\"*}
	echo '{"type":"complete","task":"'$task'","text":"first"}'
done
`
	k.write(t, "agent.sh", agent)
	s := k.serve(t, "", "--reload", "--lines", "--processes", "1", "--", "./agent.sh")
	k.says(t, s.addr, "x", "first")
	k.write(t, "agent.sh", strings.Replace(agent, "first", "the second", 1))
	s.await(&s.err, `msg=reloaded because="agent.sh changed"`)
	k.says(t, s.addr, "x", "the second")
	// One that cannot be run is not taken.
	if err := os.Remove(filepath.Join(k.dir, "agent.sh")); err != nil {
		t.Fatal(err)
	}
	s.await(&s.err, `msg="not reloaded: the previous settings stay in force" because="agent.sh changed" error=.*not found`)
	k.says(t, s.addr, "x", "the second")
}

// An agent that is not there when its proxy starts is asked until it is; then the
// card is its own.
func TestWhatIsBehindComesLater(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	s := k.serve(t, "", "--proxy", "http://"+at)
	s.await(&s.err, `^Card: it is not known yet, because the service behind the agent does not answer: `)
	behind := newTools(t)
	behind.serve(t, "", "--listen", at)
	s.await(&s.err, `msg="the card of a service behind an agent has changed" agent="agent at `+at+`" name="Parley demo"`)
	if out, _, _ := k.run(t, "card", "get", "-a", s.addr); !strings.Contains(out, "Name: Parley demo\n") || !strings.Contains(out, "Skill: echo Echo\n") {
		t.Errorf("the card is\n%s", out)
	}
	k.says(t, s.addr, "echo hello", "hello")
}
