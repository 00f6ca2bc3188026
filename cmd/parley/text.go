package main

import (
	"bufio"
	"io"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// textWriter writes the text format of a2a-cli §11.2: fields, a "Label: value"
// line each, and blocks, a "Label:" line, the content and a blank line. All
// that it is given is cleaned. An empty line inside a block is written as one
// space: the first blank line always closes the block, so that no content can
// pass for fields.
//
// Nothing is visible before flush; the first error of the writer below stays.
type textWriter struct{ w *bufio.Writer }

func newTextWriter(w io.Writer) *textWriter { return &textWriter{bufio.NewWriter(w)} }

// field writes a field, unless its value is empty.
func (t *textWriter) field(label, value string) {
	if value = plain.Line(value); value != "" {
		_, _ = t.w.WriteString(label + ": " + value + "\n")
	}
}

// block writes a block, however short the content is.
func (t *textWriter) block(label, content string) { t.writeBlock(label, plain.Text(content)) }

// jsonBlock writes a block of JSON.
func (t *textWriter) jsonBlock(label, doc string) { t.writeBlock(label, plain.JSON(doc)) }

func (t *textWriter) writeBlock(label, content string) {
	_, _ = t.w.WriteString(label + ":\n")
	content = strings.TrimSuffix(content, "\n")
	if content != "" {
		for line := range strings.SplitSeq(content, "\n") {
			if line == "" {
				line = " "
			}
			_, _ = t.w.WriteString(line + "\n")
		}
	}
	_ = t.w.WriteByte('\n')
}

func (t *textWriter) flush() error { return t.w.Flush() }
