package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Secrets reads lines that nobody should see: from a terminal with a prompt and without
// showing what is typed, from anything else line by line.
type Secrets struct {
	in    *os.File // the terminal; nil if there is none
	lines *bufio.Reader
	out   io.Writer
}

// NewSecrets returns a reader of secrets; prompts go to out.
func NewSecrets(in io.Reader, out io.Writer) *Secrets {
	s := &Secrets{lines: bufio.NewReader(in), out: out}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.in = f
	}
	return s
}

// Terminal reports whether somebody types.
func (s *Secrets) Terminal() bool { return s.in != nil }

// Line returns the next line without its end; "" if there is none.
func (s *Secrets) Line(ctx context.Context, prompt string) (string, error) {
	if s.in == nil {
		line, err := s.lines.ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	}
	fd := int(s.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(s.out, prompt+": ")
	line, err := within(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(fd, before) // the reader is still there, and would leave the terminal without echo
	}
	fmt.Fprintln(s.out)
	if err == io.EOF {
		err = nil
	}
	return line, err
}
