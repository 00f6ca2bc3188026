package config

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreters run scripts that may not be executable.
var interpreters = map[string][]string{
	".py": {"python3"}, ".js": {"node"}, ".mjs": {"node"}, ".cjs": {"node"}, ".sh": {"sh"}, ".rb": {"ruby"}, ".pl": {"perl"}, ".php": {"php"},
}

// Interpreter returns the command that runs a script, which may not be executable; nil if the
// name does not tell.
func Interpreter(name string) []string {
	return slices.Clone(interpreters[strings.ToLower(filepath.Ext(name))])
}

// Beginning returns the beginning of a script; "" if it is not text.
func Beginning(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 4<<10)) // an error leaves less text, which is fine
	if strings.ContainsRune(string(text), 0) {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}

var firstComment = regexp.MustCompile(`^(?:#!.*\n)?\s*(?:"""\s*(\S[^\n"]*)|(?:#|//)[ \t]*([^\s!][^\n]*))`)

// About returns the first line of the comment at the beginning of a script.
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

// CommandName returns the name for a command: that of its script, if an interpreter runs one.
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
