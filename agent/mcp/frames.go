package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/parley-a2a/parley/internal/child"
)

// maxNoise is how many lines that are no messages a command may print.
const maxNoise = 1000

var (
	errLongLine = errors.New("mcp: the server sent a message that is too long")
	errNoise    = errors.New("mcp: the server prints too many lines that are not messages")
)

// frames passes the lines of a command that are messages. Many servers print a greeting
// on standard output, which is reserved for the protocol; such lines go to the log
// instead of breaking the session.
type frames struct {
	in    *bufio.Reader
	most  int    // bytes of a line
	rest  []byte // of the line that is being read
	noise int
	log   *slog.Logger
	pace  *pace // nil for no limit
}

func newFrames(r io.Reader, most int, log *slog.Logger) *frames {
	return &frames{in: bufio.NewReaderSize(r, 64<<10), most: most, log: log}
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.line()
		start := bytes.TrimLeft(line, " \t\r\n")
		switch {
		case len(start) > 0 && (start[0] == '{' || start[0] == '['):
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			f.rest = line
			f.pace.wait(1)
		case len(start) > 0:
			if f.noise++; f.noise > maxNoise {
				return 0, errNoise
			}
			start = bytes.TrimSpace(start[:min(len(start), child.MaxLine)])
			f.log.Info("MCP server printed a line that is not a message", "line", strings.ToValidUTF8(string(start), "\uFFFD"))
		}
		if err != nil && len(f.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// line returns the next line with its line feed, or what precedes an error. The caller
// owns the bytes.
func (f *frames) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := f.in.ReadSlice('\n')
		if len(line)+len(piece) > f.most {
			return nil, errLongLine
		}
		line = append(line, piece...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}
