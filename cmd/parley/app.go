package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/help"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/signin"
	"github.com/parley-a2a/parley/internal/terminal"
)

// app is one invocation of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr *plain.Writer
	screen *terminal.Screen // what stdout and stderr write to
	around surroundings

	flags flags
	help  help.Page

	// set by configure
	settings *settings
	commands output.Commands
	print    output.Printer
	log      *slog.Logger

	// set by dial
	card     *a2a.AgentCard
	via      *a2a.AgentInterface
	peer     *a2aclient.Client
	signedBy string // the key of --card-trust that has signed the card

	exit    int  // of a command that succeeded
	sending bool // a message: without an answer it may still have been taken

	roots       *x509.CertPool    // including those of --ca-file; nil: the system's
	certificate []tls.Certificate // of --client-cert; none without that flag

	unnamed  bool              // the agent is this machine's default, and the user did not name it
	signedIn *signin.Tokens    // nil: no agent was called
	from     *a2aclient.Source // the catalog that names the agent; nil: the user does

	proxy   atomic.Pointer[url.URL] // of the latest request; nil: none
	outage  terminal.Outage         // reports a connection that stays lost
	waiting *terminal.Waiting       // for a task; nil before that

	warned struct{ insecure, plain bool } // warnings that were given

	// subject is the task on the command line; "" if there is none.
	subject string

	// webhook is the webhook of that task on the command line; "" if there is none.
	webhook string

	// last is the latest known state of the invocation's task, without its content; nil before
	// there is one. Failures name it.
	last *a2a.Task
}

var errTimeout = errors.New("--timeout expired")

// run runs the program and returns its exit code. ctx ends when the user
// interrupts.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	around := systemSurroundings()
	screen := terminal.New(stdout, stderr, around.lookup)
	a := &app{
		stdin: stdin, stdout: screen.Out(), stderr: plain.NewWriter(screen.Err()), screen: screen, around: around,
		log: slog.New(slog.DiscardHandler),
	}
	a.outage.Say = func(line string) {
		a.stderr.Note("Note", "%s", line)
		if a.waiting != nil {
			a.waiting.Say(line)
		}
	}
	a.commands.Parley = a.around.itself
	root := newRoot(a)
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		tab(root, args[1:])
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.exit
	}
	// An error that is no failure is cobra's own: no code of this program has run.
	return a.fail(usageOf(root, unwritten(err)), args)
}

// fail prints a failure and returns its exit code.
func (a *app) fail(f *failure.Error, args []string) int {
	a.outage.Stop()
	if a.print == nil {
		a.print = a.earlyPrinter(args)
	}
	said := *f
	said.Message, said.Hint, said.Lines = a.stderr.Redact(f.Message), a.stderr.Redact(f.Hint), slices.Clone(f.Lines)
	for i, line := range said.Lines {
		said.Lines[i] = a.stderr.Redact(line)
	}
	said.Problems = slices.Clone(f.Problems)
	for i, p := range said.Problems {
		said.Problems[i].Message = a.stderr.Redact(p.Message)
	}
	f = &said // it may go to standard output, too
	if f.Cause != nil {
		a.log.Debug("failed", "error", f.Cause)
	}
	if t := a.last; t != nil {
		if _, json := a.print.(*output.JSON); json {
			a.stderr.Note("Note", "%s was last seen as %s", named(t), t.Status.State)
		}
		if !rests(t.Status.State) {
			_ = a.print.Unfinished(t) // the failure matters more
		}
	}
	if err := a.print.Failure(f); err != nil {
		fmt.Fprintf(a.stderr, "Error: %v\n", f) // the format on standard output cannot carry it
	}
	return f.Exit()
}

// configure resolves the options and prepares what depends on them.
func (a *app) configure(ctx context.Context, fs *pflag.FlagSet) error {
	a.commands = newCommands(a.around.itself, fs) // before flags get values from variables
	s, warnings, err := loadSettings(a.around, a.flags.config, a.flags.context)
	if err != nil {
		return err
	}
	if err := s.apply(fs); err != nil {
		return err
	}
	a.settings = s
	credentials := append(a.flags.basic.hidden(), a.flags.bearer, a.flags.apiKey)
	a.stderr.Hide(credentials...)
	hideParams(a.stderr, a.flags.svcParams)
	if u, err := url.Parse(a.flags.agentCard); err == nil && u.User != nil {
		password, _ := u.User.Password()
		a.stderr.Hide(password)
	}
	// Service parameters are not the agent's credentials: its card may contain one, such as a
	// host.
	a.stdout = plain.Results(a.stdout, credentials...)
	for _, w := range warnings {
		a.stderr.Note("Warning", "%s", w)
	}
	if err := a.settleWait(); err != nil {
		return err
	}
	if err := a.settleCredentials(); err != nil {
		return err
	}
	if a.flags.debug {
		a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	text := output.NewText(a.stdout, a.stderr, a.flags.verbose, a.flags.history != nil, a.commands)
	switch {
	case a.flags.machine():
		a.print, err = a.documents(ctx, text)
		return err
	case a.screen.IsTerminal() && s.from["output"].level == fromDefault && !a.flags.verbose:
		a.print = output.NewHuman(a.screen, a.stderr, text)
	default:
		a.print = text
	}
	return nil
}

// settleWait decides between --wait, --async and --stream.
func (a *app) settleWait() error {
	f := &a.flags
	if f.stream && f.async && a.settings.from["async"].level > fromFlag {
		f.async = false
	}
	if f.wait && f.async {
		wait, err := a.settings.prefer("wait", "async")
		if err != nil {
			return err
		}
		f.wait, f.async = wait, !wait
	}
	if f.stream && f.async {
		return failure.Usagef("--stream and --async exclude each other").WithHint("--async returns at once; follow the task with: parley task subscribe --stream <task-id>")
	}
	return nil
}

// earlyPrinter returns a printer for failures of the command line itself. It determines the
// format from the arguments as far as possible.
func (a *app) earlyPrinter(args []string) output.Printer {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	known.ParseErrorsAllowlist.UnknownFlags = true
	known.SetOutput(io.Discard)
	form := known.StringP("output", "o", "", "")
	stream := known.String("stream", "", "")
	known.Lookup("stream").NoOptDefVal = "true"
	_ = known.Parse(args) // the failure is about them
	if *form == "" {
		if s, _, err := loadSettings(a.around, a.flags.config, a.flags.context); err == nil {
			*form, _ = s.find("output")
		} else {
			*form, _ = a.around.lookup(envName("output"))
		}
	}
	if strings.EqualFold(*form, "json") {
		return &output.JSON{Out: a.stdout, Lines: *stream == "true"}
	}
	text := output.NewText(a.stdout, a.stderr, false, false, a.commands)
	if *form == "" && a.screen.IsTerminal() {
		return output.NewHuman(a.screen, a.stderr, text)
	}
	return text
}

// saw remembers the state of this invocation's task. A direct message, which may name a task,
// tells none.
func (a *app) saw(r *a2a.StreamResponse) {
	id := r.TaskID()
	if id == "" || r.Message != nil {
		return
	}
	if a.last == nil {
		a.last = new(a2a.Task)
	}
	a.last.ID = id
	switch {
	case r.Task != nil:
		a.last.ContextID, a.last.Status = r.Task.ContextID, r.Task.Status
	case r.StatusUpdate != nil:
		a.last.ContextID, a.last.Status = r.StatusUpdate.ContextID, r.StatusUpdate.Status
	}
}

// outcome warns if a task did not end in success, or waits (a2a-cli §11.6). The exit code does
// not show that by default.
func (a *app) outcome(t *a2a.Task) {
	if a.flags.exitStatus {
		var rests bool
		if a.exit, rests = taskExits[t.Status.State]; !rests {
			a.exit = exitAtWork
		}
	}
	if _, human := a.print.(*output.Human); human {
		return // it has just printed this, in color
	}
	switch s := t.Status.State; {
	case s.Interrupted():
		a.stderr.Note("Warning", "task %s waits for you: %s", t.ID, s)
		if a.flags.machine() {
			a.stderr.Note("Resume", "%s", a.commands.Reply(t))
		}
	case s.Terminal() && s != a2a.TaskStateCompleted:
		a.stderr.Note("Warning", "task %s ended: %s", t.ID, s)
	}
}
