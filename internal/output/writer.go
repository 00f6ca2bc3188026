package output

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// Writer writes the text format of a2a-cli §11.2: fields, a "Label: value"
// line each, and blocks, a "Label:" line, the content and a blank line. All
// that it is given is cleaned. An empty line inside a block is written as one
// space: the first blank line always closes the block, so that no content can
// pass for fields.
//
// Nothing is visible before Flush; the first error of the writer below stays.
type Writer struct{ w *bufio.Writer }

func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriter(w)} }

// Field writes a field, unless its value is empty.
func (t *Writer) Field(label, value string) {
	if value = plain.Line(value); value != "" {
		_, _ = t.w.WriteString(label + ": " + value + "\n")
	}
}

// Block writes a block, however short the content is.
func (t *Writer) Block(label, content string) { t.writeBlock(label, plain.Text(content)) }

// JSONBlock writes a block of JSON.
func (t *Writer) JSONBlock(label, doc string) { t.writeBlock(label, plain.JSON(doc)) }

func (t *Writer) writeBlock(label, content string) {
	_, _ = t.w.WriteString(label + ":\n")
	content = strings.TrimSuffix(content, "\n")
	if content != "" {
		for line := range strings.SplitSeq(content, "\n") {
			line = cmp.Or(line, " ")
			_, _ = t.w.WriteString(line + "\n")
		}
	}
	t.Blank()
}

// Blank writes a blank line.
func (t *Writer) Blank() { _ = t.w.WriteByte('\n') }

// Flush makes what was written visible.
func (t *Writer) Flush() error { return t.w.Flush() }
