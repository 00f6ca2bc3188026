//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// killed runs a server of an agent, sends it a message, kills it with kill -9 once
// middle is closed, starts it again, and returns how the task ended. meanwhile is
// called while there is none.
func killed(t *testing.T, k tools, message string, middle <-chan struct{}, meanwhile func(), args ...string) string {
	t.Helper()
	args = append([]string{"--drain-timeout", "1s"}, args...)
	first := k.serve(t, "", args...)
	out, errs, code := k.run(t, "send", "-a", first.addr, "--async", message)
	id := regexp.MustCompile(`Task ID: (\S+)`).FindStringSubmatch(out)
	if code != 0 || id == nil {
		t.Fatalf("send: %d\n%s%s", code, out, errs)
	}
	select {
	case <-middle:
	case <-time.After(patience):
		t.Fatal("the agent does not get to the middle")
	}
	first.tell(syscall.SIGKILL)
	first.exit()
	if meanwhile != nil {
		meanwhile()
	}
	second := k.serve(t, "", args...)
	out, errs, code = k.run(t, "task", "get", "-a", second.addr, "--wait", id[1])
	if code != 0 {
		t.Fatalf("task get: %d\n%s%s", code, out, errs)
	}
	return out
}

// comes is closed when a file is there.
func comes(t *testing.T, path string) <-chan struct{} {
	there := make(chan struct{})
	go func() {
		defer close(there)
		for over := time.Now().Add(patience); time.Now().Before(over); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(path); err == nil {
				return
			}
		}
	}()
	return there
}

func wantEnd(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(out) {
			t.Errorf("no %s in\n%s", p, out)
		}
	}
}

func script(t *testing.T, k tools, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// exec: the command is killed with the server, and run again with PARLEY_ATTEMPT
// one higher; what it printed then takes the place of what there was.
func TestKilledWhileACommandRuns(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	script(t, k, "agent.sh", `#!/bin/sh
cat >/dev/null
echo "attempt $PARLEY_ATTEMPT"
if [ "$PARLEY_ATTEMPT" = 1 ]; then
	echo $$ >pid.part && mv pid.part pid
	exec sleep 600
fi
echo done
`)
	gone := func() {
		raw, err := os.ReadFile(filepath.Join(k.dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		for over := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
				return // it waits for somebody to notice, or /proc is not there to tell
			}
			if time.Now().After(over) {
				t.Fatal("the command lives on without its server")
			}
		}
	}
	out := killed(t, k, "go", comes(t, filepath.Join(k.dir, "pid")), gone, "--", "./agent.sh")
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`, `^Text:\nattempt 2\ndone$`)
	if strings.Contains(out, "attempt 1") {
		t.Errorf("what the first run printed is there:\n%s", out)
	}
}

// exec in lines: a step that was recorded is not done again.
func TestKilledWhileACommandSpeaksLines(t *testing.T) {
	t.Parallel()
	k := newTools(t)
	script(t, k, "agent.sh", `#!/bin/sh
read -r message
echo '{"type":"step","name":"pay"}'
read -r step
case $step in
*'"done":true'*) ;;
*) echo paid >>paid; echo '{"type":"result","result":"receipt 1"}' ;;
esac
echo '{"type":"status","text":"paid"}'
if [ "$PARLEY_ATTEMPT" = 1 ]; then
	echo '{"type":"step","name":"second"}'; read -r step # the first one is recorded by then
	touch middle
	exec sleep 600
fi
echo '{"type":"complete","text":"attempt '$PARLEY_ATTEMPT'"}'
`)
	out := killed(t, k, "go", comes(t, filepath.Join(k.dir, "middle")), nil, "--lines", "--", "./agent.sh")
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`, `^attempt 2$`)
	if paid, err := os.ReadFile(filepath.Join(k.dir, "paid")); err != nil || string(paid) != "paid\n" {
		t.Errorf("the step was done so often: %q, %v", paid, err)
	}
}

// once is closed by the first call of its function.
func once() (<-chan struct{}, func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// upstream serves what an agent calls until the test ends; its requests end then,
// too.
func upstream(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// http: the same request with the same idempotency key.
func TestKilledWhileAServiceAnswers(t *testing.T) {
	t.Parallel()
	middle, reached := once()
	var mu sync.Mutex
	var keys, attempts []string
	url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		keys, attempts = append(keys, r.Header.Get("Idempotency-Key")), append(attempts, r.Header.Get("Parley-Attempt"))
		first := len(keys) == 1
		mu.Unlock()
		if first {
			reached()
			<-r.Context().Done() // the server is gone
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "answered")
	}))
	out := killed(t, newTools(t), "go", middle, nil, "--http", url)
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`, `^answered$`)
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("keys %q, want the same one twice; attempts %q", keys, attempts)
	}
}

// http: a service that has said that it will call back is not asked again; its call
// is taken by the server that comes after, at the same address.
func TestKilledWhileAServiceOwesACall(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	middle, reached := once()
	var mu sync.Mutex
	var callback []string
	url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Callback string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		mu.Lock()
		callback = append(callback, asked.Callback)
		mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	k := newTools(t)
	called := make(chan struct{})
	go func() { // as services do that get no answer, or are told to come again
		defer close(called)
		said := `{"type":"status","text":"at it","id":"1"}`
		for over := time.Now().Add(patience); time.Now().Before(over); time.Sleep(10 * time.Millisecond) {
			mu.Lock()
			to := append(callback, "")[0]
			mu.Unlock()
			if to == "" {
				continue
			}
			resp, err := http.Post(to, "application/json", strings.NewReader(said))
			if err != nil {
				continue
			}
			resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusOK && strings.Contains(said, "status"):
				reached()
				said = `{"type":"complete","text":"called back","id":"2"}`
				for dead := time.Now().Add(patience); time.Now().Before(dead); time.Sleep(time.Millisecond) {
					if conn, err := net.Dial("tcp", at); err != nil {
						break // it is killed
					} else {
						conn.Close()
					}
				}
			case resp.StatusCode == http.StatusOK:
				return
			}
		}
	}()
	out := killed(t, k, "go", middle, nil, "--listen", at, "--http", url)
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`, `^called back$`)
	<-called
	mu.Lock()
	defer mu.Unlock()
	if len(callback) != 1 || !strings.HasPrefix(callback[0], "http://"+at+"/callbacks/default/") {
		t.Errorf("asked with %q", callback)
	}
}

// openai: the model is asked again, and its answer takes the place of the half one.
func TestKilledWhileAModelAnswers(t *testing.T) {
	t.Parallel()
	middle, reached := once()
	var mu sync.Mutex
	asked := 0
	url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r) // it asks which models there are when it starts
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		asked++
		first := asked == 1
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(word string) {
			chunk, _ := json.Marshal(word)
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", chunk)
			_ = http.NewResponseController(w).Flush()
		}
		if first {
			say("half an answer ")
			reached()
			<-r.Context().Done()
			return
		}
		say("all ")
		say("of it")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	out := killed(t, newTools(t), "go", middle, nil, "--openai", url+"/v1", "--model", "m")
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`, `^all of it$`)
	if strings.Contains(out, "half") || asked != 2 {
		t.Errorf("asked %d times:\n%s", asked, out)
	}
}

// proxy: the agent's task is found again, and followed on from where the record
// ends; the agent has one task and every chunk comes once.
func TestKilledWhileAProxyFollows(t *testing.T) {
	t.Parallel()
	behind := newTools(t)
	agent := behind.serve(t, "")
	middle, reached := once()
	k := newTools(t)
	go func() { // the third chunk is there
		defer reached()
		for over := time.Now().Add(patience); time.Now().Before(over); time.Sleep(20 * time.Millisecond) {
			out, _, _ := behind.run(t, "task", "list", "-a", agent.addr, "--status", "working")
			if strings.Contains(out, "Tasks: 1 of 1") {
				return
			}
		}
	}()
	out := killed(t, k, "stream 20 100", middle, nil, "--proxy", agent.addr)
	wantEnd(t, out, `^State: TASK_STATE_COMPLETED$`)
	wantChunks(t, "the proxy", out, 20)
	if list, _, _ := k.run(t, "task", "list", "-a", agent.addr); !strings.Contains(list, "Tasks: 1 of 1") {
		t.Errorf("the agent behind has\n%s", list)
	}
}

// mcp: the tool is called again, unless the server says that it must not be.
func TestKilledWhileAToolWorks(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		hints *mcp.ToolAnnotations
		want  []string
		calls int
	}{
		"read only":    {&mcp.ToolAnnotations{ReadOnlyHint: true}, []string{`^State: TASK_STATE_COMPLETED$`, `^called 2 times$`}, 2},
		"idempotent":   {&mcp.ToolAnnotations{IdempotentHint: true}, []string{`^State: TASK_STATE_COMPLETED$`, `^called 2 times$`}, 2},
		"says nothing": {nil, []string{`^State: TASK_STATE_COMPLETED$`, `^called 2 times$`}, 2},
		"not twice":    {&mcp.ToolAnnotations{Title: "Pay"}, []string{`^State: TASK_STATE_FAILED$`}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			middle, reached := once()
			var mu sync.Mutex
			calls := 0
			srv := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
			over := t.Context()
			mcp.AddTool(srv, &mcp.Tool{Name: "count", Annotations: tt.hints}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				calls++
				n := calls
				mu.Unlock()
				if n == 1 {
					reached()
					select {
					case <-ctx.Done():
					case <-over.Done():
					}
					return nil, nil, ctx.Err()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("called %d times", n)}}}, nil, nil
			})
			url := upstream(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
			out := killed(t, newTools(t), `{"tool":"count"}`, middle, nil, "--mcp", url)
			wantEnd(t, out, tt.want...)
			mu.Lock()
			defer mu.Unlock()
			if calls != tt.calls {
				t.Errorf("%d calls, want %d", calls, tt.calls)
			}
		})
	}
}
