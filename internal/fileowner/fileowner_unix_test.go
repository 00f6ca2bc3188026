//go:build unix

package fileowner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What root makes in a directory of another user is that user's, and what was there
// before, or is a link to elsewhere, stays whose it is.
func TestRootGivesAwayWhatItMakes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const server = 65534
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, server, server); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{"made": server, "link": 0} {
		for range 2 { // the second time it is there
			f, err := Open(filepath.Join(dir, name), dir, os.O_RDWR)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if owner := info.Sys().(*syscall.Stat_t).Uid; owner != want || info.Mode().Perm() != 0o600 {
				t.Errorf("%s belongs to %d, mode %v", name, owner, info.Mode())
			}
		}
	}
}
