package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// ErrAborted is the error of Line for Ctrl-C.
var ErrAborted = liner.ErrPromptAborted

// Editor reads lines from the terminal on standard input, with the usual keys of shells,
// completion and a history.
type Editor struct {
	state   *liner.State
	history string // the file; "" keeps none
}

// NewEditor returns an editor. history is the file for the lines, of mode 0600, and "" keeps
// none. The editor must be closed.
func NewEditor(history string, complete func(line string, at int) (head string, words []string, tail string)) *Editor {
	e := &Editor{state: liner.NewLiner(), history: history}
	e.state.SetCtrlCAborts(true)
	e.state.SetMultiLineMode(true)
	e.state.SetTabCompletionStyle(liner.TabPrints)
	e.state.SetWordCompleter(complete)
	if f, err := os.Open(history); history != "" && err == nil {
		_, _ = e.state.ReadHistory(f) // a damaged one is begun anew
		f.Close()
	}
	return e
}

// Line shows a prompt and returns the line typed. Ctrl-C is ErrAborted, Ctrl-D io.EOF. Lines
// that begin with a space are not kept in the history, as in shells.
func (e *Editor) Line(ctx context.Context, prompt string) (string, error) {
	line, err := within(ctx, func() (string, error) { return e.state.Prompt(prompt) })
	if err == nil && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") {
		e.state.AppendHistory(line)
	}
	return line, err
}

// Close writes the history and restores the terminal.
func (e *Editor) Close() error {
	var err error
	if e.history != "" {
		err = e.keep()
	}
	return errors.Join(err, e.state.Close())
}

// keep writes the history to a new file that then replaces the old one: no other user can ever
// read it, and a crash leaves one of the two.
func (e *Editor) keep() error {
	dir := filepath.Dir(e.history)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".history-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = e.state.WriteHistory(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), e.history)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// maxLine limits a line that does not come from a terminal, in bytes.
const maxLine = 4 << 20

// Lines returns a reader of lines without a terminal: it shows no prompt.
func Lines(r io.Reader) func(ctx context.Context, prompt string) (string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return func(ctx context.Context, _ string) (string, error) {
		return within(ctx, func() (string, error) {
			if lines.Scan() {
				return lines.Text(), nil
			}
			if err := lines.Err(); err != nil {
				return "", err
			}
			return "", io.EOF
		})
	}
}

// within reads until the context ends. The read cannot be interrupted; the process ends
// instead.
func within(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
