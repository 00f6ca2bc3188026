package agent

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// process is a running command and the goroutines that serve its pipes. The
// pipes are its own and not exec.Cmd's, so that the end of the command and the
// end of its output are two events: a process that the command left behind may
// hold its output open for ever.
type process struct {
	cmd *exec.Cmd
	// pieces yields what comes on standard output, as it comes, and is closed
	// at its end. A piece is valid until the next has been received.
	pieces chan []byte
	quiet  chan struct{} // closed at the end of standard error
	exited chan struct{} // closed when the command's own process has ended
	err    error         // why it did not succeed; set before exited is closed

	stop  chan struct{} // closed by close: nobody receives pieces any more
	pipes []*os.File    // our ends
	work  sync.WaitGroup
}

// start runs argv with env added to this process's environment and input on
// its standard input. The caller has to call close in the end.
func start(argv, env []string, input string, log *slog.Logger) (*process, error) {
	p := &process{
		cmd:    exec.Command(argv[0], argv[1:]...),
		pieces: make(chan []byte),
		quiet:  make(chan struct{}),
		exited: make(chan struct{}),
		stop:   make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), env...)
	ownGroup(p.cmd)

	var pipes, theirs [3]*os.File // ends by file descriptor: ours, the command's
	defer func() {
		for _, f := range theirs {
			f.Close() // the command has its own copies; nil is fine
		}
	}()
	for fd := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			p.closePipes()
			return nil, err
		}
		pipes[fd], theirs[fd] = r, w
		if fd == 0 {
			pipes[fd], theirs[fd] = w, r
		}
		p.pipes = append(p.pipes, pipes[fd])
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		return nil, err
	}

	p.work.Go(func() {
		// A command that does not read its input to the end is no error.
		io.WriteString(pipes[0], input)
		pipes[0].Close()
	})
	p.work.Go(func() {
		defer close(p.pieces)
		p.read(pipes[1])
	})
	p.work.Go(func() {
		defer close(p.quiet)
		logLines(pipes[2], log)
	})
	p.work.Go(func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	})
	return p, nil
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
		if err != nil {
			return // the end, or closed by close
		}
	}
}

// close ends everything at once that has not ended by itself, and returns when
// all is quiet. Nothing may use p.pieces afterwards.
func (p *process) close() {
	p.kill()
	close(p.stop)
	p.closePipes() // ends reads and writes that still wait
	p.work.Wait()
}

func (p *process) closePipes() {
	for _, f := range p.pipes {
		f.Close()
	}
}

// maxLogLine caps what one log record holds of a line, in bytes.
const maxLogLine = 4 << 10

// logLines writes what comes from r to the log, one record a line, until its
// end. Of a line that is too long only the beginning is kept.
func logLines(r io.Reader, log *slog.Logger) {
	in := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		text := strings.ToValidUTF8(string(line), "\uFFFD")
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if text != "" {
			log.Info("command printed on standard error", "line", text)
		}
	}
}
