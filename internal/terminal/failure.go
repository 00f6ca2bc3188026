package terminal

import (
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
)

// Failure formats a failure for a person: what went wrong, further lines, and what to do. A
// code, for searches, follows the message; "" shows none.
func (s *Screen) Failure(code, message string, lines []string, hint string) string {
	var out strings.Builder
	out.WriteString(s.paint(red, "Error:") + " " + plain.Line(message))
	if code != "" {
		out.WriteString(s.paint(dim, " ["+plain.Line(code)+"]"))
	}
	for _, line := range lines {
		out.WriteString("\n  " + plain.Line(line))
	}
	if hint != "" {
		out.WriteString("\n" + s.paint(dim, "Hint:") + " " + plain.Line(hint))
	}
	return out.String() + "\n"
}
