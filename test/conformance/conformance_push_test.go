package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
)

// mailbox is a receiver of webhooks by hand: it keeps what is posted.
type mailbox struct {
	t     *testing.T
	url   string
	posts chan posted
}

type posted struct {
	path   string
	header http.Header
	raw    []byte
	body   any
}

// newMailbox starts one. answer may be nil, then it takes everything.
func newMailbox(t *testing.T, answer http.HandlerFunc) *mailbox {
	m := &mailbox{t: t, posts: make(chan posted, 1000)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m.posts <- posted{r.URL.Path, r.Header.Clone(), raw, nil}
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// next waits for a post, whose body must have exactly one member.
func (m *mailbox) next() (posted, event) {
	m.t.Helper()
	p := receive(m.t, m.posts, "a webhook")
	p.body = decode(m.t, p.raw)
	o, _ := p.body.(obj)
	if len(o) != 1 {
		m.t.Fatalf("a webhook has not exactly one member: %s", p.raw)
	}
	for kind, body := range o {
		return p, event{kind: kind, body: body, raw: string(p.raw)}
	}
	panic("unreachable")
}

// untilDone takes posts up to the one that says the task is completed.
func (m *mailbox) untilDone() (posts []posted, events []event) {
	m.t.Helper()
	for {
		p, e := m.next()
		posts, events = append(posts, p), append(events, e)
		if text(e.body, "status.state") == "TASK_STATE_COMPLETED" {
			return posts, events
		}
	}
}

// eachHeld is each with an agent whose tasks wait, and which may post to this
// machine.
func eachHeld(t *testing.T, f func(t *testing.T, w *wire, ag *held)) {
	t.Helper()
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			ag := newHeld()
			url := start(t, agent.DemoCard(), ag, &parley.Options{Egress: &a2aserver.Egress{Loopback: true}})
			f(t, dial(t, binding, url), ag)
		})
	}
}

// hold starts a task that waits, and returns its id.
func (ag *held) hold(t *testing.T, w *wire) string {
	t.Helper()
	id := text(w.begin(t, say("x")), "id")
	receive(t, ag.started, "the agent")
	return id
}

// TestConformancePush looks at the operations on webhooks; what is posted is
// TestConformanceWebhooks' business.
func TestConformancePush(t *testing.T) {
	eachHeld(t, func(t *testing.T, w *wire, ag *held) {
		create := func(id string, more ...any) any {
			t.Helper()
			c := obj{"taskId": id, "url": "https://client.example.com/hook"}
			for i := 0; i < len(more); i += 2 {
				c[more[i].(string)] = more[i+1]
			}
			return w.ok(t, "CreateTaskPushNotificationConfig", c)
		}
		// The first, as the tasks of the others are never released.
		t.Run("R-050 R-051 what is deleted is gone, and can be deleted again", func(t *testing.T) {
			id := ag.hold(t, w)
			gone, stays := newMailbox(t, nil), newMailbox(t, nil)
			create(id, "id", "gone", "url", gone.url)
			create(id, "id", "stays", "url", stays.url)
			for range 2 {
				w.ok(t, "DeleteTaskPushNotificationConfig", obj{"taskId": id, "id": "gone"})
			}
			w.ok(t, "DeleteTaskPushNotificationConfig", obj{"taskId": id, "id": "never there"})
			w.refused(t, "TASK_NOT_FOUND", "GetTaskPushNotificationConfig", obj{"taskId": id, "id": "gone"})
			ag.release <- struct{}{}
			stays.untilDone()
			equal(t, "posts to what was deleted", len(gone.posts), 0)
		})
		t.Run("R-042 a webhook is stored and has an id", func(t *testing.T) {
			id := ag.hold(t, w)
			made := create(id)
			equal(t, "the config", made, obj{"id": text(made, "id"), "taskId": id, "url": "https://client.example.com/hook"})
			if text(made, "id") == "" || text(create(id), "id") == text(made, "id") {
				t.Errorf("the id is %q", text(made, "id"))
			}
			equal(t, "its own id", text(create(id, "id", "mine"), "id"), "mine")
		})
		t.Run("R-043 R-046 R-137 it is there for as long as the task goes on", func(t *testing.T) {
			id := ag.hold(t, w)
			auth := obj{"scheme": "bearer", "credentials": "s3cret"}
			made := create(id, "id", "p1", "token", "the token", "authentication", auth)
			want := obj{"id": "p1", "taskId": id, "url": "https://client.example.com/hook", "token": "the token", "authentication": obj{"scheme": "bearer"}}
			equal(t, "what was made, without what is only the receiver's", withoutSecret(made), withoutSecret(want))
			if strings.Contains(compact(made), "s3cret") {
				t.Errorf("the credentials are shown: %s", compact(made))
			}
			equal(t, "what is got", w.ok(t, "GetTaskPushNotificationConfig", obj{"taskId": id, "id": "p1"}), made)
			create(id, "id", "p1", "url", "https://client.example.com/other")
			equal(t, "what replaced it", text(w.ok(t, "GetTaskPushNotificationConfig", obj{"taskId": id, "id": "p1"}), "url"), "https://client.example.com/other")
		})
		t.Run("R-044 no webhook of a task that does not exist", func(t *testing.T) {
			for _, op := range []string{"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"} {
				p := obj{"taskId": "no-such-task"}
				if op != "ListTaskPushNotificationConfigs" {
					p["id"] = "p1"
				}
				if op == "CreateTaskPushNotificationConfig" {
					p["url"] = "https://client.example.com/hook"
				}
				w.refused(t, "TASK_NOT_FOUND", op, p)
			}
		})
		t.Run("R-047 a webhook that does not exist", func(t *testing.T) {
			id := ag.hold(t, w)
			w.refused(t, "TASK_NOT_FOUND", "GetTaskPushNotificationConfig", obj{"taskId": id, "id": "nobody's"})
		})
		t.Run("R-048 R-049 all of them are listed, also by pages", func(t *testing.T) {
			id := ag.hold(t, w)
			equal(t, "none", len(list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": id}), "configs")), 0)
			var want, paged []string
			for _, name := range []string{"a", "b", "ü/c"} {
				want = append(want, compact(create(id, "id", name)))
			}
			var got []string
			for _, c := range list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": id}), "configs") {
				got = append(got, compact(c))
			}
			for token := ""; ; {
				p := obj{"taskId": id, "pageSize": 1}
				if token != "" {
					p["pageToken"] = token
				}
				page := w.ok(t, "ListTaskPushNotificationConfigs", p)
				for _, c := range list(page, "configs") {
					paged = append(paged, compact(c))
				}
				if token = text(page, "nextPageToken"); token == "" || len(paged) > len(want) {
					break
				}
			}
			slices.Sort(got)
			slices.Sort(paged)
			for _, token := range []string{"zzz", "a", " ", "\U0001f600"} {
				f := w.refused(t, "INVALID_PARAMS", "ListTaskPushNotificationConfigs", obj{"taskId": id, "pageToken": token})
				equal(t, "the fields", f.fields(), []string{"pageToken"})
			}
			equal(t, "the list", got, want)
			equal(t, "the pages", paged, want)
		})
		t.Run("R-136 R-137 a webhook has a URL, and credentials a scheme", func(t *testing.T) {
			id := ag.hold(t, w)
			for field, p := range map[string]obj{
				"url":                        {"taskId": id},
				"authentication.scheme":      {"taskId": id, "url": "https://client.example.com/", "authentication": obj{"credentials": "c"}},
				"authentication.credentials": {"taskId": id, "url": "https://client.example.com/", "authentication": obj{"scheme": "Bearer", "credentials": "a\r\nX: y"}},
				"token":                      {"taskId": id, "url": "https://client.example.com/", "token": "a\r\nX: y"},
			} {
				f := w.refused(t, "INVALID_PARAMS", "CreateTaskPushNotificationConfig", p)
				equal(t, "the fields", f.fields(), []string{field})
			}
			f := w.refused(t, "INVALID_PARAMS", "SendMessage", obj{"message": say("x"), "configuration": obj{"taskPushNotificationConfig": obj{"url": "https://10.0.0.1/"}}})
			equal(t, "the fields", f.fields(), []string{"configuration.taskPushNotificationConfig.url"})
		})
		t.Run("R-259 nobody has to do with the webhooks of others", func(t *testing.T) {
			id := text(in(w.ok(t, "SendMessage", obj{"tenant": "mine", "message": say("x"), "configuration": obj{"returnImmediately": true}}), "task"), "id")
			receive(t, ag.started, "the agent")
			key := obj{"tenant": "mine", "taskId": id, "id": "p1"}
			made := w.ok(t, "CreateTaskPushNotificationConfig", obj{"tenant": "mine", "taskId": id, "id": "p1", "url": "https://client.example.com/hook"})
			for _, tenant := range []string{"yours", ""} {
				for op, p := range map[string]obj{
					"CreateTaskPushNotificationConfig": {"taskId": id, "id": "p1", "url": "https://other.example.com/hook"},
					"GetTaskPushNotificationConfig":    {"taskId": id, "id": "p1"},
					"ListTaskPushNotificationConfigs":  {"taskId": id},
					"DeleteTaskPushNotificationConfig": {"taskId": id, "id": "p1"},
				} {
					if tenant != "" {
						p["tenant"] = tenant
					}
					w.refused(t, "TASK_NOT_FOUND", op, p)
				}
			}
			equal(t, "the webhook afterwards", w.ok(t, "GetTaskPushNotificationConfig", key), made)
		})
	})
}

func withoutSecret(config any) any {
	o := obj{}
	for k, v := range config.(obj) {
		if k != "token" {
			o[k] = v
		}
	}
	return o
}

// TestConformanceWebhookURLs: an address that is not opened is refused.
func TestConformanceWebhookURLs(t *testing.T) {
	each(t, agent.DemoCard(), agent.Demo, func(t *testing.T, w *wire) {
		id := text(w.send(t, say("ask")), "id")
		t.Run("R-264 R-287 URLs that lead into the network are refused", func(t *testing.T) {
			for _, url := range []string{
				"http://127.0.0.1/", "https://127.0.0.1/", "https://localhost/", "https://localhost.localdomain:8443/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
				"https://10.1.2.3/", "https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/", "https://169.254.169.254/latest/meta-data/", "https://[fe80::1]/",
				"https://[fd00:ec2::254]/", "https://0.0.0.0/", "https://224.0.0.1/", "https://198.18.0.1/", "https://2130706433/", "https://0x7f.1/", "https://127.1/",
				"http://client.example.com/hook", "ftp://client.example.com/", "file:///etc/passwd", "gopher://client.example.com/", "https://user:pw@client.example.com/",
				"https://client.example.com:22/", "//client.example.com/", "client.example.com", "https://", "https:///path", "https://metadata.google.internal/",
			} {
				f := w.refused(t, "INVALID_PARAMS", "CreateTaskPushNotificationConfig", obj{"taskId": id, "url": url})
				equal(t, "the fields of "+url, f.fields(), []string{"url"})
			}
			equal(t, "what is stored", len(list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": id}), "configs")), 0)
		})
	})
}

// TestConformanceWebhooks looks at what is posted.
func TestConformanceWebhooks(t *testing.T) {
	eachHeld(t, func(t *testing.T, w *wire, ag *held) {
		hook := func(t *testing.T, id, url string, more ...any) {
			t.Helper()
			c := obj{"taskId": id, "url": url}
			for i := 0; i < len(more); i += 2 {
				c[more[i].(string)] = more[i+1]
			}
			w.ok(t, "CreateTaskPushNotificationConfig", c)
		}
		t.Run("R-111 R-138 R-143 each update is posted, as the stream has it and as JSON of HTTP", func(t *testing.T) {
			id := ag.hold(t, w)
			m := newMailbox(t, nil)
			hook(t, id, m.url+"/hook")
			s := w.open(t, "SubscribeToTask", obj{"taskId": id, "id": id})
			s.must() // the task as it stands
			ag.release <- struct{}{}
			var want []string
			for _, e := range s.all() {
				want = append(want, compact(obj{e.kind: e.body}))
			}
			posts, events := m.untilDone()
			var got []string
			for i, e := range events {
				got = append(got, compact(obj{e.kind: e.body}))
				equal(t, "the type", posts[i].header.Get("Content-Type"), "application/a2a+json")
				equal(t, "the path", posts[i].path, "/hook")
			}
			if w.binding == grpcBinding { // whose own JSON has more in it
				equal(t, "the number of posts", len(got), len(want))
			} else {
				equal(t, "the posts", got, want)
			}
		})
		t.Run("R-137 R-139 R-262 webhooks carry what their receivers want to see", func(t *testing.T) {
			id := ag.hold(t, w)
			type wish struct {
				scheme, credentials, header, want string
				mailbox                           *mailbox
			}
			wishes := []*wish{
				{"Bearer", "abc", "Authorization", "Bearer abc", nil},
				{"bEARER", "abc", "Authorization", "Bearer abc", nil},
				{"basic", "user:pass", "Authorization", "Basic dXNlcjpwYXNz", nil},
				{"ApiKey", "k", "X-Api-Key", "k", nil},
				{"Custom", "a b c", "Authorization", "Custom a b c", nil},
			}
			for _, c := range wishes {
				c.mailbox = newMailbox(t, nil)
				hook(t, id, c.mailbox.url, "token", "tok", "authentication", obj{"scheme": c.scheme, "credentials": c.credentials})
			}
			ag.release <- struct{}{}
			for _, c := range wishes {
				posts, _ := c.mailbox.untilDone()
				for _, p := range posts {
					equal(t, c.scheme, p.header.Get(c.header), c.want)
					equal(t, "the token", p.header.Get("X-A2A-Notification-Token"), "tok")
				}
			}
		})
		t.Run("R-144 R-263 what fails is tried again, in order, and known again by its id", func(t *testing.T) {
			id := ag.hold(t, w)
			refusals := make(chan int, 2)
			for _, status := range []int{500, 429} {
				refusals <- status
			}
			m := newMailbox(t, func(rw http.ResponseWriter, _ *http.Request) {
				select {
				case status := <-refusals:
					rw.WriteHeader(status)
				default:
				}
			})
			hook(t, id, m.url)
			s := w.open(t, "SubscribeToTask", obj{"id": id})
			s.must()
			ag.release <- struct{}{}
			updates := len(s.all())
			posts, events := m.untilDone()
			if len(posts) < updates+2 {
				t.Errorf("%d posts of %d updates, two of which were refused", len(posts), updates)
			}
			var order []string
			for i, p := range posts {
				name := p.header.Get("Webhook-Id")
				if n := len(order); n == 0 || order[n-1] != name {
					if slices.Contains(order, name) {
						t.Errorf("%s comes after others", name)
					}
					order = append(order, name)
				} else if events[i].raw != events[i-1].raw {
					t.Errorf("the same id with another body: %s and %s", events[i-1].raw, events[i].raw)
				}
			}
			equal(t, "the number of deliveries", len(order), updates)
		})
		t.Run("R-145 a receiver that hangs holds nobody up", func(t *testing.T) {
			id := ag.hold(t, w)
			free := make(chan struct{})
			hangs := newMailbox(t, func(http.ResponseWriter, *http.Request) { <-free })
			t.Cleanup(func() { close(free) }) // before the receiver is closed
			well := newMailbox(t, nil)
			hook(t, id, hangs.url)
			hook(t, id, well.url)
			began := time.Now()
			ag.release <- struct{}{}
			well.untilDone()
			w.until(t, id, "TASK_STATE_COMPLETED")
			if d := time.Since(began); d > 8*time.Second {
				t.Errorf("it took %s", d)
			}
			hangs.next()
			equal(t, "posts to the one that hangs", len(hangs.posts), 0)
		})
		t.Run("R-069 a webhook that comes with a message hears all of the new task", func(t *testing.T) {
			m := newMailbox(t, nil)
			task := in(w.ok(t, "SendMessage", obj{"message": say("x"), "configuration": obj{
				"returnImmediately": true, "taskPushNotificationConfig": obj{"url": m.url, "token": "tok"},
			}}), "task")
			receive(t, ag.started, "the agent")
			configs := list(w.ok(t, "ListTaskPushNotificationConfigs", obj{"taskId": text(task, "id")}), "configs")
			equal(t, "the configs", len(configs), 1)
			equal(t, "its task", text(configs[0], "taskId"), text(task, "id"))
			if text(configs[0], "id") == "" {
				t.Error("it has no id")
			}
			ag.release <- struct{}{}
			_, events := m.untilDone()
			var states []string
			for _, e := range events {
				if id := text(e.body, "taskId"); id != text(task, "id") {
					t.Errorf("an update of task %q", id)
				}
				if s := text(e.body, "status.state"); s != "" {
					states = append(states, s)
				}
			}
			equal(t, "the states", states, []string{"TASK_STATE_WORKING", "TASK_STATE_COMPLETED"})
		})
	})
	t.Run("R-069 the client leaves the task's id to the server", func(t *testing.T) {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			p := newPeer(t, obj{"pushNotifications": true}, face(binding, "URL"))
			_, err := p.dial(nil).SendMessage(t.Context(), &a2a.SendMessageRequest{
				Message:       &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}},
				Configuration: &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{TaskID: "t7", URL: "https://client.example.com/"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			body := p.calls()[0].body
			if has(body, "params") {
				body = in(body, "params")
			}
			equal(t, fmt.Sprint("the config over ", binding), in(body, "configuration.taskPushNotificationConfig"), obj{"url": "https://client.example.com/"})
		}
	})
}
