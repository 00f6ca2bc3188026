package pages

import (
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
