package download

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/plain"
)

// maxName limits a name, in bytes; file systems allow 255, and a copy needs room for its
// number.
const maxName = 200

// devices are names that denote no file on Windows, with any extension.
var devices = map[string]bool{"con": true, "prn": true, "aux": true, "nul": true, "conin$": true, "conout$": true, "clock$": true}

func init() {
	for _, digit := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"} {
		devices["com"+digit], devices["lpt"+digit] = true, true
	}
}

// Name turns an agent's name for a file into a name that is safe in any folder on any system:
// the last part of a path, without characters that some system forbids or that are invisible,
// no device, not hidden, and not too long. It never returns "".
func Name(theirs string) string {
	theirs = plain.Line(theirs)
	if i := strings.LastIndexAny(theirs, `/\`); i >= 0 {
		theirs = theirs[i+1:]
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		case !unicode.IsPrint(r), r == utf8.RuneError: // also characters without width
			return -1
		}
		return r
	}, theirs)
	name = strings.Trim(name, " ")
	name = strings.TrimRight(name, ". ")
	if rest := strings.TrimLeft(name, "."); rest != name && rest != "" {
		name = "_" + rest // a name that begins with a dot is hidden, and some programs read such files
	}
	if name = strings.TrimLeft(name, " "); name == "" {
		return "file"
	}
	if strings.HasPrefix(name, "-") {
		name = "_" + name // would be read as an option in commands with *
	}
	stem, _, _ := strings.Cut(name, ".")
	if devices[strings.ToLower(strings.TrimSpace(stem))] {
		name = "_" + name
	}
	if len(name) > maxName {
		ext := path.Ext(name)
		if len(ext) > 20 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:maxName-len(ext)], "") + ext
	}
	return strings.TrimRight(name, ". ")
}

// numbered returns the name of the n-th file with the same name.
func numbered(name string, n int) string {
	if n < 2 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}
