package agent

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/child"
	"github.com/parley-a2a/parley/internal/program"
	"github.com/parley-a2a/parley/internal/queue"
	"github.com/parley-a2a/parley/internal/scarce"
)

// Exec returns an agent that runs a command for each message. argv is the
// program and its arguments; no shell is involved unless argv names one. It
// panics if argv is empty. The agent is an io.Closer: Close, after the last run,
// ends processes that wait for messages and removes folders.
//
// With ExecLines both sides write JSON objects, one a line: docs/exec.md has them,
// and all else that the author of a command needs. The rest of this is about
// ExecPlain first, then about both.
//
// In: the text of the message (its text parts, its files of a text type and its
// data as JSON, joined by line feeds) is the command's standard input; other
// parts are ignored, and a message without any text is rejected. With
// ExecOptions.Files all files come through a folder, and a file is enough. A
// command need not read its input.
//
// Out: standard output becomes one artifact, "output", a chunk a line. The
// newest line waits until the next one, the end, or 50 ms have come, so that
// the last line of a quick command is the last chunk too. Lines above 64 KiB
// are cut, bytes that are not UTF-8 become U+FFFD, and after 10,000 chunks
// lines that come together share one. Standard error goes to the log.
//
// Exit status 0 completes the task. Any other, death by a signal, a program
// that cannot be started, too much output, and one that closes its output and
// goes on for longer than the grace fail it with a reason that names neither
// arguments nor directories.
//
// The environment is that of this process, with PARLEY_MODE, PARLEY_TASK_ID,
// PARLEY_CONTEXT_ID, PARLEY_ATTEMPT, PARLEY_CALLER, PARLEY_TENANT and, where the
// request belongs to a trace, TRACEPARENT and perhaps TRACESTATE. Clients choose the
// ids of contexts, and two callers may choose the same, with any characters but
// control ones: what a command keeps for a context belongs under all three of tenant,
// caller and context, and none of them is a file name as it is.
//
// A command runs in a process group of its own. When its task is cancelled, its
// time is up or the server drains, the group gets SIGTERM (with ExecLines after a
// line and a second), and SIGKILL if anything of it is
// left after the grace. After a normal end too, what the command left running
// in its group is killed, once it has had a moment to finish printing: nothing
// outlives its task (a program that must, starts a session of its own). Where
// there are no process groups, only the command itself is killed. If the
// server is itself killed, Linux kills the command with it; what that started,
// and on other systems the command too, finds its pipes closed. Its message is
// run again when the server is back.
func Exec(argv []string, o *ExecOptions) Agent {
	if len(argv) == 0 || argv[0] == "" {
		panic("agent: Exec needs a command")
	}
	o = cmp.Or(o, new(ExecOptions))
	return &command{
		argv: slices.Clone(argv), opts: o, hold: holdTime, linger: child.Linger, stall: stallTime, mute: muteTime,
		places: queue.New(o.concurrency()), room: fileRoom{dir: o.FilesDir},
	}
}

const (
	// holdTime is how long the newest line waits for the next.
	holdTime = 50 * time.Millisecond
	// stallTime is how long a command may leave its input unread while more waits.
	stallTime = 10 * time.Second
	// muteTime is how long a command with ExecLines may write no line before the log
	// says so.
	muteTime = 10 * time.Second
)

// command is the agent that Exec returns.
type command struct {
	argv                []string
	opts                *ExecOptions
	hold, linger, stall time.Duration // holdTime, child.Linger and stallTime, but in tests
	mute                time.Duration // muteTime, but in tests
	places              *queue.Queue  // limits processes at work
	room                fileRoom      // where files come and go

	mu      sync.Mutex // protects the fields below
	idle    []*process // processes that wait for their next message
	waiting []*session // those that wait for an answer with their process, oldest first
	closed  bool
}

// name is what the public may know the command by.
func (c *command) name() string {
	return strings.TrimSuffix(filepath.Base(c.argv[0]), ".exe")
}

// Kind is for KindOf.
func (c *command) Kind() string { return "exec" }

func (c *command) Run(ctx context.Context, t *Turn) error {
	task := t.Task().ID
	log := t.Log(c.opts.logger()).With("command", c.name())
	if c.opts.Mode == ExecLines {
		return c.fault((&session{outlet: outlet{c: c}, t: t, task: task, log: log, artifacts: map[string]*Artifact{}}).run(ctx))
	}
	return c.fault(c.runPlain(ctx, t, log))
}

// runPlain runs the command on the text of the message.
func (c *command) runPlain(ctx context.Context, t *Turn, log *slog.Logger) error {
	input, ok := program.Text(t.Message(), c.opts.Files)
	switch {
	case ok, c.opts.Files && hasFile(t.Message()):
	case c.opts.Files:
		return t.Reject("this agent works on text and files; send a message with a text part or a file")
	default:
		return t.Reject("this agent works on text; send a message with a text part")
	}
	if err := c.places.Enter(ctx); err != nil {
		return err
	}
	defer c.places.Leave()
	f, err := c.folders(ctx, t)
	if err != nil {
		return err
	}
	defer c.discard(f, log)
	p, err := c.start(ctx, append(c.environ(), about(t, t.Attempt(), f)...), log)
	if err != nil {
		return err
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	p.input <- []byte(input)
	close(p.input)
	r := &run{outlet: c.outlet(p), out: &lines{w: t.Artifact("output")}, room: c.opts.maxOutput()}
	err = r.follow(ctx)
	switch {
	case err != nil:
		return err
	case p.Cause != nil:
		return Public(exitReason(p.Cause), p.Cause)
	case f != nil:
		return f.collect(ctx, t, r.room)
	}
	return nil
}

// bounded returns ctx with the command's time-out.
func (c *command) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := c.opts.timeout(); d > 0 {
		return context.WithTimeoutCause(ctx, d, errSlow)
	}
	return ctx, func() {}
}

// start begins a process of the command, as soon as the machine has what it takes.
func (c *command) start(ctx context.Context, env []string, log *slog.Logger) (p *process, err error) {
	said := false
	err = scarce.Again(ctx, func() error {
		p, err = c.launch(env, log)
		if scarce.Is(err) && !said {
			said = true
			log.Warn("a command cannot start: no processes or memory left; trying again", "error", err)
		}
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, Public(c.startReason(err), err)
	}
	return p, nil
}

// folders makes the folders of a run, or returns nil where there are none.
func (c *command) folders(ctx context.Context, t *Turn) (f *folders, err error) {
	if !c.opts.Files {
		return nil, nil
	}
	err = scarce.Again(ctx, func() error {
		base, err := c.room.open()
		if err == nil {
			f, err = newFolders(base, t.Message())
		}
		return err
	})
	switch {
	case err == nil:
		return f, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, Public("the files of the message could not be handed to the command", err)
}

// discard takes the folders of a run away.
func (c *command) discard(f *folders, log *slog.Logger) {
	if f == nil {
		return
	}
	if err := f.remove(); err != nil {
		log.Warn("the folders of a run could not be removed", "error", err)
	}
}
