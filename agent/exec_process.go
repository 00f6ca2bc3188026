package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/child"
	"github.com/parley-a2a/parley/internal/wake"
)

// process is a running command and the goroutines that serve its pipes.
type process struct {
	*child.Process
	// input takes the pieces to write to standard input; nil once there are no more.
	// Its owner sends and closes.
	input chan []byte
	// pieces yields standard output piece by piece, and is closed at its end. A piece
	// is valid until the next has been received.
	pieces chan []byte
	quiet  chan struct{} // closed at the end of standard error
	told   chan struct{} // closed when the process is told to end
	linger time.Duration // see command

	log     atomic.Pointer[slog.Logger] // of the task that it serves
	logRoom atomic.Int64                // how many more bytes of standard error may be logged

	// rest is output that has not been cut into lines yet; its first seen bytes contain
	// no line feed. Both belong to the session that the process serves.
	rest []byte
	seen int

	stop chan struct{} // closed by close: no more pieces are received
}

// errNoMemory says that a memory limit was set on a system that cannot enforce one.
var errNoMemory = errors.New("agent: this system has no limit of memory for one process")

// launch runs the command. The caller sends its input, or closes it, and must call
// close in the end.
func (c *command) launch(env []string, log *slog.Logger) (*process, error) {
	p := &process{
		input:  make(chan []byte, 1),
		pieces: make(chan []byte),
		quiet:  make(chan struct{}),
		told:   make(chan struct{}),
		linger: c.linger,
		stop:   make(chan struct{}),
	}
	p.serves(log)
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.opts.Dir, env
	begin := cmd.Start
	if most := c.opts.memory(); most > 0 {
		begin = func() error { return startLimited(cmd, most) }
	}
	var err error
	if p.Process, err = child.Start(cmd, begin); err != nil {
		return nil, err
	}
	p.Work.Go(func() { p.feed(p.In) })
	p.Work.Go(func() {
		defer close(p.pieces)
		p.read(p.Out)
	})
	p.Work.Go(func() { p.expire(p.Out) })
	p.Work.Go(func() {
		defer close(p.quiet)
		child.Lines(p.Err, func(line string) {
			if p.mayLog(len(line)) {
				p.log.Load().Info(StandardError, "line", line)
			}
		})
	})
	return p, nil
}

// feed writes the pieces sent to input. It is no error if a command does not read all
// of its input; the unread rest is dropped, at the latest child.Linger after the
// command has ended.
func (p *process) feed(f *os.File) {
	defer f.Close()
	var err error
	for {
		select {
		case b, ok := <-p.input:
			if !ok {
				return
			}
			if err == nil {
				_, err = f.Write(b)
			}
		case <-p.stop:
			return
		}
	}
}

// maxLate caps how many pieces are read after the kill. A full pipe holds fewer; more can
// only come from a process that has left the group.
const maxLate = 40

// read sends what it reads from f, until its end. Processes left running when the
// command's own process has ended may print for a moment, and are then killed. Output is
// read until there is silence, because a process that has left the group may hold it open.
func (p *process) read(f *os.File) {
	// It uses two buffers in turn: while the receiver works on one piece, the next is
	// read, and it is sent only when the receiver is done with the first.
	var bufs [2][32 << 10]byte
	sent, late := 0, 0 // late counts the reads after the kill
	for late <= maxLate {
		buf := bufs[sent%2][:]
		n, err := f.Read(buf)
		if n > 0 {
			select {
			case p.pieces <- buf[:n]:
				sent++
			case <-p.stop:
				return
			}
		}
		switch {
		case late == 0 && errors.Is(err, os.ErrDeadlineExceeded): // of expire
			p.Kill()
		case err != nil:
			return // the end, silence, or closed by close
		case late == 0:
			continue
		}
		late++
		f.SetReadDeadline(time.Now().Add(child.Linger)) // of each read, so that a slow receiver loses nothing
	}
}

// expire bounds reading from f once the command's own process has ended, unless it was
// told to end: then it and all that it started have the grace.
func (p *process) expire(f *os.File) {
	select {
	case <-p.Exited:
	case <-p.told:
		return
	}
	if f.SetReadDeadline(time.Now().Add(p.linger)) == nil {
		return
	}
	select { // pipes of this system have no deadlines
	case <-time.After(p.linger):
		f.Close()
	case <-p.stop:
	}
}

// ends returns nil when the process, whose output has ended, has ended, too. It has the
// grace for that: after it, ends returns errShut.
func (p *process) ends(ctx context.Context, grace time.Duration) error {
	select {
	case <-p.Exited:
		return nil
	case <-time.After(grace):
		return errShut
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wind ends a process and returns when nothing of it is left here. The process may end
// by itself within patience; then it is told to end, and has the grace. Standard error is
// read for a moment longer: its last lines say why the process ended.
func (p *process) wind(patience, grace time.Duration) {
	defer p.close()
	pieces, quiet, exited := p.pieces, p.quiet, p.Exited
	if wake.Closed(exited) {
		patience, exited = p.linger, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	told := false
	for pieces != nil || quiet != nil || exited != nil {
		select {
		case _, ok := <-pieces:
			if !ok {
				pieces = nil
			}
		case <-quiet:
			quiet = nil
		case <-exited:
			exited = nil
			if !told {
				timer.Reset(p.linger)
			}
		case <-timer.C:
			if told || exited == nil {
				return
			}
			told = true
			close(p.told)
			p.Terminate()
			timer.Reset(grace)
		}
	}
}

// hangUp closes the input of a process, which tells it that there is no more work, and
// winds it.
func (p *process) hangUp(patience, grace time.Duration) {
	close(p.input)
	p.wind(patience, grace)
}

// close kills and closes at once everything that has not ended by itself, and returns
// when its goroutines have ended. Nothing may use p.pieces afterwards.
func (p *process) close() {
	p.Kill()
	close(p.stop)
	p.ClosePipes()
	p.Work.Wait()
}

// maxLog caps how much of a run's standard error is logged, in bytes.
const maxLog = 1 << 20

// StandardError is the message of a log record with a line that a command printed on
// standard error; its attribute line has the text.
const StandardError = "command printed on standard error"

// serves sets the logger of the run that the process works for from now on.
func (p *process) serves(log *slog.Logger) {
	p.log.Store(log)
	p.logRoom.Store(maxLog)
}

// mayLog reports whether n more bytes of this run may be logged. The first time that
// they may not, it logs that.
func (p *process) mayLog(n int) bool {
	left := p.logRoom.Add(-int64(n) - 1)
	if left < 0 && left >= -int64(n)-1 {
		p.log.Load().Warn("command printed too much for the log; the rest of this run is left out", "bytes", maxLog)
	}
	return left >= 0
}
