package pages

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// untyped are blocks of commands that no test types as they stand, by page and first line,
// each with the reason. TestCommandBlocks looks at their syntax, their targets of make and
// their options of bench; TestPagesCallParley of cmd/parley at their calls of parley.
var untyped = map[string]string{
	"docs/performance.md: make bench":                             "make test runs the scenarios for a moment; the whole takes an hour and an idle machine",
	"docs/conformance-runner.md: - run: ./my-agent --port 8080 &": "GitHub runs it, with the reader's agent; TestConformanceAction runs the action",
}

var (
	// fenced finds a block: how far it is indented, what is behind its fence, and its lines.
	fenced = regexp.MustCompile("(?ms)^( *)```([^\n`]*)\n(.*?)^ *```$")
	// typed are the info strings of blocks that TestReadmeTranscript or TestFirstHour types.
	typed = regexp.MustCompile(`^console( (npm|postgres|systemd))?$`)
	// shell are languages of blocks of commands.
	shell = regexp.MustCompile(`^(console|sh|bash|zsh|shell|terminal|powershell|fish)\b`)
	// commandLine finds a line that a reader would type, in a block of another language or of none.
	commandLine = regexp.MustCompile(`(?m)^ *(?:\$ |(?:- )?run: |(?:sudo )?(?:parley|\./parley|go|make|cd|curl|docker|kubectl|git|npm|npx|node|python3|pip|export|openssl|psql|apt|brew|helm|systemctl|journalctl) )`)
)

// TestCommandBlocks: a test types each block of commands into a shell, because it is a
// block "console" that TestReadmeTranscript or TestFirstHour finds. The few that nobody
// can type there are in untyped.
func TestCommandBlocks(t *testing.T) {
	t.Chdir("../..")
	used := map[string]bool{}
	for name, text := range markdown(t) {
		for _, m := range fenced.FindAllStringSubmatch(text, -1) {
			indent, info, body := m[1], m[2], m[3]
			_, file, _ := strings.Cut(info, " ")
			isShell := shell.MatchString(info)
			switch first, _, _ := strings.Cut(body, "\n"); {
			case indent == "" && typed.MatchString(info):
			case isShell && file != "" && strings.Contains(text, "\n```console"): // a script that typed blocks run
			case isShell || (info == "" || info == "yaml") && commandLine.MatchString(body):
				key := name + ": " + strings.TrimSpace(strings.Split(first, " # ")[0])
				if used[key] = true; untyped[key] == "" {
					t.Errorf("nothing types this block: make it a block console, or say in untyped why not\n%q:", key)
				} else if isShell {
					judgeShell(t, key, body)
				}
			}
		}
	}
	for key := range untyped {
		if !used[key] {
			t.Errorf("untyped has %q, which no page has", key)
		}
	}
}

var (
	makeCall  = regexp.MustCompile(`(?m)^make ([^#\n]*)`)
	benchCall = regexp.MustCompile(`(?m)(?:cd bench && go run \.|BENCH=')([^#\n']*)`)
	flagName  = regexp.MustCompile(`(?:^| )-([a-z]+)`)
)

// judgeShell looks at commands without running them.
func judgeShell(t *testing.T, key, body string) {
	if out, err := exec.Command("bash", "-n", "-c", body).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", key, err, out)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	bench, err := os.ReadFile("bench/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range makeCall.FindAllStringSubmatch(body, -1) {
		for i, word := range strings.Fields(regexp.MustCompile(`'[^']*'`).ReplaceAllString(call[1], "")) {
			variable, _, isVariable := strings.Cut(word, "=")
			if i == 0 && !strings.Contains(string(makefile), "\n"+word+":") || isVariable && !strings.Contains(string(makefile), "$("+variable) && !strings.Contains(string(makefile), variable) {
				t.Errorf("%s: make has no %s", key, word)
			}
		}
	}
	for _, call := range benchCall.FindAllStringSubmatch(body, -1) {
		for _, name := range flagName.FindAllStringSubmatch(call[1], -1) {
			if !strings.Contains(string(bench), `"`+name[1]+`", `) {
				t.Errorf("%s: bench has no option -%s", key, name[1])
			}
		}
	}
}
