// Package script is what every agent of the bench does: the servers differ, the
// work does not.
//
//	echo TEXT        an artifact with the text
//	stream N SIZE    working, then an artifact of N chunks of SIZE bytes, no pause between them
//	pulse SIZE MS    working, then a chunk of SIZE bytes every MS milliseconds, for as long as the server runs
//	hold             working, for as long as the server runs
//	file             an artifact with the file of the message
package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Command is what a message asks for.
type Command struct {
	Word  string
	Text  string        // of echo
	N     int           // chunks of stream
	Size  int           // of a chunk, in bytes
	Every time.Duration // of pulse
}

// Parse reads the text of a message. An unknown word is echoed.
func Parse(text string) Command {
	word, rest, _ := strings.Cut(text, " ")
	c := Command{Word: word, Text: rest}
	switch word {
	case "stream":
		_, _ = fmt.Sscan(rest, &c.N, &c.Size) // zero is no chunk
	case "pulse":
		ms := 0
		_, _ = fmt.Sscan(rest, &c.Size, &ms)
		c.Every = time.Duration(max(ms, 1)) * time.Millisecond
	}
	return c
}

// AppendChunk appends the text of the n-th chunk, from 1 on.
func AppendChunk(b []byte, n, size int) []byte {
	end := len(b) + size
	b = append(b, "chunk "...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, ' ')
	for len(b) < end {
		b = append(b, '.')
	}
	return b
}

// Chunk is the text of the n-th chunk, from 1 on.
func Chunk(n, size int) string { return string(AppendChunk(make([]byte, 0, size), n, size)) }
