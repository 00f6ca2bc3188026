package mcp

import (
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/child"
)

// process is a server's command.
type process struct {
	*child.Process
	closing chan struct{} // closed by close
	grace   time.Duration
	once    sync.Once
}

// startProcess runs a server's command. The caller must call close in the end.
func startProcess(s *Server, o *Options) (*process, error) {
	p := &process{closing: make(chan struct{}), grace: o.grace()}
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), s.Env...)
	var err error
	if p.Process, err = child.Start(cmd, cmd.Start); err != nil {
		return nil, err
	}
	p.Work.Go(func() {
		<-p.Exited
		// Processes that it left behind may hold its output open.
		select {
		case <-time.After(child.Linger):
			p.Out.Close()
		case <-p.closing:
		}
	})
	p.Work.Go(func() {
		child.Lines(p.Err, func(line string) { o.logger().Info("MCP server printed on standard error", "line", line) })
	})
	return p, nil
}

// close ends the command and what it started, politely first, and returns when its
// goroutines have ended.
func (p *process) close() {
	p.once.Do(func() {
		close(p.closing)
		p.In.Close() // the protocol's first step
		if !p.wait() {
			p.Terminate()
			p.wait()
		}
		p.Kill() // also processes that it left in its group
		<-p.Exited
		p.ClosePipes()
		p.Work.Wait()
	})
}

// wait reports whether the command ended within the grace.
func (p *process) wait() bool {
	select {
	case <-p.Exited:
		return true
	case <-time.After(p.grace):
		return false
	}
}
