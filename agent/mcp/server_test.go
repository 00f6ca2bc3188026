package mcp

//lint:file-ignore SA1019 the server does what servers of older versions do

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What tells the test binary to be an MCP server, and of what kind.
const (
	envServe = "PARLEY_TEST_MCP"     // "new", "old" (before 2026-07-28), or a way to misbehave
	envFile  = "PARLEY_TEST_MCPFILE" // where tools write that they were called
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(envServe); kind != "" {
		serveStdio(kind)
		return
	}
	os.Exit(m.Run())
}

func serveStdio(kind string) {
	switch kind {
	case "exit":
		os.Exit(3)
	case "parent": // has a server that stays, whatever happens to its input
		notePID("parent")
		a, err := New(Server{Command: []string{os.Args[0]}, Env: []string{envServe + "=deaf"}}, nil)
		if err == nil {
			a.Card(context.Background())
		}
		return
	case "forks": // serves, and leaves a child that holds its output and is deaf
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), envServe+"=deaf")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.Start()
	case "silent": // reads and says nothing
		for {
			if _, err := os.Stdin.Read(make([]byte, 1024)); err != nil {
				return
			}
		}
	case "deaf": // does not read, and does not end when it is told to
		signal.Ignore(syscall.SIGTERM)
		notePID("deaf")
		select {}
	case "garbage":
		fmt.Println(`{"jsonrpc": "2.0", "id": 1, "result":`)
		fmt.Println(`{]`)
		os.Stdin.Read(make([]byte, 1))
		return
	case "flood":
		for {
			if _, err := fmt.Println(strings.Repeat("noise ", 100)); err != nil {
				return
			}
		}
	case "long":
		fmt.Print("{")
		for {
			if _, err := fmt.Print(strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	}
	fmt.Println("Welcome to the test server!") // what no server should, and many do
	fmt.Fprintln(os.Stderr, "server is up")
	s := &testServer{file: os.Getenv(envFile)}
	s.new(kind).Run(context.Background(), &mcp.StdioTransport{})
}

// testServer is an MCP server with tools of every kind.
type testServer struct {
	file    string        // "" for none
	calls   atomic.Int64  // of hold
	held    chan struct{} // gets a value when hold is called; nil where nobody looks
	let     chan struct{} // hold returns when it is closed
	refuses atomic.Bool   // it refuses then
	ended   chan struct{} // gets a value when hold was cancelled
	srv     *mcp.Server
	cut     func() // cuts all connections, over HTTP
}

// notePID says in the file that this process is there.
func notePID(what string) {
	(&testServer{file: os.Getenv(envFile)}).note(fmt.Sprintf("%s %d", what, os.Getpid()))
}

// pids returns the processes that are in the file.
func pids(t *testing.T, file, what string) (list []int) {
	t.Helper()
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		var pid int
		if n, _ := fmt.Sscanf(line, what+" %d", &pid); n == 1 {
			list = append(list, pid)
		}
	}
	return list
}

// alive reports whether one of the processes is.
func alive(list []int) bool {
	for _, pid := range list {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

type empty struct{}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (s *testServer) note(what string) {
	if s.file == "" {
		return
	}
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, what)
		f.Close()
	}
}

// new returns the server: kind "old" speaks no version with rounds.
func (s *testServer) new(kind string) *mcp.Server {
	o := &mcp.ServerOptions{Instructions: "Tools for tests."}
	if kind == "old" {
		o.SupportedProtocolVersions = []string{"2025-11-25", "2025-06-18"}
	}
	s.srv = mcp.NewServer(&mcp.Implementation{Name: "tester", Title: "Test tools", Version: "2.1"}, o)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	type greet struct {
		Name string `json:"name" jsonschema:"whom to greet"`
	}
	mcp.AddTool(s.srv, &mcp.Tool{Name: "greet", Title: "Greet", Description: "Greets somebody.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in greet) (*mcp.CallToolResult, any, error) {
			return text("hello " + in.Name), nil, nil
		})
	type sum struct {
		A, B float64
	}
	type total struct {
		Sum float64 `json:"sum"`
	}
	mcp.AddTool(s.srv, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
		return nil, total{in.A + in.B}, nil
	})
	mcp.AddTool(s.srv, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("out of paper")
	})
	mcp.AddTool(s.srv, &mcp.Tool{Name: "many"}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "words"},
			&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///secret/notes.md", MIMEType: "text/markdown", Text: "# notes"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "mem:///x.bin", MIMEType: "application/x", Blob: []byte{1, 2}}},
			&mcp.ResourceLink{URI: "https://example.com/a.pdf", Name: "a.pdf", MIMEType: "application/pdf"},
			&mcp.ResourceLink{URI: "mem:///inside.txt", Name: "inside"},
			&mcp.ResourceLink{URI: "mem:///nowhere.txt", Name: "nowhere"},
		}}, nil, nil
	})
	s.srv.AddResource(&mcp.Resource{URI: "mem:///inside.txt", Name: "inside"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mem:///inside.txt", MIMEType: "text/plain", Text: "from inside"}}}, nil
		})
	mcp.AddTool(s.srv, &mcp.Tool{Name: "steps"}, func(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		for i := range 1000 { // nobody wants to know that much
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)})
		}
		r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "steps", Data: "something odd"})
		return text("done"), nil, nil
	})
	hold := func(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		s.calls.Add(1)
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 3, Message: "holding",
		})
		s.note("hold")
		if s.held != nil {
			s.held <- struct{}{}
		}
		select {
		case <-s.let:
			if s.refuses.Load() {
				return nil, nil, &jsonrpc.Error{Code: 7, Message: "no such account"}
			}
			return text("held"), nil, nil
		case <-ctx.Done():
			s.note("cancelled")
			if s.ended != nil {
				s.ended <- struct{}{}
			}
			return nil, nil, ctx.Err()
		}
	}
	mcp.AddTool(s.srv, &mcp.Tool{Name: "hold"}, hold)
	mcp.AddTool(s.srv, &mcp.Tool{Name: "pay", Annotations: &mcp.ToolAnnotations{Title: "Pay"}}, hold)
	mcp.AddTool(s.srv, &mcp.Tool{Name: "ask"}, s.ask)
	mcp.AddTool(s.srv, &mcp.Tool{Name: "askpay", Annotations: &mcp.ToolAnnotations{}}, s.ask)
	mcp.AddTool(s.srv, &mcp.Tool{Name: "evil"}, func(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		q := &mcp.ElicitParams{Mode: "form", Message: "?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"string","oneOf":[null]},"b":null,"c":{"type":"array","items":{"anyOf":[null]}}}}`)}
		if v := r.Session.InitializeParams(); v != nil && v.ProtocolVersion < "2026" {
			a, err := r.Session.Elicit(ctx, q)
			if err != nil {
				return nil, nil, err
			}
			return text("evil " + a.Action), nil, nil
		}
		if a, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
			return text("evil " + a.Action), nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q}}, nil, nil
	})
	mcp.AddTool(s.srv, &mcp.Tool{Name: "model"}, func(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		_, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		return nil, nil, err
	})
	mcp.AddTool(s.srv, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		s.note("die")
		if b, _ := os.ReadFile(s.file); strings.Count(string(b), "die") >= 2 {
			return text("alive"), nil, nil
		}
		os.Exit(1)
		return nil, nil, nil
	})
	return s.srv
}

var askSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer","minimum":1}},"required":["city"]}`)

// ask asks where to go, twice over where the version has rounds.
func (s *testServer) ask(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
	s.note("ask " + r.Params.RequestState)
	q := &mcp.ElicitParams{Message: "Where to?", RequestedSchema: askSchema}
	sure := &mcp.ElicitParams{Message: "Sure?"}
	var a, b *mcp.ElicitResult
	if v := r.Session.InitializeParams(); v != nil && v.ProtocolVersion < "2026" {
		var err error
		if a, err = r.Session.Elicit(ctx, q); err != nil {
			return nil, nil, err
		}
		if a.Action != "accept" {
			return text("no trip: " + a.Action), nil, nil
		}
		if b, err = r.Session.Elicit(ctx, sure); err != nil {
			return nil, nil, err
		}
	} else {
		a, _ = r.Params.InputResponses["q"].(*mcp.ElicitResult)
		b, _ = r.Params.InputResponses["sure"].(*mcp.ElicitResult)
		switch {
		case a == nil && b == nil:
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q}, RequestState: "1"}, nil, nil
		case b == nil && a.Action != "accept":
			return text("no trip: " + a.Action), nil, nil
		case b == nil:
			doc, _ := json.Marshal(a)
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": sure}, RequestState: string(doc)}, nil, nil
		}
		a = new(mcp.ElicitResult)
		json.Unmarshal([]byte(r.Params.RequestState), a)
	}
	return text(fmt.Sprintf("%s for %v days: %s", a.Content["city"], a.Content["days"], b.Action)), nil, nil
}

// command returns this binary as a server.
func command(t *testing.T, kind string) (s Server, file string) {
	t.Helper()
	file = t.TempDir() + "/calls"
	return Server{Command: []string{os.Args[0]}, Env: []string{envServe + "=" + kind, envFile + "=" + file}}, file
}

// overHTTP returns a server of this process over HTTP.
func overHTTP(t *testing.T, kind string) (Server, *testServer) {
	t.Helper()
	s := &testServer{held: make(chan struct{}, 100), let: make(chan struct{}), ended: make(chan struct{}, 100)}
	srv := s.new(kind)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv },
		&mcp.StreamableHTTPOptions{Stateless: kind == "new", PropagateRequestCancellation: true}))
	s.cut = h.CloseClientConnections
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return Server{URL: h.URL}, s
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("it did not happen: %s", what)
}

func noted(file, what string) func() bool {
	return func() bool {
		b, _ := os.ReadFile(file)
		return strings.Contains(string(b), what)
	}
}
