package a2aserver_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
	"github.com/parley-a2a/parley/store/sqlite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// door is one way to use the resume extension by hand: a version over a binding.
type door struct {
	version string
	d       dialect.Dialect
	binding string
	body    bool // the cursor goes into the body, not the query
}

func doors() (all []door) {
	for _, version := range []string{"0.3", "1.0", "1.1"} {
		d, _ := dialect.ParseVersion(version)
		all = append(all, door{version, d, a2a.BindingJSONRPC, true}, door{version, d, a2a.BindingHTTPJSON, false}, door{version, d, a2a.BindingGRPC, false})
	}
	return append(all, door{"1.0", dialect.V10, a2a.BindingHTTPJSON, true})
}

func (o door) String() string {
	where := ""
	if o.body && o.binding == a2a.BindingHTTPJSON {
		where = " body"
	}
	return o.version + " " + o.binding + where
}

// seen is an element with the position from its metadata.
type seen struct {
	id string
	el *a2a.StreamResponse
}

func (s seen) String() string {
	switch {
	case s.el.Task != nil:
		n := 0
		for _, a := range s.el.Task.Artifacts {
			n += len(a.Parts)
		}
		return fmt.Sprintf("%s task %s %d", s.id, s.el.Task.Status.State, n)
	case s.el.ArtifactUpdate != nil:
		return s.id + " " + s.el.ArtifactUpdate.Artifact.Parts[0].Text
	}
	return s.id + " " + s.el.State().String()
}

func lines(list []seen) string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return strings.Join(out, "\n")
}

// subscribe resumes after a cursor, or begins with the task if it is "", and reads
// until the stream ends or enough returns true.
func (o door) subscribe(t *testing.T, base, id, cursor string, enough func([]seen) bool) (list []seen, failed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	add := func(els []*a2a.StreamResponse, err error) bool {
		if err != nil {
			failed = err
			return false
		}
		for _, el := range els {
			pos := dialect.TakeEventID(el)
			if o.d == dialect.V03 && pos == "" && el.State().Terminal() && el.StatusUpdate != nil {
				continue // for clients of 0.3 it repeats what the Task before it says
			}
			list = append(list, seen{pos, el})
		}
		return enough == nil || !enough(list)
	}
	req := &a2a.SubscribeToTaskRequest{ID: id}
	if o.binding == a2a.BindingGRPC {
		o.overGRPC(ctx, t, base, req, cursor, add)
	} else {
		o.overHTTP(ctx, t, base, req, cursor, add)
	}
	return list, failed
}

func (o door) overHTTP(ctx context.Context, t *testing.T, base string, req *a2a.SubscribeToTaskRequest, cursor string, add func([]*a2a.StreamResponse, error) bool) {
	t.Helper()
	codec := dialect.CodecOf(o.d, o.binding)
	doc := codec.AppendRequest(nil, dialect.SubscribeToTask, req)
	own := fmt.Sprintf(`{"%s":{"lastEventId":%q}}`, dialect.ResumeURI, cursor)
	verb, target, body := "POST", base, ""
	switch {
	case o.binding == a2a.BindingJSONRPC:
		doc = append(doc[:len(doc)-1], `,"metadata":`+own+`}`...)
		body = string(wire.AppendRequest(nil, []byte("1"), dialect.Get(dialect.SubscribeToTask).Methods[o.d], doc))
	case o.body:
		target, body = base+"/tasks/"+req.ID+":subscribe", `{"metadata":`+own+`}`
	default:
		path := "/tasks/" + req.ID + ":subscribe?lastEventId=" + url.QueryEscape(cursor)
		if o.d == dialect.V03 {
			path = "/v1" + path
		}
		verb, target = "GET", base+path
	}
	r, err := http.NewRequestWithContext(ctx, verb, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("A2A-Version", o.version)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if media := res.Header.Get("Content-Type"); !strings.HasPrefix(media, "text/event-stream") {
		b, err := bufio.NewReader(res.Body).ReadString(0)
		if env, bad := wire.ParseResponse([]byte(b)); o.binding == a2a.BindingJSONRPC && bad == nil && env.Err != nil {
			add(nil, dialect.ErrorFromRPC(res.StatusCode, env.Err.Code, env.Err.Message, env.Err.Data))
			return
		}
		if res.StatusCode == http.StatusOK {
			t.Fatalf("%q, %v", b, err)
		}
		add(nil, dialect.ErrorFromHTTP(res.StatusCode, media, []byte(b)))
		return
	}
	if got := res.Header.Get(dialect.ExtensionsHeader(o.d)); got != dialect.ResumeURI {
		t.Errorf("active extensions: %q", got)
	}
	events := wire.NewReader(res.Body, 1<<20)
	for {
		ev, err := events.Next()
		if err != nil {
			return
		}
		data := ev.Data
		if o.binding == a2a.BindingJSONRPC {
			env, bad := wire.ParseResponse(data)
			if bad != nil {
				t.Fatalf("%s: %v", data, bad)
			}
			if env.Err != nil {
				add(nil, dialect.ErrorFromRPC(200, env.Err.Code, env.Err.Message, env.Err.Data))
				return
			}
			data = env.Result
		}
		if !add(codec.DecodeEvent(dialect.SubscribeToTask, req, data)) {
			return
		}
	}
}

func (o door) overGRPC(ctx context.Context, t *testing.T, base string, req *a2a.SubscribeToTaskRequest, cursor string, add func([]*a2a.StreamResponse, error) bool) {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(base, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	form := dialect.GRPCOf(o.d)
	ctx = metadata.AppendToOutgoingContext(ctx, "a2a-version", o.version, strings.ToLower(dialect.ExtensionsHeader(o.d)), dialect.ResumeURI)
	if cursor != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, dialect.SeqKey, cursor)
	}
	m, err := form.Request(dialect.SubscribeToTask, req)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+form.Service()+"/"+form.Method(dialect.SubscribeToTask))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.SendMsg(m)
	_ = s.CloseSend()
	for {
		res := form.NewResult(dialect.SubscribeToTask)
		if err := s.RecvMsg(res); err != nil {
			if f := err.Error(); !strings.Contains(f, "EOF") {
				add(nil, err)
			}
			return
		}
		if !add(form.DecodeEvent(dialect.SubscribeToTask, req, res)) {
			return
		}
	}
}

// server is a Parley with a database, which can be stopped and started again.
type server struct {
	t    *testing.T
	path string
	ag   agent.Agent
	url  string
	stop func()
}

func newServer(t *testing.T, ag agent.Agent) *server {
	s := &server{t: t, path: filepath.Join(t.TempDir(), "parley.db"), ag: ag}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *server) start() {
	s.t.Helper()
	st, err := sqlite.Open(s.path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := parley.New(agent.DemoCard(), s.ag, &parley.Options{Store: st, DrainWait: time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	s.url = "http://" + l.Addr().String()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("Serve: %v", err)
		}
		if err := st.Close(); err != nil {
			s.t.Errorf("Close: %v", err)
		}
	}
}

// client speaks 1.0 to the server, whichever port it has now.
func (s *server) client() *a2aclient.Client {
	s.t.Helper()
	c, err := a2aclient.Dial(s.t.Context(), s.url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func words(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message: &a2a.Message{MessageID: rand.Text(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}},
	}
}

func (s *server) run(text string) (id string) {
	s.t.Helper()
	res, err := s.client().SendMessage(s.t.Context(), words(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return res.Task.ID
}
