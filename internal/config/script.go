package config

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreters run scripts that do not run by themselves.
var interpreters = map[string][]string{
	".py": {"python3"}, ".js": {"node"}, ".mjs": {"node"}, ".cjs": {"node"}, ".sh": {"sh"}, ".rb": {"ruby"}, ".pl": {"perl"}, ".php": {"php"},
}

// Interpreter is the command that runs a script which may not run by itself; nil if
// its name does not tell.
func Interpreter(name string) []string {
	return slices.Clone(interpreters[strings.ToLower(filepath.Ext(name))])
}

// Beginning is how a script begins; "" if it is no text.
func Beginning(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 4<<10)) // less will do
	if strings.ContainsRune(string(text), 0) {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}

var firstComment = regexp.MustCompile(`^(?:#!.*\n)?\s*(?:"""\s*(\S[^\n"]*)|(?:#|//)[ \t]*([^\s!][^\n]*))`)

// About is the first line of the comment that a script begins with.
func About(text string) string {
	m := firstComment.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	line := strings.TrimSpace(m[1] + m[2])
	if len(line) > 200 || strings.Contains(line, "coding:") || strings.Contains(line, "eslint") {
		return ""
	}
	return line
}

// CommandName is what a command is called after: its script, if an interpreter
// runs one.
func CommandName(argv []string) string {
	name := argv[0]
	for _, run := range interpreters {
		if len(argv) > 1 && filepath.Base(argv[0]) == run[0] && !strings.HasPrefix(argv[1], "-") {
			name = argv[1]
		}
	}
	name = filepath.Base(name)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
