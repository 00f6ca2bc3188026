package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a contender that runs: a child process, or something at an address
// that is not ours.
type server struct {
	of   *contender
	addr string    // host:port
	cmd  *exec.Cmd // nil if it is not ours
	log  *tail
	gone chan struct{} // closed when the process has ended
	err  error         // set then

	began time.Time // before the process was started
	data  string    // a directory that goes with it; "" for none

	others []*server    // that share its database
	db     func() usage // of the database's server; nil if it has none
}

// ready is the line that a server prints once it listens: this, and its address.
const ready = "READY "

// start runs a contender's program until stop. The program is told to listen on
// a free port of 127.0.0.1.
func start(ctx context.Context, of *contender, argv ...string) (*server, error) {
	s := &server{of: of, log: &tail{}, gone: make(chan struct{})}
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Dir = of.dir
	s.cmd.Env = append(os.Environ(), of.env...)
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.began = time.Now()
	if err := onServers(s.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", of.name, err)
	}
	said := make(chan string, 1)
	go func() {
		out := bufio.NewReader(stdout)
		for {
			line, err := out.ReadString('\n')
			if addr, is := strings.CutPrefix(line, of.says()); is {
				select {
				case said <- strings.TrimSpace(addr):
				default:
				}
				continue
			}
			_, _ = io.WriteString(s.log, line)
			if err != nil {
				break
			}
		}
		s.err = s.cmd.Wait()
		close(s.gone)
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case addr := <-said:
		s.addr = strings.TrimPrefix(addr, "http://")
		return s, nil
	case <-s.gone:
		return nil, fmt.Errorf("%s ended before it listened: %w\n%s", of.name, errOr(s.err, "exit status 0"), s.log)
	case <-limit.C:
		s.kill()
		return nil, fmt.Errorf("%s does not listen after %v\n%s", of.name, patience, s.log)
	case <-ctx.Done():
		s.kill()
		return nil, context.Cause(ctx)
	}
}

func errOr(err error, otherwise string) error {
	if err == nil {
		return errors.New(otherwise)
	}
	return err
}

// usage is what the process has used until now.
func (s *server) usage() usage {
	if s.cmd == nil {
		return usage{}
	}
	u := usageOf(s.cmd.Process.Pid)
	for _, o := range s.others {
		u = u.and(o.usage())
	}
	return u
}

// at is the address for the i-th connection.
func (s *server) at(i int) string {
	if n := i % (len(s.others) + 1); n > 0 {
		return s.others[n-1].addr
	}
	return s.addr
}

// database is what the database's server has used until now.
func (s *server) database() usage {
	if s.db == nil {
		return usage{}
	}
	return s.db()
}

// blame adds to err what the server said, if it is its fault.
func (s *server) blame(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if s.cmd == nil {
		return fmt.Errorf("%s: %w", s.of.name, err)
	}
	select {
	case <-s.gone:
		return fmt.Errorf("%s ended (%w): %w\n%s", s.of.name, errOr(s.err, "exit status 0"), err, s.log)
	default:
		return fmt.Errorf("%s: %w\n%s", s.of.name, err, s.log)
	}
}

// stop ends the process, in good order if it does so within some seconds.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	defer s.clean()
	for _, o := range s.others {
		defer o.stop()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	select {
	case <-s.gone:
	case <-limit.C:
		s.kill()
	}
}

func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	defer s.clean()
	for _, o := range s.others {
		defer o.kill()
	}
	_ = s.cmd.Process.Signal(os.Kill) // it may have ended
	<-s.gone
}

// clean removes the tasks of a server that nobody asks for any more. Files that
// it cannot remove go with the directory of the bench.
func (s *server) clean() {
	if s.data != "" {
		_ = os.RemoveAll(s.data)
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex // protects buf
	buf []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
