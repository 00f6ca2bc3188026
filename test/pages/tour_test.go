package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTour: the tour names folders and files that are there, and is short enough to be
// read in a sitting. That it has every room in its index is for arch_test.go.
func TestTour(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	walk, _, found := strings.Cut(string(page), "\n## Index of rooms\n")
	if !found {
		t.Fatal("there is no index of rooms")
	}
	if n := len(strings.Fields(walk)); n >= 1500 {
		t.Errorf("the walk has %d words, want fewer than 1,500", n)
	}
	for _, m := range regexp.MustCompile("`([\\w./-]+)`").FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		if !strings.Contains(name, "/") && !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "/") {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			t.Errorf("the tour names %s: %v", name, err)
		}
	}
}
