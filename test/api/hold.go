package api

import "testing"

// Hold fails a test whose features are not those of a list in dir: one that is gone
// fails always, a new one if the list has to be exact. With update new ones are added
// first.
func Hold(t testing.TB, dir, list string, features []string, update, exact bool) {
	t.Helper()
	if update {
		if err := Update(dir, list, features); err != nil {
			t.Fatal(err)
		}
	}
	gone, added, err := Check(dir, list, features)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range gone {
		t.Errorf("gone or changed: %s\n\tif it must be, add the line with a reason to test/api/%s and an entry to CHANGELOG.md", line, Exceptions)
	}
	for _, line := range added {
		if exact {
			t.Errorf("not in test/api/%s: %s (make api adds it)", list, line)
		} else {
			t.Logf("new: %s", line)
		}
	}
}
