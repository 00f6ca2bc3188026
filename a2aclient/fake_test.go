package a2aclient

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/wire"
)

// fake is an agent's server, scripted by hand, for both bindings: JSON-RPC at
// /rpc and HTTP+JSON below /rest.
type fake struct {
	// handle answers a call.
	handle func(x *exchange)

	mu    sync.Mutex // protects the field below
	calls []seen
}

// seen is a request as it arrived.
type seen struct {
	op     dialect.Op
	req    any
	method string
	uri    string
	header http.Header
}

// exchange is a call with the means to answer it.
type exchange struct {
	seen
	w  http.ResponseWriter
	r  *http.Request
	id []byte // of JSON-RPC; nil on HTTP+JSON
	n  int    // calls before this one
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x := &exchange{w: w, r: r, seen: seen{method: r.Method, uri: r.RequestURI, header: r.Header}}
	if strings.HasPrefix(r.URL.Path, "/rpc") {
		env, bad := wire.ParseRequest(body)
		if bad != nil {
			panic(bad)
		}
		x.id = env.ID
		if x.op, _, err = dialect.DetectRPC(env.Method, "", false); err == nil {
			x.req, err = dialect.CodecOf(dialect.V10, a2a.BindingJSONRPC).DecodeRequest(x.op, env.Params)
		}
	} else {
		m, _, ok := dialect.MatchRoute(dialect.V10, r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/rest"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		x.op = m.Op
		x.req, err = dialect.DecodeREST(m, r.URL.Query(), body)
	}
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	x.n = len(f.calls)
	f.calls = append(f.calls, x.seen)
	f.mu.Unlock()
	f.handle(x)
}

func (f *fake) seen() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]seen(nil), f.calls...)
}

// json answers with a result.
func (x *exchange) json(result any) {
	doc := dialect.CodecOf(dialect.V10, a2a.BindingJSONRPC).AppendResult(nil, x.op, x.req, result)
	if x.id != nil {
		doc = append(append(wire.AppendResultPrefix(nil, x.id), doc...), '}')
	}
	x.raw(200, "application/json", string(doc))
}

// fail answers with an error.
func (x *exchange) fail(e *a2a.Error) {
	if x.id != nil {
		x.raw(dialect.RPCStatus(e.Code), "application/json", string(x.failure(e)))
		return
	}
	x.raw(dialect.ErrorRowOf(e.Code).HTTP, "application/json", string(x.failure(e)))
}

func (x *exchange) failure(e *a2a.Error) []byte {
	if x.id != nil {
		return wire.AppendError(nil, x.id, dialect.AppendRPCError(nil, dialect.V10, e))
	}
	return dialect.AppendStatus(nil, dialect.V10, e)
}

func (x *exchange) raw(status int, media, body string) {
	x.w.Header().Set("Content-Type", media)
	x.w.WriteHeader(status)
	_, _ = io.WriteString(x.w, body)
}

// event returns an event in the binding's framing.
func (x *exchange) event(id string, el *a2a.StreamResponse) []byte {
	doc := el.AppendJSON(nil)
	if x.id != nil {
		doc = append(append(wire.AppendResultPrefix(nil, x.id), doc...), '}')
	}
	return wire.AppendEvent(nil, id, "", doc)
}

// stream begins a stream with some bytes.
func (x *exchange) stream(bytes ...[]byte) {
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.WriteHeader(200)
	x.write(bytes...)
}

func (x *exchange) write(bytes ...[]byte) {
	for _, b := range bytes {
		_, _ = x.w.Write(b)
	}
	_ = http.NewResponseController(x.w).Flush()
}

// cut breaks the connection.
func (x *exchange) cut() { panic(http.ErrAbortHandler) }

// yes is a capability that is there.
var yes = func() *bool { b := true; return &b }()

// cardAt returns a card whose agent has everything, at base.
func cardAt(base string, bindings ...string) *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name: "Fake", Description: "Made for tests.", Version: "1",
		Capabilities: a2a.AgentCapabilities{Streaming: yes, PushNotifications: yes, ExtendedAgentCard: yes},
	}
	for _, b := range bindings {
		path := "/rpc"
		if b == a2a.BindingHTTPJSON {
			path = "/rest"
		}
		c.SupportedInterfaces = append(c.SupportedInterfaces,
			&a2a.AgentInterface{URL: base + path, ProtocolBinding: b, ProtocolVersion: "1.0"})
	}
	return c
}

// both runs a test on each binding.
func both(t *testing.T, f func(t *testing.T, binding string)) {
	for _, b := range overJSON {
		t.Run(b, func(t *testing.T) { f(t, b) })
	}
}

// dial returns a client of f over a real socket.
func dial(t *testing.T, f *fake, binding string, o *Options) *Client {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	c, err := New(cardAt(srv.URL, binding), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// pipes is a network in memory, for bubbles of synctest.
type pipes struct {
	*porttest.Pipes
	dials int
	down  bool // nobody listens
	late  int  // nor at the first dials

	accepted atomic.Int64
}

// connNumber is the key of the number of a connection in the context of its
// requests, an int64 from 1.
type connNumber struct{}

func (p *pipes) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.dials++
	if p.down || p.dials <= p.late {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
	}
	return p.DialContext(ctx, network, addr)
}

// inMemory returns a client of h over pipes. It is for bubbles, and ends with
// the test.
func inMemory(t *testing.T, h http.Handler, binding string, o *Options) (*Client, *pipes) {
	t.Helper()
	p := &pipes{Pipes: porttest.NewPipes()}
	srv := &http.Server{Handler: h, Protocols: new(http.Protocols), ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connNumber{}, p.accepted.Add(1))
	}}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(p) }()
	if o == nil {
		o = &Options{}
	}
	tr := &http.Transport{DialContext: p.dial}
	o.HTTPClient = &http.Client{Transport: tr}
	c, err := New(cardAt("http://agent.test", binding), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
		<-served
	})
	return c, p
}

// script is a task's life: its first Task, and what happened to it.
type script []*a2a.StreamResponse

// counting returns the life of a task t1 that streams n chunks.
func counting(n int) script {
	s := script{
		{Task: &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}},
		status(a2a.TaskStateWorking),
	}
	for i := range n {
		s = append(s, &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
			TaskID: "t1", ContextID: "c1", Append: i > 0, LastChunk: i == n-1,
			Artifact: &a2a.Artifact{ArtifactID: "a1", Parts: []*a2a.Part{a2a.TextPart("chunk " + strconv.Itoa(i+1) + "\n")}},
		}})
	}
	return append(s, status(a2a.TaskStateCompleted))
}

func status(s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{
		TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s},
	}}
}

// at returns the task after its first n elements.
func (s script) at(n int) *a2a.Task {
	t := new(a2a.Task)
	for _, el := range s[:n] {
		t.ApplyEvent(el)
	}
	return t
}

// collect ranges over a stream.
func collect(seq func(func(*a2a.StreamResponse, error) bool)) (els []*a2a.StreamResponse, err error) {
	for el, e := range seq {
		if e != nil {
			return els, e
		}
		els = append(els, el)
	}
	return els, nil
}

// fold returns the JSON of the task that the elements amount to.
func fold(els []*a2a.StreamResponse) string {
	t := new(a2a.Task)
	for _, el := range els {
		t.ApplyEvent(el)
	}
	return string(t.AppendJSON(nil))
}

// brief returns a stream in short: seqs and kinds.
func brief(els []*a2a.StreamResponse) string {
	var out []string
	for _, el := range els {
		kind := "?"
		switch {
		case el.Task != nil:
			kind = "task:" + strings.TrimPrefix(el.State().String(), "TASK_STATE_")
		case el.Message != nil:
			kind = "message"
		case el.StatusUpdate != nil:
			kind = strings.TrimPrefix(el.State().String(), "TASK_STATE_")
		case el.ArtifactUpdate != nil:
			kind = "chunk"
		}
		out = append(out, strconv.FormatInt(el.Seq, 10)+" "+kind)
	}
	return strings.Join(out, ", ")
}

func hello() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")},
	}}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// overJSON are the bindings that the fake speaks.
var overJSON = []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON}
