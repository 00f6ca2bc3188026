package main

import (
	"bytes"
	"io"
)

// standardLog receives what the standard library logs on its own. net/http logs, byte for byte,
// data that a server sends unexpectedly, such as the rest of an answer that is longer than
// declared. That may be a service's or a caller's secret.
type standardLog struct{ w io.Writer }

func (l standardLog) Write(p []byte) (int, error) {
	said := p
	if before, _, found := bytes.Cut(p, []byte(" starting with ")); found && bytes.Contains(before, []byte("Unsolicited response")) {
		said = append(bytes.Clone(before), '\n')
	}
	if _, err := l.w.Write(said); err != nil {
		return 0, err
	}
	return len(p), nil
}
