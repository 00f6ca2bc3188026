// Package child runs commands with pipes, each in a process group that ends with this process
// if the system supports it.
package child

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Process is a running command. It uses its own pipes, not exec.Cmd's, so that the end of the
// command and the end of its output are separate events: a process that the command left behind
// may hold its output open for ever.
type Process struct {
	In, Out, Err *os.File // this side of its standard input, output and error
	Work         sync.WaitGroup
	Exited       <-chan struct{} // closed when the command's own process has ended
	Cause        error           // why it did not succeed; set before Exited is closed

	cmd *exec.Cmd
}

// Linger is how long output may go on after the command's own process has ended, and how long a
// pipe may be silent after everything was killed, before it is given up.
const Linger = 250 * time.Millisecond

// Start starts a command by begin, which is cmd.Start, or calls it. In the end the caller must
// call ClosePipes and wait for Work.
func Start(cmd *exec.Cmd, begin func() error) (*Process, error) {
	exited := make(chan struct{})
	p := &Process{cmd: cmd, Exited: exited}
	ownGroup(cmd)
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close() // the command has its own copies; nil is fine
		}
	}()
	for fd, ours := range []**os.File{&p.In, &p.Out, &p.Err} {
		r, w, err := os.Pipe()
		if err != nil {
			p.ClosePipes()
			return nil, err
		}
		*ours, theirs[fd] = r, w
		if fd == 0 {
			*ours, theirs[fd] = w, r
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	started := make(chan error, 1)
	p.Work.Go(func() {
		// The system may kill the command when the thread that started it ends (see ownGroup).
		// So that thread must live as long as the command. This costs nothing, because waiting
		// occupies a thread anyway.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := begin()
		started <- err
		if err != nil {
			return
		}
		p.Cause = cmd.Wait()
		// A process that holds the command's input open without reading it must not block
		// writes to it. An error means that pipes have no deadlines on this system: then
		// ClosePipes ends the write.
		_ = p.In.SetWriteDeadline(time.Now().Add(Linger))
		close(exited)
	})
	if err := <-started; err != nil {
		p.ClosePipes()
		p.Work.Wait()
		return nil, err
	}
	return p, nil
}

// ClosePipes closes this side of the pipes, which ends reads and writes under way.
func (p *Process) ClosePipes() {
	for _, f := range []*os.File{p.In, p.Out, p.Err} {
		f.Close() // nil is fine
	}
}

// MaxLine caps what is kept of a line, in bytes.
const MaxLine = 4 << 10

// Lines calls each for the lines of r that are not empty, until its end. It keeps only the
// beginning of a line that is too long.
func Lines(r io.Reader, each func(line string)) {
	in := bufio.NewReaderSize(r, MaxLine)
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
			each(text)
		}
	}
}
