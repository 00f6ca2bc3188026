// Package api holds the promises of docs/compatibility.md that a list can hold: what
// Go programs, scripts and files may name. Each list is a file here, a feature a line.
// A line that is no longer true fails the test unless except.txt gives a reason for it. A
// feature that is not in its list yet passes: `make api` adds it when it is released.
package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Exceptions is the file of features that were taken away on purpose.
const Exceptions = "except.txt"

// Check compares features with the list of that name in dir, and returns the features
// that are gone without a reason, and those that are new.
func Check(dir, list string, features []string) (gone, added []string, err error) {
	known, err := read(filepath.Join(dir, list))
	if err != nil {
		return nil, nil, err
	}
	except, err := read(filepath.Join(dir, Exceptions))
	if err != nil {
		return nil, nil, err
	}
	have, had := set(features), set(known)
	excepted := set(except)
	for _, line := range known {
		if !have[line] && !excepted[line] {
			gone = append(gone, line)
		}
	}
	for _, line := range features {
		if !had[line] {
			added = append(added, line)
		}
	}
	return gone, added, nil
}

// Update writes the features that are there, and keeps those that are gone without a
// reason: only an exception takes a promise back.
func Update(dir, list string, features []string) error {
	gone, _, err := Check(dir, list, features)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := append(slices.Clone(features), gone...)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	return os.WriteFile(filepath.Join(dir, list), []byte(strings.Join(lines, "\n")+"\n"), 0o666)
}

// read returns the lines of a list without comments.
func read(name string) (lines []string, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: make api writes it", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), " # ")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func set(lines []string) map[string]bool {
	m := map[string]bool{}
	for _, line := range lines {
		m[line] = true
	}
	return m
}
