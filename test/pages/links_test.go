package pages

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	anchorJunk = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// TestLinks: every relative link of every page leads to a file of the repository and, if
// it names one, to a heading there. Each page of docs is reached from docs/README.md.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	all := markdown(t)
	tracked := map[string]bool{}
	for _, name := range repository(t) {
		for dir := name; dir != "."; dir = path.Dir(dir) {
			tracked[dir] = true
		}
	}
	anchors := map[string]map[string]bool{}
	for name, text := range all {
		anchors[name] = map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			anchors[name][anchor(m[1])] = true
		}
	}
	next := map[string][]string{}
	for name, text := range all {
		text = inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "`")
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.Scheme != "" || u.Host != "" {
				continue
			}
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			switch page := anchors[to]; {
			case !tracked[to]:
				t.Errorf("%s: there is no %s", name, m[1])
			case u.Fragment != "" && page != nil && !page[u.Fragment]:
				t.Errorf("%s: %s has no heading for %s", name, to, m[1])
			}
			next[name] = append(next[name], to)
		}
	}
	reached := map[string]bool{}
	for queue := []string{"docs/README.md"}; len(queue) > 0; queue = queue[1:] {
		if page := queue[0]; !reached[page] {
			reached[page] = true
			queue = append(queue, next[page]...)
			for name := range all { // a folder shows its pages
				if strings.HasPrefix(name, page+"/") {
					queue = append(queue, name)
				}
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			t.Errorf("no link leads from docs/README.md to %s", name)
		}
	}
}

// anchor is the name that a heading has in a link.
func anchor(heading string) string {
	plain := linkTarget.ReplaceAllString(strings.ReplaceAll(heading, "[", ""), "")
	return strings.ReplaceAll(anchorJunk.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")
}

// unplayed are blocks of commands that no test types, by page and first line, each with
// the reason.
var unplayed = map[string]string{
	"README.md: go run ./cmd/parley serve    # the demo agent; prints what to try next": "make test runs the test that would type it",

	"docs/performance.md: make bench                                   # the short form: does everything still run?": "make test runs its first line; the others take minutes to hours, and nothing else may run",
	"docs/durability.md: make torture                                 # the long form: an hour":                      "takes an hour; make test has the short form",
	"deploy/README.md: export PARLEY_STORE=postgres://parley@db.example.org/parley?sslmode=verify-full":              "the test has a database of its own",
	"docs/first-hour.md: export PARLEY_STORE=postgres://parley@db.example.org/parley":                                "the test has a database of its own",
	"docs/first-hour.md: export PATH=$PWD:$PATH":                                                                     "the test's terminals have it",
	"docs/first-hour.md: sudo install -m 755 parley /usr/local/bin/":                                                 "changes the machine, and wants systemd",
}

// commandLine finds a line that a reader would type.
var commandLine = regexp.MustCompile(`(?m)^(?:\$ |(?:parley|\./parley|go|make|cd|sudo|curl|docker|kubectl|git|npm|python3|export) )`)

// TestCommandBlocks: a reader can type each block of commands as it stands, because
// TestReadmeTranscript or TestFirstHour does: it is a block "console". Others have a
// reason in unplayed.
func TestCommandBlocks(t *testing.T) {
	t.Chdir("../..")
	used := map[string]bool{}
	for name, text := range markdown(t) {
		for _, block := range codeBlock.FindAllString(text, -1) {
			info, body, _ := strings.Cut(strings.TrimLeft(block, " `"), "\n")
			lang, file, _ := strings.Cut(info, " ")
			if lang == "console" || file != "" && lang != "console" || lang != "" && lang != "sh" && lang != "bash" && lang != "shell" || !commandLine.MatchString(body) {
				continue
			}
			first, _, _ := strings.Cut(body, "\n")
			key := name + ": " + first
			if used[key] = true; unplayed[key] == "" {
				t.Errorf("nothing types this block: make it a block console, or say in unplayed why not\n%s", fmt.Sprintf("%q: ", key))
			}
		}
	}
	for key := range unplayed {
		if !used[key] {
			t.Errorf("unplayed has %q, which no page has", key)
		}
	}
}

// markdown returns the pages of the repository, by name.
func markdown(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, name := range repository(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		if text, err := os.ReadFile(name); err == nil { // else deleted, and not committed yet
			all[name] = string(text)
		}
	}
	return all
}

// repository returns the names of its files.
func repository(t *testing.T) []string {
	list, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	return strings.Fields(string(list))
}
