package pages

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// translated are sentences that read as translated: their subject is a clause without
// a head, or a word that English uses less.
var translated = regexp.MustCompile(`(^|[.;:] )(Who (has|is|does|wants|cannot|asks|runs|calls|waits|leaves|reads|comes|goes|gets|knows|may|can|writes|takes|sends)\b|who (has|does|wants|cannot|asks|runs|waits|leaves|reads|comes|goes|gets|knows|can|writes|takes|sends)\b|[Ww]hat is [a-z ]+ is )|\b[Ss]uch as (wait|have|are|do)\b|\b[Ll]ikewise\b|keeps nobody|takes nobody`)

// rewritten says where no such sentence is left. The rest of the tree follows.
var rewritten = []string{"SECURITY.md", "docs/postgres.md", "docs/admin-api.md", "docs/observability.md", "docs/operations.md", "docs/scale.md", "docs/webhooks.md", "a2a/", "a2aclient/", "a2aserver/", "agent/", "auth/", "internal/", "store/", "test/"}

// fine are lines that match and may stay.
var fine = map[string]string{
	"auth/doc.go: # Who calls":                                  "a heading",
	"test/pages/words_test.go: translated = regexp.MustCompile": "the pattern itself",
}

// TestWords: comments and pages keep to the words that CONTRIBUTING asks for.
func TestWords(t *testing.T) {
	t.Chdir("../..")
	files, err := exec.Command("git", "ls-files", "*.go", "*.md").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	for _, name := range strings.Fields(string(files)) {
		if !within(name, rewritten) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not committed yet
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(name, ".go") {
				_, comment, found := strings.Cut(line, "//")
				if !found {
					continue
				}
				line = strings.TrimSpace(comment)
			}
			if translated.MatchString(line) && fine[name+": "+line] == "" {
				t.Errorf("%s:%d: a sentence without a subject of its own: %s", name, i+1, line)
			}
		}
	}
}

func within(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
