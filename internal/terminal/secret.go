package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"golang.org/x/term"
)

// Secrets reads secret lines: from a terminal with a prompt and without echo, from other inputs
// line by line.
type Secrets struct {
	fd       int // of the terminal
	terminal bool
	lines    *bufio.Reader
	out      io.Writer
}

// NewSecrets returns a reader of secrets; prompts go to out.
func NewSecrets(in io.Reader, out io.Writer) *Secrets {
	s := &Secrets{lines: bufio.NewReader(in), out: out}
	s.fd, s.terminal = Is(in)
	return s
}

// Terminal reports whether the input is a terminal.
func (s *Secrets) Terminal() bool { return s.terminal }

// Line returns the next line without its end; "" if there is none.
func (s *Secrets) Line(ctx context.Context, prompt string) (string, error) {
	if !s.terminal {
		line, err := s.lines.ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	}
	before, err := term.GetState(s.fd)
	if err != nil {
		return "", err
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		hidden(ctx, s.fd, before)
		fmt.Fprint(s.out, prompt+": ")
	}()
	line, err := within(ctx, func() (string, error) {
		line, err := term.ReadPassword(s.fd)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(s.fd, before) // the reader still runs, and would leave the terminal without echo
	}
	<-asked
	fmt.Fprintln(s.out)
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// hidden returns when term.ReadPassword, which runs concurrently, has turned off the terminal's
// echo: an earlier prompt would invite people to type a password visibly. If the terminal had
// no echo before, its state does not change, so hidden returns after a second.
func hidden(ctx context.Context, fd int, before *term.State) {
	for since := time.Now(); time.Since(since) < time.Second && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if now, err := term.GetState(fd); err != nil || !reflect.DeepEqual(now, before) {
			return
		}
	}
}
