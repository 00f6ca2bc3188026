package sqlite

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// However deep a page is and however a list is filtered, reading it scans one range of one
// index, in the order of the list, and its total scans another range or comes from a tally.
// Only small contexts are searched for a state.
func TestPlansOfLists(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	used(t, st)
	c, err := st.readers.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.readers.put(c)
	index := map[string]string{
		"task_updated": "task USING INDEX task_updated (tenant=? AND owner=?", "task_state": "task USING INDEX task_state (tenant=? AND owner=? AND state=?",
		"task_context": "task USING INDEX task_context (tenant=? AND owner=? AND context=?", "member": "member USING PRIMARY KEY (scope=? AND kind=?",
	}
	pages, totals := map[string]int{}, 0
	for sql := range c.stmts {
		steps := plan(t, c, sql)
		if strings.Contains(sql, "WITH RECURSIVE") { // of any owner
			continue
		}
		at := ""
		if strings.Contains(sql, "updated >= ?") || strings.Contains(sql, "at >= ?") {
			at = " AND updated>?"
		}
		switch {
		case strings.HasSuffix(sql, " DESC LIMIT ?"):
			by := "member"
			if _, rest, is := strings.Cut(sql, "INDEXED BY "); is {
				by, _, _ = strings.Cut(rest, " ")
			}
			if strings.Contains(sql, ", id) <") || strings.Contains(sql, ", name) <") {
				at += " AND (updated,id)<(?,?)"
			}
			pages[by]++
			want := "SEARCH " + index[by] + at + ")"
			if by == "member" {
				want = strings.NewReplacer("updated", "at", "id)", "name)").Replace(want)
			}
			if !strings.HasPrefix(steps, want) || strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("%s\n\tnot by %s:\n%s", sql, want, steps)
			}
		case strings.Contains(sql, "count(*)"):
			totals++
			if !strings.Contains(steps, "COVERING INDEX task_") && !strings.Contains(steps, "SEARCH member USING PRIMARY KEY (scope=? AND kind=? AND at>? AND at<?)") || strings.Contains(sql, "at < ?") && !strings.Contains(steps, ">? AND ") {
				t.Errorf("%s\n\tis counted:\n%s", sql, steps)
			}
		case strings.Contains(sql, "sum(n)"):
			totals++
			if !strings.Contains(steps, "USING PRIMARY KEY (scope=?") {
				t.Errorf("%s\n\tis added up:\n%s", sql, steps)
			}
		}
	}
	if want := map[string]int{"task_updated": 8, "task_state": 8, "task_context": 12, "member": 8}; !maps.Equal(pages, want) || totals < 13 {
		t.Errorf("pages by %v, want %v; %d totals", pages, want, totals)
	}
}
