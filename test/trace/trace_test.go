package trace

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/parley-a2a/parley/test/fixtures"
)

var printTree = flag.Bool("tree", false, "print what the collector got")

// machine is what the processes of the test share.
type machine struct {
	t         *testing.T
	bin, dir  string
	collector *collector
}

// command is a run of the binary as a service of its own for the collector.
func (m *machine) command(service string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), m.bin, args...)
	cmd.Dir = m.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "A2ACLI_") || strings.HasPrefix(v, "PARLEY_") || strings.HasPrefix(v, "TRACE")
	}), "HOME="+m.dir, "OTEL_SERVICE_NAME="+service, "OTEL_EXPORTER_OTLP_ENDPOINT="+m.collector.URL, "OTEL_BSP_SCHEDULE_DELAY=20")
	return cmd
}

// log is what a process prints, for when the test fails.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

// server is a process that serves.
type server struct {
	*exec.Cmd
	gone chan struct{} // closed when it has ended
}

// end sends a signal and waits for the end.
func (s *server) end(by os.Signal) {
	_ = s.Process.Signal(by)
	<-s.gone
}

// serve starts a server and returns when it is ready.
func (m *machine) serve(service, addr string, args ...string) *server {
	m.t.Helper()
	data := filepath.Join(m.dir, service)
	args = append([]string{"serve", "--listen", addr, "--data", data, "--egress-allow", "127.0.0.1"}, args...)
	cmd := m.command(service, args...)
	said := new(log)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	s := &server{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(s.gone)
	}()
	m.t.Cleanup(func() {
		s.end(os.Kill)
		if m.t.Failed() {
			m.t.Logf("%s said:\n%s", service, said)
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if res, err := http.Get("http://" + addr + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s
			}
		}
		select {
		case <-tick.C:
		case <-s.gone:
			m.t.Fatalf("%s has ended:\n%s", service, said)
		case <-m.t.Context().Done():
			m.t.Fatalf("%s is not ready:\n%s", service, said)
		}
	}
}

func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// One message, from the command through two servers to a program and to a webhook, with
// a kill -9 of the second server in the middle, is one trace: every parent and every
// link leads to a span that the collector got.
func TestOneTrace(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	script, err := filepath.Abs("testdata/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := fixtures.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, bin: bin, dir: t.TempDir(), collector: newCollector(t)}
	var mu sync.Mutex
	var posts []http.Header
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		posts = append(posts, r.Header.Clone())
	}))
	defer hook.Close()

	behind, front := freeAddr(t), freeAddr(t)
	second := m.serve("behind", behind, "--lines", "--", python, script)
	first := m.serve("front", front, "--proxy", "http://"+behind)
	client := m.command("client", "send", "-a", "http://"+front, "--stream", "--push-url", hook.URL, "go")
	said := new(log)
	client.Stdout, client.Stderr = said, said
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Process.Kill() })
	m.collector.wait(t, "of the first step", func(s *span) bool { return strings.HasPrefix(s.Name, "step ") && s.service == "behind" })
	m.collector.wait(t, "of the first artifact's delivery", func(s *span) bool { // so that the step in front of it is on disk
		return s.Name == "webhook deliver" && s.attrs["a2a.task.state"] == ""
	})
	second.end(os.Kill)
	second = m.serve("behind", behind, "--lines", "--", python, script)
	if err := client.Wait(); err != nil {
		t.Fatalf("parley send: %v\n%s", err, said)
	}
	m.collector.wait(t, "of the last event's delivery", func(s *span) bool {
		return s.Name == "webhook deliver" && s.has("a2a.task.state=TASK_STATE_COMPLETED parley.webhook.verdict=delivered")
	})
	first.end(os.Interrupt) // which sends what is left
	second.end(os.Interrupt)
	spans, _ := m.collector.all()
	if *printTree {
		fmt.Print(tree(spans))
	}
	for _, line := range orphans(spans) {
		t.Error(line)
	}
	for _, s := range spans {
		if s.trace() != spans[0].trace() {
			t.Errorf("%s of %s is in the trace %s, others in %s", s.Name, s.service, s.trace(), spans[0].trace())
		}
	}
	// Each kind of span, and each hop, is there.
	find := func(service, name, attrs string) *span {
		t.Helper()
		for _, s := range spans {
			if s.service == service && s.Name+" "+strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_") == name && s.has(attrs) {
				return s
			}
		}
		t.Errorf("there is no span %s of %s with %s", name, service, attrs)
		return &span{Span: new(tracepb.Span)}
	}
	const stream = "SendStreamingMessage"
	command := find("client", "parley send INTERNAL", "")
	called := find("client", stream+" CLIENT", "a2a.task.state=TASK_STATE_COMPLETED")
	served := find("front", stream+" SERVER", "a2a.method.name="+stream)
	proxied := find("front", "invoke_agent python3 INTERNAL", "parley.agent.kind=proxy")
	calledOn := find("front", stream+" CLIENT", "a2a.method.name="+stream)
	lostCall := find("behind", stream+" SERVER", "parley.lost=true")
	lostRun := find("behind", "invoke_agent python3 INTERNAL", "parley.attempt=1 parley.lost=true")
	done := find("behind", "step look it up INTERNAL", "parley.step.replayed=false")
	run := find("behind", "invoke_agent python3 INTERNAL", "parley.attempt=2 parley.taken_over=true a2a.task.state=TASK_STATE_COMPLETED")
	again := find("behind", "step look it up INTERNAL", "parley.step.replayed=true")
	after := find("behind", "step write it down INTERNAL", "parley.step.replayed=false")
	resumed := find("behind", "SubscribeToTask SERVER", "")
	delivered := find("front", "webhook deliver CLIENT", "a2a.task.state=TASK_STATE_COMPLETED http.response.status_code=200")
	for child, parent := range map[*span]*span{
		called: command, served: called, proxied: served, calledOn: proxied, lostCall: calledOn, lostRun: lostCall, done: lostRun,
		run: lostCall, again: run, after: run, resumed: calledOn, delivered: served,
	} {
		if child.parent() != parent.id() {
			t.Errorf("%s of %s is not below %s of %s", child.Name, child.service, parent.Name, parent.service)
		}
	}
	if len(run.Links) != 1 || hex.EncodeToString(run.Links[0].SpanId) != lostCall.id() {
		t.Errorf("the second run links to %v", run.Links)
	}
	if len(calledOn.Events) == 0 || calledOn.Events[0].Name != "resume" {
		t.Errorf("the events of the stream that was cut are %v", calledOn.Events)
	}
	// The program and the receiver of the webhook know where they are in the trace.
	if parent := "00-" + run.trace() + "-" + run.id() + "-01"; !strings.Contains(said.String(), parent) {
		t.Errorf("the program was not told of %s; the client printed:\n%s", parent, said)
	}
	mu.Lock()
	defer mu.Unlock()
	if parent := posts[len(posts)-1].Get("Traceparent"); parent != "00-"+delivered.trace()+"-"+delivered.id()+"-01" {
		t.Errorf("the receiver was told of %q", parent)
	}
	if t.Failed() {
		t.Logf("the spans:\n%s", tree(spans))
	}
}
