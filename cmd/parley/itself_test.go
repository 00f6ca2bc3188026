package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestByGoRun(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for path, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/parley":               true,
		"/root/.cache/go-build/0a/" + hash + "-d/parley": true,
		"/elsewhere/0a/" + hash + "-d/parley":            true, // GOCACHE is set
		"/elsewhere/0a/" + hash[2:] + "-d/parley":        false,
		"/usr/local/bin/parley":                          false,
		"/home/me/made-d/parley":                         false,
		"/tmp/go-build123/b001/parley.test":              false,
	} {
		if got := byGoRun(filepath.FromSlash(path)); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
