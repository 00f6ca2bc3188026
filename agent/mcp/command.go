package mcp

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// lingerTime is how long output may go on after the command's own process has ended.
const lingerTime = 250 * time.Millisecond

// process is a running command and the goroutines that serve it.
type process struct {
	cmd     *exec.Cmd
	in      *os.File      // its standard input
	out     *os.File      // its standard output
	errs    *os.File      // its standard error
	exited  chan struct{} // closed when the command's own process has ended
	closing chan struct{} // closed by close
	grace   time.Duration
	work    sync.WaitGroup
	once    sync.Once
}

// startProcess runs a server's command. The caller has to call close in the end.
func startProcess(s *Server, o *Options) (*process, error) {
	p := &process{
		cmd:     exec.Command(s.Command[0], s.Command[1:]...),
		exited:  make(chan struct{}),
		closing: make(chan struct{}),
		grace:   o.grace(),
	}
	p.cmd.Dir = s.Dir
	p.cmd.Env = append(os.Environ(), s.Env...)
	ownGroup(p.cmd)

	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close() // the command has its own copies; nil is fine
		}
	}()
	for fd, ours := range []**os.File{&p.in, &p.out, &p.errs} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closePipes()
			return nil, err
		}
		*ours, theirs[fd] = r, w
		if fd == 0 {
			*ours, theirs[fd] = w, r
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]

	started := make(chan error, 1)
	p.work.Go(func() {
		// Where the system ends a command with the thread that started it, that
		// thread must live as long as the command.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.cmd.Wait() // how it ended is of no use: the session is over in any case
		close(p.exited)
		// What it left behind may hold its output open.
		linger := time.NewTimer(lingerTime)
		defer linger.Stop()
		select {
		case <-linger.C:
			p.out.Close()
		case <-p.closing:
		}
	})
	if err := <-started; err != nil {
		p.work.Wait()
		p.closePipes()
		return nil, err
	}
	p.work.Go(func() { logLines(p.errs, o.logger()) })
	return p, nil
}

// close ends the command and what it started, politely first, and returns when
// all is quiet.
func (p *process) close() {
	p.once.Do(func() {
		close(p.closing)
		p.in.Close() // what the protocol says first
		if !p.wait() {
			p.terminate()
			p.wait()
		}
		p.kill() // also what it left behind in its group
		<-p.exited
		p.closePipes()
		p.work.Wait()
	})
}

// wait reports whether the command ended within the grace.
func (p *process) wait() bool {
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.in, p.out, p.errs} {
		if f != nil {
			f.Close()
		}
	}
}

// maxLogLine caps what one log record holds of a line, in bytes.
const maxLogLine = 4 << 10

// logLines writes what comes from r to the log, a record a line, until its end. Of
// a line that is too long only the beginning is kept.
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
			log.Info("MCP server printed on standard error", "line", text)
		}
	}
}
