package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of docs/compatibility.md names files that hold it, and they are there.
func TestPromisesNameTheirTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(page))); n > 500 {
		t.Errorf("the page has %d words: 500 at most", n)
	}
	rows := regexp.MustCompile(`(?m)^\| .* \|$`).FindAllString(string(page), -1)
	if len(rows) < 8 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		named := 0
		for _, m := range regexp.MustCompile("`([a-z0-9_./]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1) {
			name := filepath.Join("../..", m[1])
			if m[1] == "schema_test.go" {
				name = "../../store/sqlite/schema_test.go"
			}
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
			named++
		}
		if named == 0 {
			t.Errorf("no test holds: %s", row)
		}
	}
}
