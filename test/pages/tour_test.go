package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTour: the tour names folders and files that are there, has every room in its
// index, and is short enough to be read in a sitting.
func TestTour(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	walk, index, found := strings.Cut(string(page), "\n## Index of rooms\n")
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
	for _, pattern := range []string{"*", "agent/*", "store/*", "internal/*", "engine/internal/*"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if files, _ := filepath.Glob(dir + "/*.go"); len(files) > 0 && !strings.HasPrefix(dir, "test") && !strings.Contains(index, "`"+dir+"`") && !small[dir] {
				t.Errorf("the index of rooms does not have %s", dir)
			}
		}
	}
}

// small are packages of one purpose that their users' rooms explain.
var small = map[string]bool{
	"internal/contexts": true, "internal/dotenv": true, "internal/wirelog": true, "internal/database": true, "internal/failure": true, "internal/flagvalue": true, "internal/interrupt": true, "internal/keyfile": true,
	"internal/pb": true, "internal/pgtest": true, "internal/plain": true, "store/storetest": true, "bench": true,
}
