package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// life is one life of the binary over a database, from its start on.
type life struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	http *http.Client
	log  *lastLines
	gone chan struct{} // closed when the process has ended
	err  error         // set then

	began                   time.Time
	banner, ready, answered time.Duration // since began
}

// live starts program on the database in dir and waits until it is ready. The
// test's end kills it.
func live(t testing.TB, program, addr, dir string) *life {
	t.Helper()
	l := &life{
		t: t, url: "http://" + addr, log: &lastLines{to: io.Discard}, gone: make(chan struct{}),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
	}
	l.cmd = exec.Command(program, "serve", "--listen", addr, "--data", dir, "--log-level", "warn")
	l.cmd.Stderr = l.log
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.began = time.Now()
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	_, err = out.ReadByte()
	l.banner = time.Since(l.began)
	go func() {
		_, _ = io.Copy(io.Discard, out)
		l.err = l.cmd.Wait()
		close(l.gone)
	}()
	t.Cleanup(l.kill)
	if err != nil {
		l.kill()
		t.Fatalf("the server printed nothing and ended with %v; it said:\n%s", l.err, l.log)
	}
	l.awaitReady()
	return l
}

// awaitReady asks until it is told yes. Each question is answered by the server
// as soon as it can, so there is nothing to wait for in between.
func (l *life) awaitReady() {
	l.t.Helper()
	for {
		res, err := l.http.Get(l.url + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				l.ready = time.Since(l.began)
				return
			}
		}
		select {
		case <-l.gone:
			l.t.Fatalf("the server ended with %v; it said:\n%s", l.err, l.log)
		default:
		}
		if time.Since(l.began) > time.Minute {
			l.t.Fatalf("the server is not ready after a minute; it said:\n%s", l.log)
		}
	}
}

// greet sends the first message of this life.
func (l *life) greet(ctx context.Context) {
	l.t.Helper()
	if err := echo(ctx, l.clientOf("")); err != nil {
		l.t.Fatal(err)
	}
	l.answered = time.Since(l.began)
}

// clientOf returns a client of a tenant.
func (l *life) clientOf(tenant string) *a2aclient.Client {
	l.t.Helper()
	c, err := a2aclient.New(&a2a.AgentCard{Name: "demo", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: l.url + "/", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0", Tenant: tenant},
	}, Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, &a2aclient.Options{HTTPClient: l.http})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func echo(ctx context.Context, c *a2aclient.Client) error {
	res, err := c.SendMessage(ctx, say("", "", "echo hello"))
	if err == nil && (res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted) {
		err = fmt.Errorf("the answer to a message is %+v", res)
	}
	return err
}

// kill ends the process as kill -9 does.
func (l *life) kill() {
	_ = l.cmd.Process.Kill() // it may have ended
	<-l.gone
}

// stop ends the process as an operator does.
func (l *life) stop() {
	l.t.Helper()
	// The server would wait some seconds for the first request of connections
	// that were made to spare.
	l.http.CloseIdleConnections()
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		l.t.Fatal(err)
	}
	<-l.gone
	if l.err != nil {
		l.t.Fatalf("the server ended with %v; it said:\n%s", l.err, l.log)
	}
	for _, line := range l.log.bad {
		l.t.Errorf("the server said: %s", line)
	}
}

// memory is what a process takes of it, in MiB. Pages of files are not in it:
// the system has them in any case.
type memory struct{ now, peak float64 }

func (l *life) memory() memory {
	l.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	value := func(name string) float64 {
		_, rest, _ := strings.Cut(string(b), "\n"+name+":")
		line, _, _ := strings.Cut(rest, "\n")
		kB, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 64)
		if err != nil {
			l.t.Fatalf("%s: %v", name, err)
		}
		return kB / 1024
	}
	return memory{now: value("RssAnon"), peak: value("VmHWM")}
}

// observer looks at the active tasks of a database, beside the server.
type observer struct{ conn *sqlite3.Conn }

func observe(t testing.TB, dir string) *observer {
	t.Helper()
	conn, err := sqlite3.Open("file:" + filepath.ToSlash(filepath.Join(dir, "parley.db")) + "?mode=ro")
	if err == nil {
		err = conn.BusyTimeout(5 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &observer{conn}
}

// nodes returns how many active tasks each node has.
func (o *observer) nodes() (nodes map[string]int, total int, err error) {
	s, _, err := o.conn.Prepare("SELECT node, count(*) FROM task INDEXED BY task_active WHERE active = 1 GROUP BY node")
	if err != nil {
		return nil, 0, err
	}
	nodes = map[string]int{}
	for s.Step() {
		nodes[s.ColumnText(0)] = s.ColumnInt(1)
		total += s.ColumnInt(1)
	}
	return nodes, total, errors.Join(s.Err(), s.Close())
}

func (o *observer) close() error { return o.conn.Close() }
