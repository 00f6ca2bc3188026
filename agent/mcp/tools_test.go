package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// toolbox is what agent/openai wants.
type toolbox interface {
	Tools(ctx context.Context) ([]agent.Tool, error)
	Call(ctx context.Context, name string, args a2a.JSON) (agent.ToolResult, error)
}

var _ toolbox = (*Tools)(nil)

func newTools(t *testing.T, s Server, o *Options) *Tools {
	t.Helper()
	tools, err := NewTools(s, o)
	if err != nil {
		t.Fatal(err)
	}
	tools.pause = time.Millisecond
	t.Cleanup(func() { tools.Close() })
	return tools
}

func TestToolsForAModel(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run(kind, func(t *testing.T) {
			s, _ := command(t, kind)
			tools := newTools(t, s, nil)
			list, err := tools.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range list {
				switch tool.Name {
				case "greet":
					if tool.Once || tool.Description != "Greets somebody." || !strings.Contains(string(tool.Parameters), `"name"`) {
						t.Errorf("greet: %+v", tool)
					}
				case "pay":
					if !tool.Once {
						t.Error("pay may be called again")
					}
				}
			}
			for _, c := range []struct {
				tool, args string
				want       agent.ToolResult
			}{
				{"greet", `{"name":"Ann"}`, agent.ToolResult{Text: "hello Ann"}},
				{"add", `{"A":1,"B":2}`, agent.ToolResult{Text: `{"sum":3}`}},
				{"fail", ``, agent.ToolResult{Text: "out of paper", Failed: true}},
				{"none", `{}`, agent.ToolResult{Text: `there is no tool "none"`, Failed: true}},
			} {
				got, err := tools.Call(t.Context(), c.tool, a2a.JSON(c.args))
				if err != nil || got != c.want {
					t.Errorf("%s: %+v, %v", c.tool, got, err)
				}
			}
			got, err := tools.Call(t.Context(), "ask", nil)
			if err != nil || !strings.Contains(got.Text, "no trip: cancel") && !got.Failed {
				t.Errorf("ask: %+v, %v", got, err)
			}
		})
	}
}

// A thousand calls at once over few sessions all come back, in the order of coming
// as far as they wait.
func TestManyCallsAtOnce(t *testing.T) {
	for _, over := range []string{"command", "HTTP"} {
		t.Run(over, func(t *testing.T) {
			s, _ := command(t, "new")
			if over == "HTTP" {
				s, _ = overHTTP(t, "old")
			}
			tools := newTools(t, s, &Options{Concurrency: 8})
			var calls sync.WaitGroup
			var failed atomic.Int64
			for range 200 {
				calls.Go(func() {
					got, err := tools.Call(t.Context(), "greet", a2a.JSON(`{"name":"x"}`))
					if err != nil || got.Text != "hello x" {
						failed.Add(1)
						t.Log(got, err)
					}
				})
			}
			calls.Wait()
			if failed.Load() > 0 {
				t.Errorf("%d calls failed", failed.Load())
			}
			tools.mu.Lock()
			defer tools.mu.Unlock()
			if n := len(tools.sessions); n > 8 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

func TestListIsAskedForAgainWhenItChanged(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run(kind, func(t *testing.T) {
			srv := mcp.NewServer(&mcp.Implementation{Name: "x"}, nil)
			add := func(name string) {
				mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
					return text(name), nil, nil
				})
			}
			add("one")
			h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: kind == "new"}))
			defer h.Close()
			defer h.CloseClientConnections()
			changed := make(chan struct{}, 10)
			w := newWorld(t, Server{URL: h.URL}, &Options{Changed: func() { changed <- struct{}{} }}, nil)
			want(t, w.send(a2a.TextPart("go")), a2a.TaskStateCompleted, `"one"`)
			want(t, w.send(tool("two", `{}`)), a2a.TaskStateRejected, `there is no tool`)
			add("two")
			<-changed
			want(t, w.send(tool("two", `{}`)), a2a.TaskStateCompleted, `"two"`)
			w.stop()
		})
	}
}

// Requests go to the server, and not to where it redirects.
func TestRequestsStayWithTheServer(t *testing.T) {
	var stolen, asked atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		if r.Header.Get("X-Token") != "" || r.Header.Get("Authorization") != "" {
			stolen.Store(true)
		}
		http.NotFound(w, r)
	}))
	defer thief.Close()
	srv := new(testServer).new("old")
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)
	var redirect atomic.Bool
	var trace atomic.Value
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case redirect.Load():
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		case r.Header.Get("X-Token") != "hush":
			http.Error(w, "no", http.StatusUnauthorized)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	defer h.Close()
	defer h.CloseClientConnections()
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if p, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok {
				trace.Store(fmt.Sprint(p.Meta["traceparent"], " ", p.Meta["tracestate"]))
			}
			return next(ctx, method, r)
		}
	})
	tools := newTools(t, Server{URL: h.URL, Headers: map[string]a2a.Secret{"X-Token": "hush"}}, &Options{ConnectTimeout: time.Second})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: parent, TraceState: "rojo=1"})
	if got, err := tools.Call(ctx, "greet", a2a.JSON(`{"name":"Ann"}`)); err != nil || got.Text != "hello Ann" {
		t.Errorf("%+v, %v", got, err)
	}
	if trace.Load() != parent+" rojo=1" {
		t.Errorf("traceparent %v", trace.Load())
	}
	redirect.Store(true)
	_, err := tools.Call(t.Context(), "greet", a2a.JSON(`{"name":"Ann"}`))
	var public *agent.PublicError
	if !errors.As(err, &public) || strings.Contains(public.Reason, "127.0.0.1") {
		t.Errorf("err %v", err)
	}
	if stolen.Load() || asked.Load() {
		t.Errorf("another host was asked: %v, with the header: %v", asked.Load(), stolen.Load())
	}
}

func TestServersThatCannotBe(t *testing.T) {
	for _, s := range []Server{
		{}, {Command: []string{"x"}, URL: "http://x"}, {Command: []string{""}},
		{URL: "ftp://x"}, {URL: "http://"}, {URL: "http://user:hush@x/"}, {URL: "http://x\x00y"},
	} {
		if _, err := New(s, nil); err == nil {
			t.Errorf("%v is taken", s)
		} else if strings.Contains(err.Error(), "hush") {
			t.Error(err)
		}
	}
}

// A server that sends more than it may is given up.
func TestAnswersAreBounded(t *testing.T) {
	srv := new(testServer).new("old")
	mcp.AddTool(srv, &mcp.Tool{Name: "big"}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return text(strings.Repeat("x", 1<<20)), nil, nil
	})
	for _, asJSON := range []bool{false, true} {
		h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{JSONResponse: asJSON}))
		defer h.Close()
		defer h.CloseClientConnections()
		w := newWorld(t, Server{URL: h.URL}, &Options{MaxMessage: 100 << 10}, nil)
		task := w.send(tool("big", `{}`))
		want(t, task, a2a.TaskStateFailed, "broke off the connection")
		want(t, w.send(tool("greet", `{"name":"Gil"}`)), a2a.TaskStateCompleted, "hello Gil")
		w.stop()
	}
	s, _ := command(t, "old")
	w := newWorld(t, s, &Options{MaxMessage: 100 << 10}, nil)
	want(t, w.send(tool("greet", `{"name":"`+strings.Repeat("x", 100<<10)+`"}`)), a2a.TaskStateFailed, "larger than the limit of 102400 bytes")
}

// Some calls need somebody to go somewhere first, and say so by an error.
func TestPlaceToGoToFirst(t *testing.T) {
	st := memory(t)
	var been atomic.Int64
	srv := mcp.NewServer(&mcp.Implementation{Name: "x"}, nil)
	srv.AddTool(&mcp.Tool{Name: "mail", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if been.Add(1) > 1 {
				return text("sent"), nil
			}
			return nil, &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "go",
				Data: json.RawMessage(`{"elicitations":[{"mode":"url","message":"Log in","url":"https://example.com/login","elicitationId":"1"}]}`)}
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
	defer h.Close()
	defer h.CloseClientConnections()
	first := newWorld(t, Server{URL: h.URL}, nil, st)
	task := first.send(a2a.TextPart("x"))
	want(t, task, a2a.TaskStateInputRequired, "Log in", "https://example.com/login")
	first.kill() // nothing has happened yet that must not happen twice
	second := newWorld(t, Server{URL: h.URL}, nil, st)
	want(t, second.sendTo(task.ID, a2a.TextPart("done")), a2a.TaskStateCompleted, "sent")
	second.stop()
}

// MCP's own form of an answer counts for a question with a URL, as data and as text.
func TestAnswersToAURL(t *testing.T) {
	f, err := newForm(&mcp.ElicitParams{Mode: "url", URL: "https://example.com/login"})
	if err != nil {
		t.Fatal(err)
	}
	const declined = `{"action": "decline"}`
	for _, p := range []*a2a.Part{a2a.DataPart(a2a.JSON(declined)), a2a.TextPart(declined), a2a.TextPart("decline")} {
		if a, problem := f.answer(&a2a.Message{Parts: []*a2a.Part{p}}); problem != "" || a.Action != "decline" {
			t.Errorf("%s: %+v, %q", p.AppendJSON(nil), a, problem)
		}
	}
	if a, problem := f.answer(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("done")}}); problem != "" || a.Action != "accept" {
		t.Errorf("done: %+v, %q", a, problem)
	}
}
