package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage: what SECURITY.md says is tested, is.
func TestSecurityPage(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, ".test.js"):
			there[filepath.ToSlash(path)] = true
		case strings.HasSuffix(path, "_test.go"):
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(src, -1) {
				there[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+|[\\w/]+\\.txtar|[\\w/]+\\.test\\.js)`")
	some := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what is checked") {
			continue
		}
		names := named.FindAllStringSubmatch(cells[1], -1)
		if len(names) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range names {
			some++
			if !there[m[1]] {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
	if some < 100 {
		t.Errorf("only %d tests are named: is the page still read as it is written?", some)
	}
}
