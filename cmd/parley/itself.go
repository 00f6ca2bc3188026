package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// itself returns how this program was started, so that the commands it prints start
// it again when they are typed as they are.
func itself() string {
	at, err := os.Executable()
	if err != nil || len(os.Args) == 0 {
		return "parley"
	}
	name := filepath.Base(os.Args[0])
	if found, err := exec.LookPath(name); err == nil && sameFile(found, at) {
		return plain.Quote(name)
	}
	if strings.Contains(filepath.ToSlash(at), "/go-build") && !strings.HasSuffix(at, ".test") { // by go run, which keeps the binary for itself
		if _, err := os.Stat(filepath.Join("cmd", "parley", "main.go")); err == nil {
			return "go run ./cmd/parley"
		}
		return "parley"
	}
	return plain.Quote(os.Args[0])
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
