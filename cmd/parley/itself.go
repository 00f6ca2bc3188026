package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// itself returns how this program was started, so that the printed commands start it again when
// typed unchanged.
func itself() string {
	at, err := os.Executable()
	if err != nil || len(os.Args) == 0 {
		return "parley"
	}
	name := filepath.Base(os.Args[0])
	if found, err := exec.LookPath(name); err == nil && sameFile(found, at) {
		return plain.Quote(name)
	}
	if byGoRun(at) {
		if _, err := os.Stat(filepath.Join("cmd", "parley", "main.go")); err == nil {
			return "go run ./cmd/parley"
		}
		return "parley"
	}
	return plain.Quote(os.Args[0])
}

// byGoRun reports whether go run made the program at a path. go run keeps binaries in temporary
// folders and in its cache, which may be anywhere, but names each folder by a hash.
func byGoRun(at string) bool {
	dir := filepath.Base(filepath.Dir(at))
	hash, cached := strings.CutSuffix(dir, "-d")
	cached = cached && len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
	return (cached || strings.Contains(filepath.ToSlash(at), "/go-build")) && !strings.HasSuffix(at, ".test")
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
