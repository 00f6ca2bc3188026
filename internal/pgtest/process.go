package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server that runs as a child of the test. It ends when the test ends, in
// whatever way: on Linux the system ensures that.
type process struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
	err  error         // valid after over is closed
}

// Ways to stop a server. Immediate resembles a crash.
const (
	Fast      = "fast"
	Immediate = "immediate"
)

// patience is how long a server may take to start or to stop. A stopping server waits up to a
// minute for clients that connected but send nothing.
const patience = 2 * time.Minute

// Start starts the server and waits until it accepts connections.
func (c *Cluster) Start() error {
	if c.on != nil {
		return errors.New("the server runs already")
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.command(context.Background(), "postgres", append([]string{"-D", c.data()}, c.own()...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(cmd.Env, c.o.Env...)
	p := &process{cmd: cmd, over: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The server ends with the thread that started it, so this thread waits for the
		// server. Then the thread ends too, because it may be in another network namespace.
		runtime.LockOSThread()
		err := enter(c.o.Space)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.over)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.on = p
	for limit := time.Now().Add(patience); !c.ready(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.over:
			c.on = nil
			return fmt.Errorf("the server ended: %w\n%s", p.err, c.Log())
		default:
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the server does not come up\n%s", c.Log())
		}
	}
	return nil
}

// ready reads the file that the server writes for its own pg_ctl.
func (c *Cluster) ready() bool {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) <= 7 || lines[0] != strconv.Itoa(c.on.cmd.Process.Pid) {
		return false
	}
	state := strings.TrimSpace(lines[7])
	return state == "ready" || state == "standby" && c.standby()
}

// Runs reports whether the server was started and not stopped since.
func (c *Cluster) Runs() bool { return c.on != nil }

// Stop stops the server and waits until it has ended.
func (c *Cluster) Stop(mode string) error {
	p := c.on
	if p == nil {
		return errors.New("the server does not run")
	}
	c.on = nil
	how := syscall.SIGQUIT
	if mode == Fast {
		how = syscall.SIGINT
	}
	err := p.cmd.Process.Signal(how)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil // it has ended already
	}
	_ = thaw(p.cmd.Process.Pid) // a test may have paused it and not resumed it
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.over:
		return err
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("the server does not end within %v\n%s", patience, c.Log()), p.cmd.Process.Kill())
		<-p.over
		return err
	}
}
