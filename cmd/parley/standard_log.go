package main

import (
	"bytes"
	"io"
)

// standardLog is where the standard library logs to on its own. net/http writes
// there, byte for byte, what a server sends that nobody asked for, such as the rest
// of an answer that is longer than it said: that is a service's secret, or a
// caller's.
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
