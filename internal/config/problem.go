package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/failure"
)

// Error lists all mistakes of a file that cannot be used, in the order of the file.
type Error struct {
	File     string
	Problems []failure.Problem
	More     int // problems that were left out because there are too many
}

// Lines returns the problems in the format of compilers.
func (e *Error) Lines() []string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		line := e.File + ": "
		if p.Line > 0 {
			line = fmt.Sprintf("%s:%d:%d: ", e.File, p.Line, p.Column)
		}
		if p.Path != "" {
			line += p.Path + ": "
		}
		lines = append(lines, line+p.Message)
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, e.More))
	}
	return lines
}

func (e *Error) Error() string { return strings.Join(e.Lines(), "\n") }

// maxProblems is how many problems are listed; the rest are counted.
const maxProblems = 200

func (e *Error) add(line, column int, path, format string, args ...any) {
	if !e.full() {
		e.Problems = append(e.Problems, failure.Problem{File: e.File, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

// full reports whether further problems are only counted, and counts one.
func (e *Error) full() bool {
	if len(e.Problems) < maxProblems {
		return false
	}
	e.More++
	return true
}

// result returns the error of a file that was read; nil if it has no problems.
func (e *Error) result() error {
	if len(e.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(e.Problems, func(a, b failure.Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return e
}
