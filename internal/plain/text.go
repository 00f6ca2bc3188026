// Package plain makes text fit for people at a terminal: without control sequences that a peer
// put in ([Text], [Line], [JSON], [Quote]), and without credentials ([Writer]).
//
// The functions are pure. A Writer may be used by several goroutines at a time.
package plain

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Text makes text of an agent safe to print. It removes terminal escape sequences, and all
// control characters except line feeds and tabs. It also removes characters that reorder the
// text around them (bidirectional embeddings, overrides and isolates), because they make a text
// read differently than it is written. Line separators of any kind become line feeds. The
// result is valid UTF-8, and nothing readable is lost: an unterminated sequence loses only its
// introducer.
func Text(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isIntroducer(r):
			i += sequence(s[i:])
			continue
		case r == '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				b.WriteByte('\n') // a bare one would overwrite the line
			}
		case r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
			b.WriteByte('\n')
		case printable(r):
			b.WriteRune(r) // U+FFFD for a byte that is not UTF-8
		}
		i += n
	}
	return b.String()
}

// Line is Text for a value that must stay on one line.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(s)))
}

// JSON makes valid JSON safe to print and keeps its meaning: it writes the characters that Text
// would remove as escapes, because in JSON they occur only in strings.
func JSON(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r", "") {
		if printable(r) && r != 0x2028 && r != 0x2029 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Quote makes s one word for a POSIX shell. Ids come from servers: pasted unquoted, they could
// be commands. It removes control characters.
func Quote(s string) string {
	s = Line(s)
	if s != "" && strings.Trim(s, wordChars) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wordChars need no quotes in common shells.
const wordChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,"

// Count formats a number of things: "1 task", "2 tasks", "2 entries".
func Count[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y") && !strings.HasSuffix(thing, "ey"):
		return fmt.Sprint(n, " ", strings.TrimSuffix(thing, "y"), "ies")
	}
	return fmt.Sprint(n, " ", thing, "s")
}

// Bytes formats a size for people.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return Count(n, "byte")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// Date formats a time in UTC, to the second; "" for the zero time.
func Date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func safe(s string) bool {
	for i, r := range s {
		if !printable(r) || r == 0x2028 || r == 0x2029 || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

func printable(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r < ' ', 0x7f <= r && r <= 0x9f: // C0, DEL, C1
		return false
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return false
	}
	return true
}

// C1 controls that begin a sequence; ESC with the byte 0x40 lower is equivalent.
const (
	esc = 0x1b
	dcs = 0x90
	sos = 0x98
	csi = 0x9b
	st  = 0x9c
	osc = 0x9d
	pm  = 0x9e
	apc = 0x9f
)

func isIntroducer(r rune) bool {
	switch r {
	case esc, dcs, sos, csi, osc, pm, apc:
		return true
	}
	return false
}

// sequence returns the length of the control sequence at the beginning of s, by ECMA-48, or
// that of its introducer if it is unterminated.
func sequence(s string) int {
	kind, n := utf8.DecodeRuneInString(s)
	if kind == esc {
		if n == len(s) {
			return n
		}
		kind = rune(s[n]) + 0x40 // ESC [ is CSI, ESC ] is OSC
		n++
	}
	switch kind {
	case csi:
		for i := n; i < len(s) && i < n+maxSequence; i++ {
			switch c := s[i]; {
			case 0x40 <= c && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x7e:
				return n
			}
		}
		return n
	case dcs, sos, osc, pm, apc:
		return stringEnd(s, n)
	}
	if s[0] != esc {
		return n
	}
	// ESC, intermediates, final: ESC ( B
	for i := 1; i < len(s); i++ {
		if c := s[i]; c >= 0x30 && c <= 0x7e {
			return i + 1
		} else if c < 0x20 || c > 0x2f {
			break
		}
	}
	return 1
}

// maxSequence limits how much a sequence may remove, in bytes.
const maxSequence = 1 << 12

// stringEnd returns the end of the control string that begins at s[from]: at BEL, ESC \ or ST,
// on the same line. It returns from if there is none.
func stringEnd(s string, from int) int {
	for i := from; i < len(s) && i < from+maxSequence; {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\a' || r == st:
			return i + n
		case r == esc && strings.HasPrefix(s[i+1:], `\`):
			return i + 2
		case r == '\n' || isIntroducer(r): // another sequence; looking further would take quadratic time
			return from
		}
		i += n
	}
	return from
}
