package output

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// Writer writes the text format of a2a-cli §11.2: fields, each a "Label: value" line, and
// blocks, each a "Label:" line, the content and a blank line. It cleans all its input. It
// writes an empty line inside a block as one space: the first blank line always ends the block,
// so that no content can be mistaken for fields.
//
// Nothing is visible before Flush; the first error of the underlying writer stays.
type Writer struct {
	w       *bufio.Writer
	verbose bool // show parts, ids and metadata one by one
}

func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

// Field writes a field, unless its value is empty.
func (t *Writer) Field(label, value string) {
	if value = plain.Line(value); value != "" {
		_, _ = t.w.WriteString(label + ": " + value + "\n")
	}
}

// Block writes a block, even if the content is short.
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

// Flush makes the output visible.
func (t *Writer) Flush() error { return t.w.Flush() }
