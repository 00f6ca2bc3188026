package transcripts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every row of the seeds is in the index, with transcripts that say its number
// or a reason why there is none.
func TestSeedsAreCovered(t *testing.T) {
	const root = "../../testdata/wire"
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	about := map[string][]string{} // the words of what a file shows
	for _, f := range files {
		about[f.Name] = strings.FieldsFunc(f.About, func(c rune) bool { return strings.ContainsRune(" ,;:.()\n", c) })
	}
	index, err := os.ReadFile(root + "/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(index)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		row := words[0]
		switch {
		case rows[row]:
			t.Errorf("%s is there twice", row)
		case len(words) < 2 || words[1] == "-" && len(words) < 3:
			t.Errorf("%s has neither a transcript nor a reason", row)
		}
		rows[row] = true
		for _, name := range words[1:] {
			if name == "-" {
				break
			}
			switch says, ok := about[name]; {
			case !ok:
				t.Errorf("%s: there is no transcript %s", row, name)
			case !slices.Contains(says, row):
				t.Errorf("%s does not say that it shows %s", name, row)
			}
		}
	}
	for seed, n := range map[string]int{"000-": 9, "001-": 24, "002-": 10, "004-": 41, "C": 16} {
		for i := 1; i <= n; i++ {
			if row := fmt.Sprint(seed, i); !rows[row] {
				t.Errorf("%s is missing", row)
			}
			delete(rows, fmt.Sprint(seed, i))
		}
	}
	for row := range rows {
		t.Errorf("there is no row %s", row)
	}
}
