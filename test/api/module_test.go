package api_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/zip"
)

// go install MODULE/cmd/parley@VERSION refuses a module whose go.mod replaces or excludes
// others, and one whose files cannot be a module's zip.
func TestModuleCanBeInstalled(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Module.Mod.Path != module {
		t.Errorf("the module is %s", mod.Module.Mod.Path)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s: go install would refuse the module", r.Old)
	}
	for _, e := range mod.Exclude {
		t.Errorf("go.mod excludes %s: go install would refuse the module", e.Mod)
	}
	if _, err := os.Stat("../../go.work"); err == nil {
		t.Error("go.work is in the repository: it would hide what go.mod lacks")
	}

	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Skip("this is no git checkout: ", err)
	}
	var files []zip.File
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		files = append(files, file(name))
	}
	checked, err := zip.CheckFiles(files)
	if err == nil {
		err = checked.Err()
	}
	if err != nil {
		t.Error(err)
	}
	if len(checked.Valid) < 500 {
		t.Errorf("only %d files are the module's", len(checked.Valid))
	}
}

// file is one of the repository's by its path.
type file string

func (f file) Path() string                 { return string(f) }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join("../..", string(f))) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join("../..", string(f))) }
