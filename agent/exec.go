package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// ExecOptions adjusts Exec. A nil *ExecOptions means all defaults.
type ExecOptions struct {
	// Grace is how long a command may take to end after it was told to
	// (SIGTERM), before it is killed. Zero means 5 s.
	Grace time.Duration
	// MaxOutput caps what one run may print on standard output, in bytes.
	// Zero means 64 MiB.
	MaxOutput int64
	// Logger gets what commands print on standard error, a record a line. Nil
	// discards.
	Logger *slog.Logger
}

func (o *ExecOptions) grace() time.Duration {
	if o == nil || o.Grace == 0 {
		return 5 * time.Second
	}
	return o.Grace
}

func (o *ExecOptions) maxOutput() int64 {
	if o == nil || o.MaxOutput == 0 {
		return 64 << 20
	}
	return o.MaxOutput
}

func (o *ExecOptions) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Exec returns an agent that runs a command for each message. argv is the
// program and its arguments; no shell is involved unless argv names one. It
// panics if argv is empty.
//
// In: the text of the message (its text parts, its files of a text type and its
// data as JSON, joined by line feeds) is the command's standard input; other
// parts are ignored, and a message without any
// text is rejected. A command need not read its input. The environment is that
// of this process, with PARLEY_TASK_ID, PARLEY_CONTEXT_ID, PARLEY_ATTEMPT,
// PARLEY_CALLER and PARLEY_TENANT. Clients choose the ids of contexts, and two
// callers may choose the same, with any characters but control ones: what a
// command keeps for a context belongs under all three of tenant, caller and
// context, and none of them is a file name as it is.
//
// Out: standard output becomes one artifact, "output", a chunk a line. The
// newest line waits until the next one, the end, or 50 ms have come, so that
// the last line of a quick command is the last chunk too. Lines above 64 KiB
// are cut, bytes that are not UTF-8 become U+FFFD, and after 10,000 chunks
// lines that come together share one. Standard error goes to the log.
//
// Exit status 0 completes the task. Any other, death by a signal, a program
// that cannot be started and too much output fail it with a reason that names
// neither arguments nor directories.
//
// A command runs in a process group of its own. When its task is cancelled or
// the server drains, the group gets SIGTERM, and SIGKILL if anything of it is
// left after the grace. After a normal end too, what the command left running
// in its group is killed, once it has had a moment to finish printing: nothing
// outlives its task (a program that must, starts a session of its own). Where
// there are no process groups, only the command itself is killed. If the
// server is itself killed, nobody is there to do this; the command then finds
// its pipes closed, and its message is run again when the server is back.
func Exec(argv []string, o *ExecOptions) Agent {
	if len(argv) == 0 || argv[0] == "" {
		panic("agent: Exec needs a command")
	}
	return &command{argv: slices.Clone(argv), opts: o, hold: holdTime, linger: lingerTime}
}

const (
	// holdTime is how long the newest line waits for the next.
	holdTime = 50 * time.Millisecond
	// lingerTime is how long output may go on after the command's own process
	// has ended, and how long a pipe may stay silent after everything was
	// killed before it is given up.
	lingerTime = 250 * time.Millisecond
)

// command is the agent that Exec returns.
type command struct {
	argv         []string
	opts         *ExecOptions
	hold, linger time.Duration // holdTime and lingerTime, but in tests
}

// name is what the public may know the command by.
func (c *command) name() string {
	return strings.TrimSuffix(filepath.Base(c.argv[0]), ".exe")
}

func (c *command) Run(ctx context.Context, t *Turn) error {
	input, ok := messageText(t.Message())
	if !ok {
		return t.Reject("this agent works on text; send a message with a text part")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	task := t.Task()
	log := c.opts.logger().With("task", task.ID, "command", c.name())
	caller := t.Caller()
	p, err := start(c.argv, []string{
		"PARLEY_TASK_ID=" + task.ID,
		"PARLEY_CONTEXT_ID=" + task.ContextID,
		fmt.Sprintf("PARLEY_ATTEMPT=%d", t.Attempt()),
		"PARLEY_CALLER=" + caller.Subject,
		"PARLEY_TENANT=" + caller.Tenant,
	}, input, log)
	if err != nil {
		return Public(c.startReason(err), err)
	}
	defer p.close()
	r := &run{
		p:      p,
		out:    &lines{w: t.Artifact("output")},
		room:   c.opts.maxOutput(),
		grace:  c.opts.grace(),
		hold:   c.hold,
		linger: c.linger,
	}
	if err := r.follow(ctx); err != nil {
		if errors.Is(err, errTooMuch) {
			return Public(fmt.Sprintf("the command printed more than the %d bytes it may", c.opts.maxOutput()), nil)
		}
		return err
	}
	if p.err != nil {
		return Public(exitReason(p.err), p.err)
	}
	return nil
}

// messageText returns the message's text, joined by line feeds, and whether
// there is any: its text parts, its files of a text type, and its data as JSON.
func messageText(m *a2a.Message) (string, bool) {
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == a2a.PartText:
			texts = append(texts, p.Text)
		case p.Kind == a2a.PartRaw && isText(p.MediaType):
			texts = append(texts, string(p.Raw))
		case p.Kind == a2a.PartData:
			texts = append(texts, string(p.Data))
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// isText reports whether files of this media type are text.
func isText(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasPrefix(media, "text/") || media == "application/json"
}

// startReason says why the command did not start, without directories.
func (c *command) startReason(err error) string {
	switch {
	case errors.Is(err, exec.ErrDot):
		return fmt.Sprintf("the command %s is in the working directory only; it has to be configured as ./%s", c.name(), c.name())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(c.argv[0]); err == nil { // it is there; what it needs is not
			return fmt.Sprintf("the command %s needs an interpreter that was not found", c.name())
		}
		return fmt.Sprintf("the command %s was not found", c.name())
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("the command %s is no program; a script needs a first line such as #!/bin/sh", c.name())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the command %s is not executable", c.name())
	}
	return fmt.Sprintf("the command %s could not be started", c.name())
}

// exitReason says how a command that did not succeed ended.
func exitReason(err error) string {
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		return "the command's end was not observed"
	case exit.ExitCode() >= 0:
		return fmt.Sprintf("the command exited with status %d", exit.ExitCode())
	}
	return "the command was ended by a signal (" + signalName(exit.ProcessState) + ")"
}

// ExecCard returns a card for Exec, named after the command. Arguments stay
// out of it: they may hold what is not for the public.
func ExecCard(argv []string) a2a.AgentCard {
	name := (&command{argv: argv}).name()
	streaming := true
	return a2a.AgentCard{
		Name:               name,
		Description:        "Runs " + name + ": the text of a message is its input, what it prints is the answer.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: &streaming},
		DefaultInputModes:  []string{"text/plain", "text/*", "application/json"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2a.AgentSkill{{
			ID:          "run",
			Name:        "Run " + name,
			Description: "Runs the command on the text of the message and streams its output, line by line.",
			Tags:        []string{"command"},
		}},
	}
}
