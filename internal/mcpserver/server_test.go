package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// serve runs an agent and returns a client of it.
func serve(t *testing.T, ag agent.Agent, card a2a.AgentCard) *a2aclient.Client {
	t.Helper()
	srv, err := parley.New(card, ag, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(srv.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ran
		h.CloseClientConnections()
		h.Close()
	})
	c, err := a2aclient.Dial(t.Context(), h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// world is an MCP client of a server for an agent.
type world struct {
	t     *testing.T
	agent *a2aclient.Client
	*mcp.ClientSession
	hangUp func() // as a client that is killed

	mu       sync.Mutex
	progress []string
	heard    chan string
}

// over is how client and server are joined.
type over struct {
	name    string
	version string
	http    bool
}

var ways = []over{
	{"stdio, new", "", false}, {"stdio, old", "2025-11-25", false},
	{"HTTP, new", "", true}, {"HTTP, old", "2025-11-25", true},
}

func each(t *testing.T, test func(t *testing.T, o over)) {
	for _, o := range ways {
		t.Run(o.name, func(t *testing.T) { test(t, o) })
	}
}

// connect joins a client to a server. elicit may be nil: the client cannot ask.
func connect(t *testing.T, w over, ag *a2aclient.Client, card *a2a.AgentCard, o *Options,
	elicit func(*mcp.ElicitParams) *mcp.ElicitResult) *world {
	t.Helper()
	out := &world{t: t, agent: ag, heard: make(chan string, 1000)}
	co := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			out.mu.Lock()
			out.progress = append(out.progress, r.Params.Message)
			out.mu.Unlock()
			select {
			case out.heard <- r.Params.Message:
			default:
			}
		},
	}
	if elicit != nil {
		co.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return elicit(r.Params), nil }
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, co)
	so := &mcp.ClientSessionOptions{ProtocolVersion: w.version}
	s := New(ag, card, o)
	var err error
	if w.http {
		ctx, cancel := context.WithCancel(context.Background())
		h := httptest.NewServer(s.Handler(ctx))
		t.Cleanup(func() {
			cancel()
			h.CloseClientConnections()
			h.Close()
		})
		out.hangUp = h.CloseClientConnections
		out.ClientSession, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL}, so)
	} else {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ran := make(chan error, 1)
		go func() { ran <- s.Serve(context.Background(), inR, outW) }()
		out.hangUp = sync.OnceFunc(func() {
			inW.Close()
			outR.Close()
			if err := <-ran; err != nil && !errors.Is(err, io.ErrClosedPipe) { // an answer may be on its way when outR ends
				t.Errorf("Serve: %v", err)
			}
		})
		t.Cleanup(out.hangUp)
		out.ClientSession, err = client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, so)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out
}

// call calls a tool and returns what a model would see.
func (w *world) call(tool, args string) (string, *mcp.CallToolResult) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	p := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	res, err := w.CallTool(ctx, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return show(res), res
}

func show(res *mcp.CallToolResult) string {
	var b strings.Builder
	if res.IsError {
		b.WriteString("ERROR ")
	}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			b.WriteString(c.Text + "|")
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "image %s %d|", c.MIMEType, len(c.Data))
		case *mcp.EmbeddedResource:
			fmt.Fprintf(&b, "resource %s %s %q %d|", c.Resource.URI, c.Resource.MIMEType, c.Resource.Text, len(c.Resource.Blob))
		case *mcp.ResourceLink:
			fmt.Fprintf(&b, "link %s %s|", c.URI, c.MIMEType)
		}
	}
	return b.String()
}

// member returns a member of a result's structured content.
func member(res *mcp.CallToolResult, name string) string {
	all, _ := res.StructuredContent.(map[string]any)
	s, _ := all[name].(string)
	return s
}

func contains(t *testing.T, got string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in %q", w, got)
		}
	}
}

func TestAgentAsTools(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	each(t, func(t *testing.T, o over) {
		w := connect(t, o, ag, ag.Card(), nil, nil)
		tools, err := w.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
			if tool.Name == "send_message" {
				contains(t, tool.Description, "Parley demo", "Echo", "For example: echo hello")
			}
		}
		if got := strings.Join(names, " "); got != "answer_task cancel_task get_task list_tasks send_message" {
			t.Errorf("tools %s", got)
		}

		got, res := w.call("send_message", `{"message":"echo hello"}`)
		if got != "hello|" || member(res, "state") != "completed" || member(res, "text") != "hello" || member(res, "task_id") == "" {
			t.Errorf("echo: %s %v", got, res.StructuredContent)
		}
		id := member(res, "task_id")
		got, _ = w.call("get_task", fmt.Sprintf(`{"task_id":%q}`, id))
		contains(t, got, "hello|")
		got, _ = w.call("list_tasks", `{"state":"completed"}`)
		contains(t, got, id+" completed")
		if got, _ = w.call("send_message", `{"message":"message direct"}`); got != "direct|" {
			t.Errorf("message: %s", got)
		}
		got, _ = w.call("send_message", `{"message":"fail out of paper"}`)
		contains(t, got, "ERROR", "out of paper")
		got, _ = w.call("send_message", `{"message":"file"}`)
		contains(t, got, "image image/png ", "link http", "application/pdf|")
		got, res = w.call("send_message", `{"message":"data"}`)
		contains(t, got, "{")
		if res.StructuredContent.(map[string]any)["data"] == nil {
			t.Errorf("no data: %v", res.StructuredContent)
		}
		got, _ = w.call("get_task", `{"task_id":"no-such"}`)
		contains(t, got, "ERROR TaskNotFoundError")
		got, _ = w.call("send_message", `{}`)
		contains(t, got, "ERROR", "nothing to send")
		got, _ = w.call("cancel_task", fmt.Sprintf(`{"task_id":%q}`, id))
		contains(t, got, "ERROR TaskNotCancelableError")
	})
}

func TestFilesAndDataGoToTheAgent(t *testing.T) {
	ag := serve(t, agent.Func(func(_ context.Context, t *agent.Turn) error {
		var b strings.Builder
		for _, p := range t.Message().Parts {
			fmt.Fprintf(&b, "%d %s%s%s%s %s %s; ", p.Kind, p.Text, p.Raw, p.URL, p.Data, p.MediaType, p.Filename)
		}
		return t.Artifact("out").Last(a2a.TextPart(b.String()), a2a.RawPart([]byte("# hi"), "text/markdown", "a b.md"), a2a.RawPart([]byte{0, 1}, "application/zip", "x.zip"))
	}), a2a.AgentCard{Name: "files", DefaultInputModes: []string{"text/plain", "application/json", "text/csv", "image/png"}})
	each(t, func(t *testing.T, o over) {
		w := connect(t, o, ag, ag.Card(), nil, nil)
		got, res := w.call("send_message", `{"message":"look","data":{"a":[12345678901234567890]},"files":[
			{"name":"t.csv","media_type":"text/csv","text":"1,2"},{"name":"p.png","media_type":"image/png","base64":"AAEC"}]}`)
		contains(t, got, "1 look  ; ", `4 {"a":[12345678901234567890]} application/json ; `, "2 1,2 text/csv t.csv; ", "2 \x00\x01\x02 image/png p.png; ",
			"a2a:///tasks/"+member(res, "task_id")+`/files/1/a%20b.md text/markdown "# hi" 0|`, `/files/2/x.zip application/zip "" 2|`)
		got, _ = connect(t, o, ag, ag.Card(), &Options{MaxResult: 5}, nil).call("send_message", `{"message":"look"}`)
		contains(t, got, "1 loo …|(the file a b.md of 4 bytes is left out)|")
	})
}

func TestLongTaskTellsItsProgress(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	each(t, func(t *testing.T, o over) {
		w := connect(t, o, ag, ag.Card(), nil, nil)
		p := &mcp.CallToolParams{Name: "send_message", Arguments: json.RawMessage(`{"message":"stream 5 60"}`)}
		p.SetProgressToken("p1")
		res, err := w.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, show(res), "chunk")
		select {
		case <-w.heard:
		case <-time.After(5 * time.Second):
			t.Error("no progress was told")
		}
	})
}

func TestCallThatDoesNotWaitSaysHowToGoOn(t *testing.T) {
	each(t, func(t *testing.T, o over) {
		let := make(chan struct{})
		ag := serve(t, agent.Func(func(context.Context, *agent.Turn) error { <-let; return nil }), a2a.AgentCard{Name: "slow"})
		w := connect(t, o, ag, ag.Card(), &Options{Wait: 10 * time.Millisecond}, nil)
		got, res := w.call("send_message", `{"message":"go"}`)
		contains(t, got, "goes on: look at it with get_task")
		id := member(res, "task_id")
		got, _ = w.call("get_task", fmt.Sprintf(`{"task_id":%q}`, id))
		contains(t, got, "goes on")
		close(let)
		_, res = w.call("get_task", fmt.Sprintf(`{"task_id":%q,"wait_seconds":10}`, id))
		if member(res, "state") != "completed" {
			t.Errorf("state %s", member(res, "state"))
		}
	})
}

func TestQuestionIsElicitedWhereTheClientCan(t *testing.T) {
	ag := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		a, err := t.Ask(ctx, "Which city?")
		if err != nil {
			return err
		}
		b, err := t.AskParts(ctx, a2a.TextPart("How long?"), a2a.DataPart(a2a.JSON(
			`{"elicitation":{"mode":"form","message":"How many days?","requestedSchema":{"type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}}}`)))
		if err != nil {
			return err
		}
		for _, p := range b.Parts {
			if p.Kind == a2a.PartData {
				return t.Complete(a.Text() + " " + string(p.Data))
			}
		}
		return t.Complete(a.Text() + " for " + b.Text())
	}), a2a.AgentCard{Name: "trips", DefaultInputModes: []string{"text/plain", "application/json"}})
	each(t, func(t *testing.T, o over) {
		var asked []string
		var mu sync.Mutex
		decline := false
		w := connect(t, o, ag, ag.Card(), nil, func(q *mcp.ElicitParams) *mcp.ElicitResult {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, q.Message)
			switch {
			case decline:
				return &mcp.ElicitResult{Action: "decline"}
			case len(asked) == 1:
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "Berlin"}}
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"days": 3}}
		})
		got, _ := w.call("send_message", `{"message":"plan"}`)
		contains(t, got, `Berlin {"days":3}|`)
		if q := strings.Join(asked, "; "); q != "Which city?; How many days?" {
			t.Errorf("asked %s", q)
		}
		mu.Lock()
		decline = true
		mu.Unlock()
		got, res := w.call("send_message", `{"message":"plan"}`)
		contains(t, got, "Which city?|", "waits for an answer: send it with answer_task")

		mute := connect(t, o, ag, ag.Card(), nil, nil)
		id := member(res, "task_id")
		got, _ = mute.call("answer_task", fmt.Sprintf(`{"task_id":%q,"message":"Rome"}`, id))
		contains(t, got, "How long?|", "answer_task")
		got, _ = mute.call("answer_task", fmt.Sprintf(`{"task_id":%q,"message":"a week"}`, id))
		contains(t, got, "Rome for a week|")
	})
}

func TestAuthorizationIsNeverElicited(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	each(t, func(t *testing.T, o over) {
		w := connect(t, o, ag, ag.Card(), nil, func(*mcp.ElicitParams) *mcp.ElicitResult {
			t.Error("it was asked for")
			return &mcp.ElicitResult{Action: "cancel"}
		})
		got, res := w.call("send_message", `{"message":"auth"}`)
		contains(t, got, "waits for an authorization")
		if member(res, "state") != "auth_required" {
			t.Errorf("state %v", res.StructuredContent)
		}
	})
}

// state waits for a task to get out of work.
func (w *world) state(id string) a2a.TaskState {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		task, err := w.agent.GetTask(context.Background(), &a2a.GetTaskRequest{ID: id})
		if err != nil {
			w.t.Fatal(err)
		}
		if task.Status.State.Terminal() || time.Now().After(end) {
			return task.Status.State
		}
		<-time.After(5 * time.Millisecond)
	}
}

// A client that cancels a call wants the work to end; one that goes away says
// nothing of the kind.
func TestCancelledCallCancelsItsTask(t *testing.T) {
	for _, o := range ways {
		if o.http && o.version == "" {
			continue // there, to cancel is to hang up
		}
		t.Run(o.name, func(t *testing.T) {
			ids, let := make(chan string, 2), make(chan struct{})
			ag := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				if err := t.Status("at it"); err != nil {
					return err
				}
				ids <- t.Task().ID
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-let:
					return nil
				}
			}), a2a.AgentCard{Name: "slow"})
			w := connect(t, o, ag, ag.Card(), &Options{Wait: time.Millisecond}, nil)
			begin := func() (func(), string) {
				ctx, cancel := context.WithCancel(t.Context())
				p := &mcp.CallToolParams{Name: "send_message", Arguments: json.RawMessage(`{"message":"go"}`)}
				p.SetProgressToken("t")
				go w.CallTool(ctx, p)
				<-w.heard // so that the server knows the task
				return cancel, <-ids
			}
			cancel, id := begin()
			cancel()
			if s := w.state(id); s != a2a.TaskStateCanceled {
				t.Errorf("state %s after the call was cancelled", s)
			}
			cancel, id = begin()
			defer cancel()
			w.hangUp()
			close(let)
			if s := w.state(id); s != a2a.TaskStateCompleted {
				t.Errorf("state %s after the client went away", s)
			}
		})
	}
}

func TestSkillsAsTools(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	w := connect(t, ways[0], ag, ag.Card(), &Options{Skills: true}, nil)
	got, _ := w.call("echo", `{"message":"echo hi"}`)
	contains(t, got, "hi|")
	tools, err := w.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tools.Tools); n != len(ag.Card().Skills)+4 {
		t.Errorf("%d tools", n)
	}
}

// An agent whose card has schemas for its skills is told which one is called.
func TestSkillsAreCalledById(t *testing.T) {
	card := agent.DemoCard()
	card.Skills = []*a2a.AgentSkill{{ID: "sum", Name: "Sum", Description: "Adds.", Tags: []string{"x"}}}
	card.Capabilities.Extensions = []*a2a.AgentExtension{a2a.SkillsExtension(map[string]a2a.JSON{"sum": a2a.JSON(`{"type":"object","required":["a"]}`)})}
	ag := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		said := fmt.Sprint(t.Skill() != nil)
		if call := t.Skill(); call != nil {
			said = call.ID + string(call.Arguments)
		}
		answer, err := t.Ask(ctx, said)
		if err != nil {
			return err
		}
		return t.Reply(answer.Text())
	}), card)
	w := connect(t, ways[1], ag, ag.Card(), &Options{Skills: true}, func(*mcp.ElicitParams) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "fine"}}
	})
	text, _ := w.call("sum", `{"data":{"a":12345678901234567890}}`)
	contains(t, text, "fine")
	text, _ = w.call("sum", `{"message":"hello"}`)
	contains(t, text, "/arguments/a", "is required")
	w = connect(t, ways[1], ag, ag.Card(), &Options{Skills: true}, nil)
	text, _ = w.call("sum", `{"data":{"a":12345678901234567890}}`)
	contains(t, text, `sum{"a":12345678901234567890}`)
}

func TestAgentWithoutStreamsIsPolled(t *testing.T) {
	no := false
	card := agent.DemoCard()
	card.Capabilities.Streaming = &no
	ag := serve(t, agent.Demo(), card)
	w := connect(t, ways[0], ag, ag.Card(), &Options{Poll: 20 * time.Millisecond}, nil)
	got, _ := w.call("send_message", `{"message":"stream 3 10"}`)
	contains(t, got, "chunk")
	_, res := w.call("send_message", `{"message":"ask Which city?"}`)
	got, _ = w.call("answer_task", fmt.Sprintf(`{"task_id":%q,"message":"Berlin"}`, member(res, "task_id")))
	contains(t, got, "Berlin")
	got, _ = w.call("get_task", fmt.Sprintf(`{"task_id":%q,"wait_seconds":10}`, member(res, "task_id")))
	contains(t, got, "Berlin")
	got, _ = w.call("get_task", `{"task_id":"nobody","wait_seconds":10}`)
	contains(t, got, "ERROR TaskNotFound")
}

func TestAgentThatIsGone(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	dead := httptest.NewServer(http.NotFoundHandler())
	card := *ag.Card()
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: dead.URL + "/secret", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
	dead.Close()
	c, err := a2aclient.New(&card, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := connect(t, ways[0], c, &card, nil, nil)
	got, _ := w.call("send_message", `{"message":"echo hi"}`)
	contains(t, got, "ERROR the agent at 127.0.0.1:", "cannot be reached")
	if strings.Contains(got, "secret") {
		t.Errorf("it tells the address: %s", got)
	}
}

func TestHandlerIsForThisMachine(t *testing.T) {
	ag := serve(t, agent.Demo(), agent.DemoCard())
	h := httptest.NewServer(New(ag, ag.Card(), nil).Handler(t.Context()))
	defer h.Close()
	host := strings.TrimPrefix(h.URL, "http://")
	for _, c := range []struct {
		host, origin, site string
		want               int
	}{
		{host, "", "", 200},
		{"localhost:80", "", "", 200},
		{"[::1]:80", "", "", 200},
		{host, "http://" + host, "same-origin", 200},
		{"evil.example", "", "", 403},
		{"127.0.0.1.evil.example", "", "", 403},
		{host, "https://evil.example", "", 403},
		{host, "http://localhost:3000", "", 403},
		{host, "null", "", 403},
		{host, "", "cross-site", 403},
	} {
		req, _ := http.NewRequest("POST", h.URL, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		req.Host = c.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.site != "" {
			req.Header.Set("Sec-Fetch-Site", c.site)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%+v: %d", c, resp.StatusCode)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	h := New(nil, &a2a.AgentCard{Name: "x"}, nil).Handler(t.Context())
	name := "t"
	ask := func(method, session string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "http://127.0.0.1/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	first := ask("POST", "").Header().Get("Mcp-Session-Id")
	last := ""
	for range maxSessions - 1 {
		w := ask("POST", "")
		if last = w.Header().Get("Mcp-Session-Id"); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := ask("POST", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "end one with DELETE") {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	if w := ask("DELETE", first); w.Code != 204 {
		t.Errorf("the end of one: %d %s", w.Code, w.Body)
	}
	if w := ask("POST", ""); w.Code != 200 {
		t.Errorf("in its place: %d %s", w.Code, w.Body)
	}
	ask("DELETE", last)
	name = strings.Repeat("x", maxHello) // which the session would keep
	if w := ask("POST", ""); w.Code != 413 {
		t.Errorf("a large one: %d %s", w.Code, w.Body)
	}
}
