package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file.
type Problem struct {
	Line    int    `json:"line"`   // from 1; 0: the file as a whole
	Column  int    `json:"column"` // from 1, in characters
	Path    string `json:"path"`   // such as agents.answers.http.url; "" is the file
	Message string `json:"message"`
}

// String is the problem as editors and compilers write them, without the file.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Message
}

// Error is a file that cannot be used: all that is wrong with it, in the order
// of the file.
type Error struct {
	File     string
	Problems []Problem
	More     int // that were left out, for there were too many
}

// Lines are the problems as editors and compilers write them.
func (e *Error) Lines() []string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, e.File+":"+p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, e.More))
	}
	return lines
}

func (e *Error) Error() string { return strings.Join(e.Lines(), "\n") }

// maxProblems are kept of a file; the rest is counted.
const maxProblems = 200

// problems gathers what is wrong.
type problems struct {
	list []Problem
	more int
}

func (p *problems) add(line, column int, path, format string, args ...any) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, Problem{line, column, path, fmt.Sprintf(format, args...)})
}

// full reports whether further problems are only counted.
func (p *problems) full() bool {
	if len(p.list) < maxProblems {
		return false
	}
	p.more++
	return true
}

// err returns what was gathered for a file, nil if nothing was.
func (p *problems) err(file string) error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return &Error{file, p.list, p.more}
}
