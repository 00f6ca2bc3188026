package agent

import (
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

const (
	// maxChunk caps the text of one chunk, in bytes.
	maxChunk = 64 << 10
	// manyLines is how many chunks of one line a program may emit. After that, lines
	// that are there together share a chunk, so that a flood of short lines does not
	// become a flood of log entries.
	manyLines = 10_000
)

// lines cuts the output of a program into the chunks of an artifact, one a line. It
// holds back the newest line, so that this chunk can be marked as the last when the
// output ends. Its caller calls flush when nothing has come for a while, so that the
// output of a slow program is seen as it comes.
type lines struct {
	w      *Artifact
	held   string // at most one chunk: the newest line, maybe without its end
	chunks int
}

// write takes the next output of the program.
func (l *lines) write(p []byte) error {
	text := l.held + string(p)
	for {
		n := l.next(text)
		if n == 0 {
			l.held = strings.Clone(text)
			return nil
		}
		if err := l.emit(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
}

// next returns the length of the first chunk of text, or 0 if all of text may be the
// end of the output.
func (l *lines) next(text string) int {
	end := strings.IndexByte(text, '\n') + 1
	if l.chunks >= manyLines && end < len(text) {
		// The newest line is held back, as always.
		end = max(end, strings.LastIndexByte(text[:len(text)-1], '\n')+1)
	}
	n := end
	if end == 0 {
		n = whole(text)
	}
	if m := fit(text[:n]); m < n {
		if i := strings.LastIndexByte(text[:m], '\n'); i >= 0 {
			return i + 1
		}
		return m
	}
	if end == 0 || end == len(text) {
		return 0
	}
	return end
}

// flush emits the held text, without an incomplete rune at its end.
func (l *lines) flush() error {
	n := whole(l.held)
	if n == 0 {
		return nil
	}
	if err := l.emit(l.held[:n]); err != nil {
		return err
	}
	l.held = l.held[n:]
	return nil
}

// close emits the held text as the last chunk and closes the artifact.
func (l *lines) close() error {
	if n := fit(l.held); n < len(l.held) {
		// As U+FFFD, a broken rune at the end exceeds the limit.
		if err := l.emit(l.held[:n]); err != nil {
			return err
		}
		l.held = l.held[n:]
	}
	last := l.held
	l.held = ""
	if last == "" {
		return l.w.Close()
	}
	return l.w.Last(a2a.TextPart(validText(last)))
}

func (l *lines) emit(text string) error {
	l.chunks++
	_, err := l.w.WriteString(text)
	return err
}

// fit returns the length of the longest prefix of s that fits a chunk. It ends between
// runes, and counts each byte that is not UTF-8 as the three bytes of U+FFFD.
func fit(s string) int {
	if len(s) <= maxChunk && utf8.ValidString(s) {
		return len(s)
	}
	size := 0
	for i, r := range s {
		size += utf8.RuneLen(r)
		if size > maxChunk {
			return i
		}
	}
	return len(s)
}
