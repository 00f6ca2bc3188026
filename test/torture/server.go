package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// server is the process under test, through all its lives. Its methods are for
// the driver's one goroutine; log is for all.
type server struct {
	o    *Options
	log  *lastLines
	http http.Client

	life  int
	cmd   *exec.Cmd
	began time.Time
	gone  chan struct{} // closed when the process has ended
	err   error         // set then

	known   bool // this life was ready
	slowest time.Duration
}

func newServer(o *Options, log *lastLines) *server {
	gone := make(chan struct{})
	close(gone)
	return &server{
		o: o, log: log, gone: gone,
		http: http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// begin starts the next life.
func (s *server) begin() error {
	cmd := s.o.Server(s.life)
	s.life++
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	gone := make(chan struct{})
	s.cmd, s.gone, s.began, s.known = cmd, gone, time.Now(), false
	go func() {
		s.err = cmd.Wait()
		close(gone)
	}()
	return nil
}

func (s *server) exited() <-chan struct{} { return s.gone }

func (s *server) alive() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

// ended says how the process ended.
func (s *server) ended() error {
	<-s.gone
	if s.err == nil {
		return errors.New("with success")
	}
	return s.err
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.gone
}

// stop ends the process as an operator does; one in a hurry asks again after
// a moment, if that is not 0, and does not mind how it ends.
func (s *server) stop(hurry time.Duration) error {
	defer s.kill()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if hurry > 0 {
		process := s.cmd.Process
		again := time.AfterFunc(hurry, func() { _ = process.Signal(syscall.SIGTERM) }) // it may have ended
		defer again.Stop()
	}
	t := time.NewTimer(readyWithin)
	defer t.Stop()
	select {
	case <-s.gone:
		if s.err != nil && hurry == 0 {
			return fmt.Errorf("the server ended with %w; %s", s.err, s.tail())
		}
		return nil
	case <-t.C:
		return fmt.Errorf("the server did not stop within %v", readyWithin)
	}
}

// ready reports whether the server says that it is.
func (s *server) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.o.Addr+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := s.http.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	ok := res.StatusCode == http.StatusOK
	if ok && !s.known {
		s.known = true
		s.slowest = max(s.slowest, time.Since(s.began))
	}
	return ok
}

// tail returns the last lines of the server's log.
func (s *server) tail() string { return "its log ends with:\n" + s.log.String() }

// lastLines is a writer that keeps the end of what went through.
type lastLines struct {
	mu   sync.Mutex // protects the fields below
	to   io.Writer
	kept []byte
	bad  []string // lines that no server should write
}

// newLastLines returns one that writes to a writer, or to none.
func newLastLines(to io.Writer) *lastLines {
	if to == nil {
		to = io.Discard
	}
	return &lastLines{to: to}
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sign := range []string{"panic:", "DATA RACE", "fatal error:", "goroutine ended without"} {
		if i := bytes.Index(p, []byte(sign)); i >= 0 && len(l.bad) < 5 {
			l.bad = append(l.bad, string(p[i:min(len(p), i+2000)]))
		}
	}
	l.kept = append(l.kept, p...)
	if len(l.kept) > 8<<10 {
		l.kept = append([]byte(nil), l.kept[len(l.kept)-4<<10:]...)
	}
	return l.to.Write(p)
}

// signs are the lines that no server should write.
func (l *lastLines) signs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.bad)
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}

// FreePort returns an address of this machine with a port that is free and, on
// the systems we know, none of those that outgoing connections get: so that
// nobody takes it while the server is down.
func FreePort(seed uint64) (string, error) {
	from := int(seed%500)*20 + os.Getpid()%20
	for i := range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+(from+i*7)%12000)
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no port between 20000 and 32000 is free")
}
