package agent

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/child"
)

// process is a running command and the goroutines that serve its pipes.
type process struct {
	*child.Process
	// input is what is written to its standard input, a piece at a time; nil once
	// there is no more. Its owner sends and closes.
	input chan []byte
	// pieces yields what comes on standard output, as it comes, and is closed
	// at its end. A piece is valid until the next has been received.
	pieces chan []byte
	quiet  chan struct{} // closed at the end of standard error

	log     atomic.Pointer[slog.Logger] // of the task that it serves
	logRoom atomic.Int64                // how many bytes of standard error the log still takes

	// rest is what it printed and nobody has taken as lines yet, seen how much of it
	// has no end of a line. They belong to the session that the process serves.
	rest []byte
	seen int

	stop chan struct{} // closed by close: nobody receives pieces any more
}

// errNoMemory says that a limit of memory is asked for where none can be kept.
var errNoMemory = errors.New("agent: this system has no limit of memory for one process")

// launch runs the command. The caller sends its input, or closes it, and has to call
// close in the end.
func (c *command) launch(env []string, log *slog.Logger) (*process, error) {
	p := &process{
		input:  make(chan []byte, 1),
		pieces: make(chan []byte),
		quiet:  make(chan struct{}),
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

// feed writes what is sent to input. A command that does not read its input to the
// end is no error; what it does not read is dropped, at the latest child.Linger after
// the command has ended.
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

// read sends what comes from f, until its end or close.
func (p *process) read(f *os.File) {
	// Two buffers in turns: while the receiver works on one piece, the next
	// is read, and sent only when the receiver is done with the first.
	var bufs [2][32 << 10]byte
	for i := 0; ; i++ {
		buf := bufs[i%2][:]
		n, err := f.Read(buf)
		if n > 0 {
			select {
			case p.pieces <- buf[:n]:
			case <-p.stop:
				return
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) { // given up
			p.drain(f)
			return
		}
		if err != nil {
			return // the end, or closed by close
		}
	}
}

// giveUp ends the output that somebody who has left the group holds open: what has
// been printed still comes, up to a bound, and then pieces and quiet are closed. It
// reports whether it can.
func (p *process) giveUp() bool {
	now := time.Now()
	return p.Out.SetReadDeadline(now) == nil && p.Err.SetReadDeadline(now) == nil
}

// drain sends what is in f without waiting for more.
func (p *process) drain(f *os.File) {
	f.SetReadDeadline(time.Time{})
	for range maxLate {
		buf := make([]byte, 32<<10)
		n := readNow(f, buf)
		if n <= 0 {
			return
		}
		select {
		case p.pieces <- buf[:n]:
		case <-p.stop:
			return
		}
	}
}

// close ends everything at once that has not ended by itself, and returns when
// all is quiet. Nothing may use p.pieces afterwards.
func (p *process) close() {
	p.Kill()
	close(p.stop)
	p.ClosePipes()
	p.Work.Wait()
}

// maxLog caps what the log takes of a run, in bytes.
const maxLog = 1 << 20

// StandardError is the message of a log record with a line that a command printed on
// standard error; its attribute line has the text.
const StandardError = "command printed on standard error"

// serves says for whom the process works from now on.
func (p *process) serves(log *slog.Logger) {
	p.log.Store(log)
	p.logRoom.Store(maxLog)
}

// mayLog reports whether the log takes so many bytes more of this run, and says so
// once when it does not.
func (p *process) mayLog(n int) bool {
	left := p.logRoom.Add(-int64(n) - 1)
	if left < 0 && left >= -int64(n)-1 {
		p.log.Load().Warn("command has too much for the log; the rest of this run is left out", "bytes", maxLog)
	}
	return left >= 0
}
