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

// process is a server that runs as a child of the test, and ends with it however
// that ends: on Linux the system sees to it.
type process struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
	err  error         // then
}

// How a server is stopped. Immediate is what a crash is like.
const (
	Fast      = "fast"
	Immediate = "immediate"
)

// patience is how long a server may take to start or to stop. It is more than the
// minute for which a stopping one waits for clients that connected and say
// nothing.
const patience = 2 * time.Minute

// Start starts the server and waits until it takes connections.
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
		// The server ends with the thread that started it, so that one waits for it,
		// and then ends, too, for it may be in another network.
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

// ready reads what the server writes into a file for its own pg_ctl.
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

// Stop stops the server and waits until it is gone.
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
	// Whoever stopped it with a signal may not have let it go on.
	err := errors.Join(p.cmd.Process.Signal(how), wake(p.cmd))
	if errors.Is(err, os.ErrProcessDone) {
		err = nil // somebody else ended it
	}
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
