package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

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
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		hidden(ctx, fd, before)
		fmt.Fprint(s.out, prompt+": ")
	}()
	line, err := within(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(fd, before) // the reader is still there, and would leave the terminal without echo
	}
	<-asked
	fmt.Fprintln(s.out)
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// hidden returns when term.ReadPassword, which runs meanwhile, has stopped the terminal
// from showing what is typed: a prompt that came earlier would invite people to type a
// password that is shown. A terminal that showed nothing before does not change; it is
// waited for a second.
func hidden(ctx context.Context, fd int, before *term.State) {
	for since := time.Now(); time.Since(since) < time.Second && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if now, err := term.GetState(fd); err != nil || !reflect.DeepEqual(now, before) {
			return
		}
	}
}
