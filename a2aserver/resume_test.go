package a2aserver_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
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

const patience = 20 * time.Second // for what should happen at once

// door is where the resume extension is used by hand: a version over a binding.
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

// seen is an element with the position that its metadata has.
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

// subscribe goes on behind a cursor, or begins with the task if it is "", until
// the stream ends or enough says so.
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
				continue // it repeats, for the clients of 0.3, what the Task before it says
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

// server is a Parley on a database, which can be stopped and started again.
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

// client speaks 1.0 to the server, whichever port it has.
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

// A finished task is told again from every position on, exactly, over every
// version and binding, before and after a restart; and what is no position is
// refused.
func TestResumeByExtension(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	id, short := s.run("stream 4 0"), s.run("echo x")
	all, err := (door{"1.0", dialect.V10, a2a.BindingJSONRPC, true}).subscribe(t, s.url, id, "1", nil)
	if err != nil || len(all) != 7 {
		t.Fatalf("%v\n%s", err, lines(all))
	}
	last := all[len(all)-1].id
	check := func(t *testing.T) {
		for _, o := range doors() {
			t.Run(o.String(), func(t *testing.T) {
				for i := range all {
					list, err := o.subscribe(t, s.url, id, all[i].id, nil)
					if err != nil || len(list) == 0 || list[0].el.Task == nil || list[0].id != all[i].id {
						t.Fatalf("behind %s: %v\n%s", all[i].id, err, lines(list))
					}
					if got, want := lines(list[1:]), lines(all[i+1:]); got != want {
						t.Errorf("behind %s:\n%s\nwant\n%s", all[i].id, got, want)
					}
					if ended := list[0].el.Task.Status.State.Terminal(); ended != (i == len(all)-1) {
						t.Errorf("behind %s: the task as of then is %s", all[i].id, list[0])
					}
				}
				o.refuses(t, s.url, id, short, last)
			})
		}
	}
	t.Run("at first", check)
	s.stop()
	s.start()
	t.Run("after a restart", check)
}

// refuses tries what is no position of a task.
func (o door) refuses(t *testing.T, base, id, short, last string) {
	t.Helper()
	field := `metadata["` + dialect.ResumeURI + `"].lastEventId`
	switch {
	case o.binding == a2a.BindingGRPC:
		field = "Last-Event-ID"
	case !o.body:
		field = "lastEventId"
	}
	end, _ := strconv.Atoi(last)
	for _, tt := range []struct{ id, cursor string }{
		{id, "-1"}, {id, "x"}, {id, "1.5"}, {id, "99999999999999999999"}, {id, strconv.Itoa(end + 1)}, {short, last}, {id, `"`},
	} {
		list, err := o.subscribe(t, base, tt.id, tt.cursor, nil)
		if err == nil || len(list) > 0 {
			t.Errorf("cursor %s: %s", tt.cursor, lines(list))
			continue
		}
		f := err.Error()
		if !strings.Contains(f, field+": ") || o.binding != a2a.BindingGRPC && !isInvalid(err) {
			t.Errorf("cursor %s: %v", tt.cursor, err)
		}
	}
}

func isInvalid(err error) bool {
	e, ok := err.(*a2a.Error)
	return ok && e.Code == a2a.CodeInvalidParams
}

// A task that runs is told from a position on, and goes on live.
func TestResumeByExtensionWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, o := range doors() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := newServer(t, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
				if err := turn.Status("held"); err != nil {
					return err
				}
				select {
				case <-release:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				w := turn.Artifact("result")
				for i := range 3 {
					if err := w.Add(a2a.TextPart("part " + strconv.Itoa(i))); err != nil {
						return err
					}
				}
				return nil
			}))
			c, ids, done := s.client(), make(chan string, 1), make(chan struct{})
			go func() {
				defer close(done)
				for el, err := range c.SendStreamingMessage(t.Context(), words("go")) {
					if err != nil {
						t.Error(err)
					} else if el.Task != nil {
						ids <- el.Task.ID
					}
				}
			}()
			id := <-ids
			freed := false
			list, err := o.subscribe(t, s.url, id, "1", func(list []seen) bool {
				if last := list[len(list)-1]; !freed && last.el.State() == a2a.TaskStateWorking {
					freed = true // it says so before anything of what follows is there
					close(release)
				}
				return false
			})
			if err != nil || !freed {
				t.Fatalf("%v\n%s", err, lines(list))
			}
			<-done
			again, err := o.subscribe(t, s.url, id, "1", nil)
			if err != nil || lines(again) != lines(list) {
				t.Errorf("live:\n%s\nafterwards (%v):\n%s", lines(list), err, lines(again))
			}
			if kinds := len(list); kinds < 5 || list[0].el.Task == nil || list[kinds-1].el.State() != a2a.TaskStateCompleted {
				t.Errorf("%s", lines(list))
			}
			// Without a cursor: the task as it stands, with its position.
			if o.d == dialect.V03 {
				whole, err := o.subscribe(t, s.url, id, "", nil)
				if err != nil || len(whole) != 1 || whole[0].id != list[len(list)-1].id {
					t.Errorf("without a cursor: %v\n%s", err, lines(whole))
				}
			}
		})
	}
}

// The header, which EventSource keeps up to date, wins over the query of the
// address that it repeats; and nothing is marked for those who do not ask.
func TestResumeHeaderAndQuery(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	id := s.run("stream 4 0")
	get := func(query, header string) string {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/tasks/"+id+":subscribe"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var ids []string
		events := wire.NewReader(res.Body, 1<<20)
		for ev, err := events.Next(); err == nil; ev, err = events.Next() {
			els, err := dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).DecodeEvent(dialect.SubscribeToTask, nil, ev.Data)
			if err != nil {
				t.Fatal(err)
			}
			own := dialect.TakeEventID(els[0])
			if query != "" && own != ev.ID || query == "" && own != "" {
				t.Errorf("event %s has the position %q", ev.ID, own)
			}
			ids = append(ids, ev.ID)
		}
		return strings.Join(ids, " ")
	}
	whole := get("", "1")
	if got := get("?lastEventId=", "1"); got != whole {
		t.Errorf("header and empty query: %s, want %s", got, whole)
	}
	ids := strings.Fields(whole)
	if got, want := get("?lastEventId=1", ids[3]), strings.Join(ids[3:], " "); got != want || slices.Contains(ids[:3], "") {
		t.Errorf("header and query: %s, want %s", got, want)
	}
}

// A message begins a marked stream, by header or by its metadata.
func TestStreamsAreMarkedFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	for _, header := range []string{"", dialect.ResumeURI + ", https://example.org/other/v1"} {
		metadata := ""
		if header == "" {
			metadata = `,"metadata":{"` + dialect.ResumeURI + `":{}}`
		}
		body := `{"message":{"messageId":"` + rand.Text() + `","role":"ROLE_USER","parts":[{"text":"stream 3 0"}]}` + metadata + `}`
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/message:stream", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Extensions", header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("A2A-Extensions"); got != dialect.ResumeURI {
			t.Errorf("active: %q", got)
		}
		n := 0
		events := wire.NewReader(res.Body, 1<<20)
		for ev, err := events.Next(); err == nil; ev, err = events.Next() {
			els, err := dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).DecodeEvent(dialect.SendStreamingMessage, nil, ev.Data)
			if err != nil {
				t.Fatal(err)
			}
			if n++; ev.ID == "" || dialect.TakeEventID(els[0]) != ev.ID {
				t.Errorf("event %q has another position: %s", ev.ID, ev.Data)
			}
		}
		if n < 5 {
			t.Errorf("%d events", n)
		}
	}
}

// A card that says not to stream does not have the extension, and one that has
// it already, not twice.
func TestResumeOnTheCard(t *testing.T) {
	t.Parallel()
	streams := agent.DemoCard()
	own := streams
	own.Capabilities.Extensions = []*a2a.AgentExtension{{URI: dialect.ResumeURI, Description: "our words"}, {URI: "https://example.org/x/v1"}}
	silent := streams
	silent.Capabilities.Streaming = new(bool)
	for _, tt := range []struct {
		card a2a.AgentCard
		want string
	}{
		{streams, dialect.ResumeURI}, {own, dialect.ResumeURI + " https://example.org/x/v1"}, {silent, ""},
	} {
		p, err := parley.New(tt.card, agent.Demo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/agent-card.json", nil))
		var card a2a.AgentCard
		if err := json.Unmarshal(w.Body.Bytes(), &card); err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, e := range card.Capabilities.Extensions {
			if uris = append(uris, e.URI); e.Required {
				t.Errorf("%s is required", e.URI)
			}
		}
		if got := strings.Join(uris, " "); got != tt.want {
			t.Errorf("extensions %q, want %q", got, tt.want)
		}
	}
}
