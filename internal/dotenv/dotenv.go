// Package dotenv reads the A2ACLI_ variables of .env files.
package dotenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Prefix begins the name of every variable that is read.
const Prefix = "A2ACLI_"

// maxSize is the maximum size of a file, in bytes.
const maxSize = 1 << 20

// File is a configuration file, with A2ACLI_NAME=value lines.
type File struct {
	Path   string
	Values map[string]string
}

// Read reads a .env file of at most 1 MiB. Such files are shared by many programs, so variables
// without the prefix are skipped, even if they are invalid.
func Read(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	} else if st.Size() > maxSize {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("larger than 1 MiB")}
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return &File{path, values}, nil
}

// parse reads NAME=value lines, with an optional "export", and comments from # on. Values are
// bare, in 'single quotes' as they are, or in "double quotes" with \n, \t, \", \\ and \$.
// Errors begin with the line number.
func parse(doc []byte) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(string(doc), "\uFEFF"), "\n") {
		n := i + 1
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "export "); ok {
			line = strings.TrimSpace(rest)
		}
		if !strings.HasPrefix(line, Prefix) {
			continue
		}
		name, raw, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, fmt.Errorf("%d: %s has no value; write %s=value", n, name, name)
		}
		value, err := valueOf(strings.TrimSpace(raw))
		if err != nil {
			return nil, fmt.Errorf("%d: %s: %w", n, name, err)
		}
		values[name] = value
	}
	return values, nil
}

func valueOf(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	switch quote := raw[0]; quote {
	case '\'':
		value, rest, ok := strings.Cut(raw[1:], "'")
		return value, afterQuote(rest, ok, quote)
	case '"':
		var b strings.Builder
		for i := 1; i < len(raw); i++ {
			switch c := raw[i]; {
			case c == '"':
				return b.String(), afterQuote(raw[i+1:], true, quote)
			case c == '\\' && i+1 < len(raw):
				i++
				b.WriteString(unescape(raw[i]))
			default:
				b.WriteByte(c)
			}
		}
		return "", afterQuote("", false, quote)
	}
	if at := strings.Index(raw, " #"); at >= 0 {
		raw = strings.TrimSpace(raw[:at])
	}
	return raw, nil
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	}
	return `\` + string(c)
}

func afterQuote(rest string, closed bool, quote byte) error {
	if !closed {
		return fmt.Errorf("a value that begins with %c must end with it, on the same line", quote)
	}
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
		return fmt.Errorf("there is text after the closing %c", quote)
	}
	return nil
}

// FindUp returns the nearest file of that name in dir or a directory above it, as git finds its
// repository, or "".
func FindUp(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
