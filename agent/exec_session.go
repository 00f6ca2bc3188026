package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/child"
	"github.com/parley-a2a/parley/internal/program"
	"github.com/parley-a2a/parley/internal/wake"
)

// linesRun is one run with a command that speaks the line protocol. Several processes may
// serve it in turn. All its fields belong to the goroutine in run.
type linesRun struct {
	c    *command
	t    *Turn
	task string // its id
	log  *slog.Logger

	artifacts map[string]*Artifact // by name
	answers   []*a2a.Message       // to the questions of the run, in their order
	steps     []outcome            // results of its steps, in their order
	runs      int                  // processes that were told the message
}

// session is the part of a run that one process serves.
type session struct {
	*linesRun
	p      *process
	pieces <-chan []byte // nil once the output has ended
	shut   *time.Timer   // runs from then on: the process has to end, too
	placed bool          // it occupies a slot
	f      *folders
	reused bool // the process served earlier messages

	room    int64         // how many bytes may still be printed
	n       int           // number of the newest line
	spoke   bool          // it wrote a line about this task
	asked   int           // questions so far
	open    *question     // the one that waits for its answer, or nil
	stepped int           // steps so far
	slow    *time.Timer   // fires when the time of the run is up
	mute    *time.Timer   // fires when it is to be logged that no line was written
	began   time.Time     // when the run's time last began to count
	left    time.Duration // the time that was left then
}

// errAgain says that the run begins again from the top with another process.
var errAgain = errors.New("agent: the run goes on with another process")

func (r *linesRun) run(ctx context.Context) error {
	for {
		r.runs++
		if err := r.serve(ctx); err != errAgain {
			return err
		}
		for _, a := range r.artifacts {
			a.Again()
		}
	}
}

// serve works on the run with one process, as far as that gets. errAgain says that
// another process must go on.
func (r *linesRun) serve(ctx context.Context) (err error) {
	s := &session{
		linesRun: r, room: r.c.opts.maxOutput(), left: r.c.opts.timeout(),
		shut: wake.Stopped(), slow: wake.Stopped(), mute: wake.Stopped(),
	}
	if err := s.c.places.Enter(ctx); err != nil {
		return err
	}
	s.placed = true
	defer func() {
		if s.placed {
			s.c.places.Leave()
		}
	}()
	if s.f, err = s.c.folders(ctx, s.t); err != nil {
		return err
	}
	defer s.c.discard(s.f, s.log)
	if err := s.take(ctx); err != nil {
		return err
	}
	s.pieces = s.p.pieces
	defer s.shut.Stop()
	defer s.slow.Stop()
	defer s.mute.Stop()
	s.resume()
	err = s.converse(ctx)
	s.slow.Stop()
	return s.finish(ctx, err)
}

// converse sends the message to the process and does what its lines say, until the
// process has ended the task (errGone) or has ended itself (io.EOF), or an error
// occurs.
func (s *session) converse(ctx context.Context) error {
	if err := s.send(ctx, s.message()); err != nil {
		return err
	}
	s.mute.Reset(s.c.mute)
	for {
		l, err := s.hear(ctx, nil)
		if err != nil {
			return err
		}
		if err := s.obey(ctx, l); err != nil {
			return err
		}
	}
}

// message returns the line that carries the message.
func (s *session) message() *told {
	m, task, caller := s.t.Message(), s.t.Task(), s.t.Caller()
	l := &told{
		Type: "message", Parley: linesVersion, Task: task.ID, Context: task.ContextID, Attempt: s.attempt(),
		Caller: &program.Caller{Subject: caller.Subject, Tenant: caller.Tenant}, Message: m, Metadata: s.t.Metadata(), Skill: (*program.Skill)(s.t.Skill()), Accepted: s.t.AcceptedOutputModes(), Version: s.t.Version(),
		Traceparent: caller.Trace, Tracestate: caller.TraceState,
	}
	words, _ := program.Text(m, s.f != nil)
	l.Text = &words
	if s.f != nil {
		l.In, l.Out = s.f.in, s.f.out
		l.Message = s.f.refer(m)
	}
	return l
}

// attempt counts the runs from the top, the engine's and this session's.
func (s *session) attempt() int { return s.t.Attempt() + s.runs - 1 }

// obey does what a line says.
func (s *session) obey(ctx context.Context, l *said) error {
	switch l.kind {
	case "log":
		s.logged(ctx, l)
		return nil
	case "status":
		return s.emitted(l.line, s.t.StatusMessage(l.message()))
	case "artifact":
		return s.artifact(l)
	case "ask", "authenticate":
		return s.ask(ctx, l)
	case "step":
		return s.step(ctx, l)
	case "references":
		return s.references(ctx)
	case "siblings":
		return s.sendTasks(ctx, s.t.Siblings(ctx))
	case "resume":
		return s.takeUp(ctx, l)
	case "result":
		return s.bad(l.line, "a line of type result without a step before", nil)
	}
	return s.end(ctx, l)
}

// end ends the task as the line says.
func (s *session) end(ctx context.Context, l *said) error {
	var err error
	switch l.kind {
	case "fail":
		err = s.t.End(a2a.TaskStateFailed, l.message())
	case "reject":
		err = s.t.End(a2a.TaskStateRejected, l.message())
	default:
		if err := s.collect(ctx); err != nil {
			return err
		}
		if l.kind == "reply" {
			err = s.t.ReplyParts(l.parts...)
		} else {
			err = s.t.End(a2a.TaskStateCompleted, l.message())
		}
	}
	if err := s.emitted(l.line, err); err != nil {
		return err
	}
	return errGone
}

// collect emits the files that the process left.
func (s *session) collect(ctx context.Context) error {
	if s.f == nil {
		return nil
	}
	return s.f.collect(ctx, s.t, s.room)
}

func (s *session) artifact(l *said) error {
	a, err := s.artifactOf(l)
	if err != nil {
		return err
	}
	if !l.append {
		a.Again()
	}
	a.Description, a.Metadata = l.description, l.metadata // used only if it begins
	if l.last {
		err = a.Last(l.parts...)
	} else {
		err = a.Add(l.parts...)
	}
	if errors.Is(err, errClosed) {
		return s.bad(l.line, `its artifact has had its last chunk; "append":false begins it anew`, err)
	}
	return s.emitted(l.line, err)
}

// emitted turns an error of emitting into the error that fails the task.
func (s *session) emitted(line []byte, err error) error {
	var coded *a2a.Error
	switch {
	case err == nil, isAny(err, ErrEnded, ErrTooLarge, ErrCanceled, ErrDraining, ErrTimeout, context.Canceled):
		return err
	case errors.As(err, &coded):
		return s.bad(line, coded.Message, err)
	}
	return s.bad(line, "it cannot be passed on", err)
}

// bad returns the error for a line that fails the task. Its text is only logged.
func (s *session) bad(line []byte, problem string, cause error) error {
	log := s.log
	if !s.spoke && !bytes.HasPrefix(line, []byte("{")) {
		log = log.With("hint", "with --lines a command writes JSON objects, one a line (docs/exec.md); if yours prints text, leave --lines out (mode: plain)")
	}
	log.Warn("command wrote an invalid line", "line", s.n, "problem", problem, "text", clip(string(line), 200), "cause", cause)
	return Public(fmt.Sprintf("line %d of the command's output: %s", s.n, problem), cause)
}

// silent logs that the command has not written a line yet, with the likely cause.
func (s *session) silent() {
	cause := "it may hold its output back: flush each line (python3 -u, print(…, flush=True)); or it waits for the end of its input: read one line, the input stays open; " +
		"or it does not speak in lines: leave --lines out (mode: plain)"
	if n := len(s.p.rest); n > 0 {
		cause = fmt.Sprintf("it has printed %d bytes without a line feed: end each JSON object with one", n)
	}
	s.log.Warn("command has written no line yet", "after", s.c.mute, "hint", cause)
}

// clip returns valid UTF-8 of at most so many bytes and an ellipsis.
func clip(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (s *session) logged(ctx context.Context, l *said) {
	if words := clip(l.message().Text(), child.MaxLine); s.p.mayLog(len(words)) {
		s.log.Log(ctx, l.level, "command says", "text", words)
	}
}

// resume restarts the clock of the run, suspend stops it.
func (s *session) resume() {
	s.began = time.Now()
	if s.c.opts.timeout() > 0 {
		s.slow.Reset(s.left)
	}
}

func (s *session) suspend() {
	s.slow.Stop()
	s.left = max(s.left-time.Since(s.began), 0)
}

// finish keeps or ends the process, and returns the result of the run.
func (s *session) finish(ctx context.Context, err error) error {
	grace := s.c.opts.grace()
	switch err {
	case errGone:
		if !s.keep() {
			s.p.hangUp(grace, grace)
			if s.p.Cause != nil {
				s.log.Warn("command did not end well after it had ended its task", "error", s.p.Cause)
			}
		}
		return nil
	case errEvicted:
		return s.evicted()
	case io.EOF, errMidStep:
		s.p.hangUp(0, grace)
		cause := s.p.Cause
		switch {
		case s.open != nil:
			return Public(exitReason(cause)+" while its question was open", cause)
		case err == errMidStep:
			return Public(exitReason(cause)+" in the middle of a step", cause)
		case s.reused && !s.spoke && cause == nil: // it may have ended on its own before it read the message
			s.log.Warn("a process that was kept ended when its next message came; another takes its place", "error", cause)
			return errAgain
		case cause != nil:
			return Public(exitReason(cause), cause)
		case s.c.opts.keeps() > 0:
			return Public("the command exited before it had ended the task", nil)
		case !s.spoke:
			return Public("the command exited with status 0 and had written no line", nil)
		}
		return s.collect(ctx)
	}
	reason := ""
	switch {
	case isAny(err, ErrCanceled, ErrEnded, ErrTooLarge, context.Canceled):
		reason = "canceled"
	case errors.Is(err, ErrDraining):
		reason = "draining"
	case isAny(err, ErrTimeout, errSlow):
		reason = "timeout"
	}
	s.cancel(reason)
	return err
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}
