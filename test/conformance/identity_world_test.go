package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/test/fixtures"
)

// butler is the agent of the property test. For those in whose service it is it
// says words that nobody else may hear; for others, what it can see of them.
type butler struct {
	release chan struct{} // closed when tasks that are held may end

	mu    sync.Mutex        // protects the fields below
	words map[person]string // what nobody else may hear
	runs  map[person]int
	wrong []string
}

// person is a caller, in whatever way.
type person struct{ tenant, subject string }

func of(c a2a.Caller) person { return person{c.Tenant, c.Subject} }

func newButler() *butler {
	return &butler{release: make(chan struct{}), words: map[person]string{}, runs: map[person]int{}}
}

// serve makes the agent say a word to somebody.
func (b *butler) serve(c a2a.Caller, word string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.words[of(c)] = word
}

func (b *butler) word(c a2a.Caller) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.words[of(c)]
}

func (b *butler) ran(c a2a.Caller) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[of(c)]
}

func (b *butler) Run(ctx context.Context, t *agent.Turn) error {
	who := of(t.Caller())
	b.mu.Lock()
	b.runs[who]++
	word := b.words[who]
	b.mu.Unlock()
	if word == "" {
		return b.stranger(ctx, t)
	}
	if err := t.Status("status " + word); err != nil {
		return err
	}
	if err := t.Artifact("artifact " + word).Last(a2a.TextPart("content " + word)); err != nil {
		return err
	}
	switch what, _, _ := strings.Cut(t.Text(), " "); what {
	case "ask":
		if _, err := t.Ask(ctx, "question "+word); err != nil {
			return err
		}
	case "authenticate":
		if _, err := t.Authenticate(ctx, "needed: "+word); err != nil {
			return err
		}
	case "hold":
		select {
		case <-b.release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.Complete("done " + word)
}

// valet is an agent beside the butler. To it all are strangers.
type valet butler

func (v *valet) Run(ctx context.Context, t *agent.Turn) error {
	return (*butler)(v).stranger(ctx, t)
}

// stranger answers somebody else with how much can be seen from a task.
func (b *butler) stranger(ctx context.Context, t *agent.Turn) error {
	seen, err := t.References(ctx)
	if err != nil {
		return err
	}
	references := len(seen)
	for task, err := range t.Siblings(ctx) {
		if err != nil {
			return err
		}
		seen = append(seen, task)
	}
	b.mu.Lock()
	for _, task := range append(seen, t.Task()) {
		for who, word := range b.words {
			if strings.Contains(string(task.AppendJSON(nil)), " "+word) {
				b.wrong = append(b.wrong, fmt.Sprintf("the agent of %q can see a task of %q", of(t.Caller()), who))
			}
		}
	}
	b.mu.Unlock()
	return t.Complete(fmt.Sprintf("there are %d references and %d siblings", references, len(seen)-references))
}

// identityServer is a server with a guard, and what looks over its shoulder.
type identityServer struct {
	url    string
	spy    *spy
	butler *butler
	tls    *tls.Config // of clients without certificate; nil without TLS
}

// openIdentity starts one over a store. Where certificates is set it speaks TLS
// and takes those of clients.
func openIdentity(t *testing.T, st store.Store, guard *auth.Guard, certificates *authority) *identityServer {
	t.Helper()
	s := &identityServer{spy: newSpy(st), butler: newButler()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	if certificates != nil {
		s.url = "https://" + l.Addr().String()
		var config *tls.Config
		config, s.tls = certificates.server(t)
		l = tls.NewListener(l, config)
	}
	// The others are agents that nobody has anything with.
	hosted := []parley.Hosted{
		{Name: "butler", Default: true, Agent: s.butler},
		{Name: "valet", Agent: (*valet)(s.butler)}, {Name: "porter", Agent: (*valet)(s.butler)},
	}
	for i := range hosted {
		h := &hosted[i]
		h.Card = a2a.AgentCard{Name: h.Name, Capabilities: a2a.AgentCapabilities{ExtendedAgentCard: new(true)}}
		h.ExtendedCardFor = func(_ context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
			card := &a2a.AgentCard{Name: h.Name}
			if h.Default {
				card.Description = "in service " + s.butler.word(c)
			}
			return card, nil
		}
	}
	served, err := parley.NewHost(hosted, &parley.Options{
		Store: s.spy, Auth: guard, Egress: &a2aserver.Egress{Loopback: true}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		t.Fatal(err)
	}
	fixtures.ServeOn(t, l, served.Serve)
	return s
}

// transport returns the connections of somebody.
func (s *identityServer) transport(t *testing.T, c proof, h2 bool) *http.Client {
	p := new(http.Protocols)
	tr := &http.Transport{Protocols: p, DisableCompression: true}
	if s.tls != nil {
		tr.TLSClientConfig = s.tls.Clone()
		if c.cert != nil {
			tr.TLSClientConfig.Certificates = []tls.Certificate{*c.cert}
		}
	}
	switch {
	case h2 && s.tls == nil:
		p.SetUnencryptedHTTP2(true)
	case h2:
		p.SetHTTP2(true)
	default:
		p.SetHTTP1(true)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// visitor returns somebody who shows proof.
func (s *identityServer) visitor(t *testing.T, c proof) *visitor {
	return &visitor{url: s.url, at: c.at, header: c.header, plain: s.transport(t, c, false), h2: s.transport(t, c, true)}
}

// client returns a client that shows proof.
func (s *identityServer) client(t *testing.T, c proof, version string) *a2aclient.Client {
	t.Helper()
	h := http.Header{}
	for name, value := range c.header {
		h.Set(name, value)
	}
	client, err := a2aclient.Dial(t.Context(), s.url+c.at, &a2aclient.Options{
		Version: version, Bindings: []string{a2a.BindingJSONRPC}, Header: h, HTTPClient: s.transport(t, c, false),
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// victim is somebody with things of all kinds.
type victim struct {
	name   string
	caller a2a.Caller
	shows  proof

	word   string
	mine   *belongings
	stream *openStream
	box    *mailbox
}

func (v *victim) scope() store.Key {
	return store.Key{Tenant: v.caller.Tenant, Owner: v.caller.Subject}
}

// settle makes all that the victim has.
func (v *victim) settle(t *testing.T, s *identityServer) {
	t.Helper()
	v.word = "marked" + strings.ReplaceAll(uuid.NewString(), "-", "")
	s.butler.serve(v.caller, v.word)
	c := s.client(t, v.shows, "1.0")
	b := &belongings{tenant: v.caller.Tenant, context: uuid.NewString(), config: "config" + uuid.NewString(), after: 1, text: "finish " + uuid.NewString(),
		message: "message" + uuid.NewString(), key: "key" + uuid.NewString()}
	if b.tenant == "" {
		b.tenant = "nowhere-" + uuid.NewString() // what is in no tenant cannot be named by one
	}
	v.mine = b
	v.box = newMailbox(t, nil)
	send := func(m *a2a.Message, key string, wait bool) string {
		m.Role = a2a.RoleUser
		if m.MessageID == "" {
			m.MessageID = uuid.NewString()
		}
		res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m, IdempotencyKey: key, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: !wait}})
		if err != nil {
			t.Fatalf("%s sends %q: %v", v.name, m.Text(), err)
		}
		if res.Task == nil {
			t.Fatalf("%s got no task for %q", v.name, m.Text())
		}
		return res.Task.ID
	}
	text := func(s string) *a2a.Message {
		return &a2a.Message{ContextID: b.context, Parts: []*a2a.Part{a2a.TextPart(s)}}
	}
	b.done = send(&a2a.Message{MessageID: b.message, Parts: []*a2a.Part{a2a.TextPart(b.text)}}, b.key, true)
	b.asking = send(text("ask"), "", true)
	b.authing = send(text("authenticate"), "", true)
	old := s.client(t, v.shows, "0.1")
	b.old = "old-task-" + uuid.NewString()
	res, err := old.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{TaskID: b.old, ContextID: b.context, MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("ask")}}})
	if err != nil || res.Task == nil || res.Task.ID != b.old {
		t.Fatalf("%s has no old task: %v, %v", v.name, res, err)
	}
	b.running = send(text("hold"), "", false)
	for _, id := range b.tasks() {
		if _, err := c.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{
			TaskID: id, ID: b.config, URL: v.box.url + "/" + v.word, Token: a2a.Secret("token " + v.word),
			Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: a2a.Secret("credentials" + v.word)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	v.stream = v.subscribe(t, s)
	page, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: new(int32(1))})
	if err != nil || page.NextPageToken == "" {
		t.Fatalf("%s has no second page: %v, %v", v.name, page, err)
	}
	b.token = page.NextPageToken
	s.spy.guard(v.scope())
}

// openStream is a stream that was open all the time.
type openStream struct {
	lines int         // up to the artifact, behind which the task is held
	all   chan string // gets all of it at its end
}

// subscribe opens a stream of the running task and waits until that is held.
func (v *victim) subscribe(t *testing.T, s *identityServer) *openStream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+v.mine.running+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range v.shows.header {
		req.Header.Set(name, value)
	}
	res, err := s.visitor(t, v.shows).plain.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	o := &openStream{all: make(chan string, 1)}
	first := make(chan int, 1)
	go func() {
		defer res.Body.Close()
		var all strings.Builder
		in := bufio.NewReader(res.Body)
		held, n := false, 0
		for {
			line, err := in.ReadString('\n')
			if strings.HasPrefix(line, "data: ") {
				all.WriteString(line)
				n++
			}
			if !held && strings.Contains(line, "content "+v.word) {
				held = true
				first <- n
			}
			if err != nil {
				if err != io.EOF {
					all.WriteString("error: " + err.Error())
				}
				o.all <- all.String()
				return
			}
		}
	}()
	o.lines = receive(t, first, "the artifact of the running task")
	return o
}

// breaches reports what the agent saw.
func (b *butler) report(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range slices.Compact(b.wrong) {
		t.Error(w)
	}
	b.wrong = nil
}
