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
// With ExecLines both sides write JSON objects, one a line: docs/exec.md describes
// them, and everything else that the author of a command needs. The next two paragraphs
// are about ExecPlain, the rest about both modes.
//
// In: the text of the message (its text parts, its files of a text type and its data as
// JSON, joined by line feeds) is the command's standard input; other parts are ignored,
// and a message without any text is rejected. With ExecOptions.Files all files are
// passed in a folder, and a file without text is enough. A command need not read its
// input.
//
// Out: standard output becomes one artifact, "output", a chunk a line. The newest line
// is held until the next line, the end of the output, or 50 ms, so that the last line
// of a quick command is also the last chunk. Lines above 64 KiB are cut, bytes that are
// not UTF-8 become U+FFFD, and after 10,000 chunks lines that come together share a
// chunk. Standard error goes to the log.
//
// Exit status 0 completes the task. The task fails, with a reason that names neither
// arguments nor directories, after any other status, death by a signal, too much
// output, if the program cannot be started, or if it closes its output and runs on for
// longer than the grace.
//
// The environment is that of this process, with PARLEY_MODE, PARLEY_TASK_ID,
// PARLEY_CONTEXT_ID, PARLEY_ATTEMPT, PARLEY_CALLER, PARLEY_TENANT and, if the request
// belongs to a trace, TRACEPARENT and perhaps TRACESTATE. Clients choose context ids,
// and two callers may choose the same id, with any characters but control characters.
// So key what a command stores for a context by tenant, caller and context together,
// and use none of them as a file name unchanged.
//
// A command runs in a process group of its own. When its task is cancelled, its time is
// up or the server drains, the group gets SIGTERM (with ExecLines first a cancel line
// and a second to end), and SIGKILL if any of it is left after the grace. After a
// normal end too, processes that the command left running in its group are killed, once
// they have had a moment to finish printing: nothing outlives its task (a program that
// must outlive it starts a session of its own). On systems without process groups only
// the command itself is killed. If the server is itself killed, Linux kills the command
// with it; the command's children, and on other systems the command too, find their
// pipes closed. The message is run again when the server is back.
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
	// muteTime is how long a command with ExecLines may write no line before this is
	// logged.
	muteTime = 10 * time.Second
)

// command is the agent that Exec returns.
type command struct {
	argv                []string
	opts                *ExecOptions
	hold, linger, stall time.Duration // holdTime, child.Linger and stallTime, except in tests
	mute                time.Duration // muteTime, except in tests
	places              *queue.Queue  // limits processes at work
	room                fileRoom      // folder for the files of runs

	mu      sync.Mutex                 // protects the fields below
	idle    []*process                 // processes that wait for their next message
	waiting []*context.CancelCauseFunc // evict the processes that wait for an answer, oldest first
	closed  bool
}

// name is the command's name as the public may see it.
func (c *command) name() string {
	return strings.TrimSuffix(filepath.Base(c.argv[0]), ".exe")
}

// Kind is for KindOf.
func (c *command) Kind() string { return "exec" }

func (c *command) Run(ctx context.Context, t *Turn) error {
	task := t.Task().ID
	log := t.Log(c.opts.logger()).With("command", c.name())
	if c.opts.Mode == ExecLines {
		return c.fault((&linesRun{c: c, t: t, task: task, log: log, artifacts: map[string]*Artifact{}}).run(ctx))
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
	r := &run{c: c, p: p, out: &lines{w: t.Artifact("output")}, room: c.opts.maxOutput()}
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

// start starts a process of the command, as soon as the machine has the resources.
func (c *command) start(ctx context.Context, env []string, log *slog.Logger) (p *process, err error) {
	said := false
	err = scarce.Again(ctx, func() error {
		p, err = c.launch(env, log)
		if scarce.Is(err) && !said {
			said = true
			log.Warn("a command cannot start: no file descriptors, processes or memory left; trying again", "error", err)
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

// folders makes the folders of a run, or returns nil if files are not passed.
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

// discard removes the folders of a run.
func (c *command) discard(f *folders, log *slog.Logger) {
	if f == nil {
		return
	}
	if err := f.remove(); err != nil {
		log.Warn("the folders of a run could not be removed", "error", err)
	}
}
