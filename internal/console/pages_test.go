package console_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/console"
)

// viewer is a browser without scripts.
type viewer struct {
	t    *testing.T
	s    *httptest.Server
	http *http.Client
}

func open(t *testing.T, s *httptest.Server) *viewer {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, s, &http.Client{Jar: jar}}
	v.get("/open?token=open")
	return v
}

// get returns a page, which must be whole.
func (v *viewer) get(path string) string {
	v.t.Helper()
	res, err := v.http.Get(v.s.URL + "/console" + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	balanced(v.t, path, string(b))
	return string(b)
}

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "hr": true, "img": true, "rect": true, "circle": true, "path": true, "polyline": true, "polygon": true}

// balanced reports tags that are not closed, or closed twice. In the directory PAGES, if
// that is set, it leaves the page for a validator: see the check console.
func balanced(t *testing.T, what, page string) {
	t.Helper()
	if dir := os.Getenv("PAGES"); dir != "" && strings.HasPrefix(page, "<!doctype") {
		f, err := os.CreateTemp(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-*.html")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(page); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%s: these tags are not closed: %v", what, open)
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !void[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("%s: </%s> closes nothing; open are %v in\n%s", what, name, open, page)
			}
			open = open[:len(open)-1]
		}
	}
}

func (v *viewer) post(path string, form map[string]string) string {
	v.t.Helper()
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(v.get("/agents"))
	values := make([]string, 0, len(form)+1)
	for name, value := range form {
		values = append(values, name+"="+value)
	}
	values = append(values, "csrf="+token[1])
	res, err := v.http.Post(v.s.URL+"/console"+path, "application/x-www-form-urlencoded", strings.NewReader(strings.Join(values, "&")))
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	balanced(v.t, path, string(b))
	return string(b)
}

// ended follows a task until it has ended.
func (v *viewer) ended(task string) {
	v.t.Helper()
	res, err := v.http.Get(v.s.URL + "/console/live?task=" + strings.TrimPrefix(task, "/tasks/") + "@0")
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(b), "event: end") {
		v.t.Errorf("the stream of %s: %v, %s", task, err, b)
	}
}

// until returns a page once it has a text: what a message does may still be on its way.
func (v *viewer) until(path, text string) string {
	v.t.Helper()
	late := time.Now().Add(time.Minute)
	for {
		page := v.get(path)
		if strings.Contains(page, text) {
			return page
		}
		if time.Now().After(late) {
			v.t.Fatalf("%s lacks %q still:\n%s", path, text, page)
		}
	}
}

func (v *viewer) has(page string, want ...string) {
	v.t.Helper()
	for _, w := range want {
		if !strings.Contains(page, w) {
			v.t.Errorf("the page lacks %q:\n%s", w, page)
		}
	}
}

func TestPagesOfATask(t *testing.T) {
	v := open(t, serve(t))
	v.has(v.post("/chat/-", map[string]string{"text": "ask+Which+%3Ccity%3E%3F"}), "Which &lt;city&gt;?", "Your answer goes to task")
	inbox := v.get("/inbox")
	v.has(inbox, "1 task waits", "Which &lt;city&gt;?", "(1) Inbox")
	at := regexp.MustCompile(`/console(/tasks/-/[^"/]+)"`).FindStringSubmatch(inbox)[1]
	v.has(v.get("/tasks?state=input-required"), "ask Which &lt;city&gt;?", "input required")
	v.has(v.get("/tasks?state=failed"), "No task matches")
	v.has(v.get(at), "Your answer", "Which &lt;city&gt;?")
	id := at[strings.LastIndex(at, "/")+1:]
	v.has(v.post("/chat/-", map[string]string{"text": "Vienna", "task": id, "from": "inbox"}), "Vienna")
	v.has(v.get("/inbox"), "Nothing waits for you")
	v.ended(at)
	v.has(v.get(at), "Vienna", "completed")
	v.has(v.get(at+"?view=timeline"), "Turn 1", "Answer", "Vienna")
	v.has(v.get(at+"?view=wire"), "&#34;method&#34;: &#34;SendMessage&#34;", "curl &#39;http", "parley send -a", "artifactUpdate", "Response, once the task ended or asked", "Edit and send again")
	v.has(v.post(at+"/resend", map[string]string{"params": `{"message":{"messageId":"x","role":"ROLE_USER","parts":[{"text":"echo+edited"}]}}`}), "echo edited")
	v.has(v.post(at+"/resend", map[string]string{"params": `{"message":{"messageId":"x","role":"ROLE_USER","parts":[{"text":"message+directly"}]}}`}), "directly", "Only this tab shows it")
	v.has(v.post(at+"/resend", map[string]string{"params": "{}"}), "it has no message")
	v.has(v.get(at), `<output class="mono" for="at" aria-live="off">`) // which follows the log: no screen reader reads each entry's number out
	v.has(v.get(at+"?view=log"), "created", "message", "artifact")
	for _, view := range []string{"wire", "log"} {
		if page := v.get(at + "?view=" + view); !regexp.MustCompile(` 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`).MatchString(page) {
			t.Errorf("the times of %s have no day:\n%s", view, page)
		}
	}
	for query, want := range map[string]string{"": "<title>Task ", "?view=none": "<title>Task ", "?view=timeline": "<title>Timeline · Task ", "?view=wire": "<title>Wire · Task ", "?view=log&at=3": "<title>Log · Task "} {
		v.has(v.get(at+query), want)
	}
	if past := v.get(at + "?at=3"); strings.Contains(past, "Vienna") {
		t.Errorf("the task as of its third entry knows the answer:\n%s", past)
	}
	v.has(v.get(at+"?at=x"), "&#34;x&#34; is not a position")
	v.has(v.get("/tasks/-/none"), "There is no such task")
}

// The timeline says when a task is deleted, however the setting is written.
func TestTimelineEndsWithTheDeletion(t *testing.T) {
	v := open(t, serveWith(t, func(o *console.Options) { o.Admin, o.Local = new(operator), a2a.Caller{Scopes: a2a.Scopes} }))
	id := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(v.post("/chat/-", map[string]string{"text": "echo+hello"}))[1]
	v.ended("/tasks/-/" + id)
	v.has(v.get("/tasks/-/"+id+"?view=timeline"), "+7 days<", "as retention.completed: 7d says")
}

// Wherever nothing is, a page says so and leads back.
func TestAddressesOfNothing(t *testing.T) {
	v := open(t, serve(t))
	id := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(v.post("/chat/-", map[string]string{"text": "echo+hello"}))[1]
	for path, want := range map[string]string{
		"/inbocks": "There is no such page", "/tasks/-": "There is no such page", "/login/issuer": "There is no such page",
		"/tasks/-/" + id + "/cancel":          "There is no such page", // a form goes there, and no link
		"/tasks/-/" + id + "/part?a=none&n=0": "There is no such file", "/tasks/none/" + id + "/artifacts.zip": "There is no such agent",
	} {
		res, err := v.http.Get(v.s.URL + "/console" + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
		v.has(v.get(path), "<h1>"+want, `<a href="/console/">Back to the console</a>`)
	}
}

// All tasks of a page share a stream, which goes on where the browser left off.
func TestTasksShareAStream(t *testing.T) {
	v := open(t, serve(t))
	var tasks []string
	for _, text := range []string{"stream+3+1", "echo+hello"} {
		page := v.post("/chat/-", map[string]string{"text": text})
		id := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(page)[1]
		v.ended("/tasks/-/" + id)
		tasks = append(tasks, "task=-/"+id+"@0")
	}
	read := func(last string) string {
		r, err := http.NewRequest(http.MethodGet, v.s.URL+"/console/live?"+strings.Join(tasks, "&"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", last)
		res, err := v.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	all := read("")
	v.has(all, "chunk 1", "chunk 3", "echo hello", "event: end")
	ids := regexp.MustCompile(`(?m)^id: (\d+)\.(\d+)$`).FindAllStringSubmatch(all, -1)
	if len(ids) == 0 {
		t.Fatalf("no event has the positions of both tasks:\n%s", all)
	}
	end := ids[len(ids)-1]
	rest := read("3." + end[2])
	if strings.Contains(rest, "echo hello") || !strings.Contains(rest, "chunk 3") {
		t.Errorf("behind 3 of the first and the end of the second there is\n%s", rest)
	}
	if rest := read(end[1] + "." + end[2]); strings.Contains(rest, "data: <") {
		t.Errorf("behind both ends there is\n%s", rest)
	}
	v.has(read("1.2.3"), "has 3 positions: expected 2")
	v.has(read("1.x"), "is not a position")
}

// operator is an administration with one task of somebody's.
type operator struct {
	admin.API
	deleted []string
}

func (o *operator) Tasks(context.Context, admin.TaskQuery) (*admin.Tasks, error) {
	return &admin.Tasks{Total: 1, Tasks: []admin.Task{{TaskKey: admin.TaskKey{ID: "t1", Owner: "key:<her>"}, State: "working", Words: "<script>", Updated: time.Now(),
		Wait: &admin.Wait{For: admin.WaitCapacity, Reason: "4 tasks are at work"}}}}, nil
}

func (o *operator) Task(_ context.Context, id string) (*admin.Task, error) {
	return &admin.Task{TaskKey: admin.TaskKey{ID: id}}, nil
}

func (o *operator) Agents(context.Context) ([]admin.Agent, error) {
	return []admin.Agent{{Kind: "exec", State: admin.AgentAway, Reason: "the command <cat> ended", Tasks: map[string]int{"working": 2},
		Findings: []admin.Finding{{Field: "description", Message: "is <empty>", YAML: "card:\n  description: x"}}}}, nil
}

func (o *operator) Deliveries(_ context.Context, q admin.DeliveryQuery) (*admin.Deliveries, error) {
	var list []admin.Delivery
	for _, state := range []string{admin.DeliveryIdle, admin.DeliveryPending, admin.DeliveryRetrying, admin.DeliveryDisabled, admin.DeliveryCompleted} {
		list = append(list, admin.Delivery{Task: admin.TaskKey{ID: "t1"}, Host: "<host>", State: state, Tries: 3, Due: time.Now(), Reason: "status 503 <b>"})
	}
	return &admin.Deliveries{Deliveries: list, Next: "n\"ext"}, nil
}

func (o *operator) DeadLetters(context.Context, admin.DeliveryQuery) (*admin.DeadLetters, error) {
	return &admin.DeadLetters{Letters: []admin.DeadLetter{{Task: admin.TaskKey{ID: "t1"}, Name: "n1", ID: "w1", Seq: 3, Reason: "gave <up>"}, {Again: true}}}, nil
}

func (o *operator) Redeliver(_ context.Context, r admin.Redelivery) (*admin.Redelivered, error) {
	if !r.All && r.ID == "" {
		return nil, admin.Invalid("id", "is missing")
	}
	if r.ID != "" {
		return &admin.Redelivered{Hastened: 1}, nil
	}
	return &admin.Redelivered{Letters: 7}, nil
}

func (o *operator) Readiness(context.Context) (*admin.Readiness, error) {
	return &admin.Readiness{Reason: "the disk is <full>", Started: time.Now()}, nil
}

func (o *operator) Nodes(context.Context) ([]admin.Node, error) {
	return []admin.Node{{Name: "a", This: true, State: admin.NodeAlive}, {Name: "b", State: admin.NodeSilent}, {Name: "c", State: admin.NodeLeft}}, nil
}

func (o *operator) Store(context.Context) (*admin.Store, error) {
	return &admin.Store{Kind: "sqlite", Bytes: 3 << 30, Trouble: "no <space>"}, nil
}

func (o *operator) Settings(context.Context) ([]admin.Setting, error) {
	return []admin.Setting{{Name: "listen", Value: "<x>", Source: "default"}, {Name: "retention.completed", Value: "7d"}}, nil
}

func (o *operator) CheckSettings(_ context.Context, yaml []byte) ([]admin.Finding, error) {
	if string(yaml) == "good" {
		return nil, nil
	}
	return []admin.Finding{{Line: 3, Column: 2, Field: "agents", Message: "unknown <member>"}}, nil
}

func (o *operator) Keys(context.Context) ([]admin.Key, error) {
	return []admin.Key{{ID: "k1", Name: "<laptop>", State: "active"}, {ID: "k2", State: "revoked", Scopes: []string{"tasks:read"}}}, nil
}

func (o *operator) CreateKey(_ context.Context, k admin.NewKey) (*admin.Key, error) {
	return &admin.Key{ID: "k3", Token: "parley_secret"}, nil
}

func (o *operator) RevokeKey(_ context.Context, id string) (*admin.Key, error) {
	if id != "k1" {
		return nil, admin.ErrNotFound
	}
	return &admin.Key{ID: id}, nil
}

func (o *operator) Audit(context.Context, admin.AuditQuery) (*admin.AuditRecords, error) {
	return &admin.AuditRecords{Records: []admin.AuditRecord{{Event: "call", Attrs: map[string]json.RawMessage{"subject": json.RawMessage(`"<her>"`)}}}, Next: "2"}, nil
}

func (o *operator) DeleteTask(_ context.Context, task string) error {
	o.deleted = append(o.deleted, task)
	return nil
}

func (o *operator) Events(ctx context.Context, after string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		for i, state := range []string{"working", "completed"} {
			t := admin.Task{TaskKey: admin.TaskKey{ID: "t1"}, State: state, Words: "hello"}
			if !yield(admin.Event{ID: string(rune('a' + i)), Type: admin.EventTask, Task: &t}, nil) {
				return
			}
		}
	}
}

func TestPagesOfAnOperator(t *testing.T) {
	op := new(operator)
	v := open(t, serveWith(t, func(o *console.Options) {
		o.Admin = op
		o.Local = a2a.Caller{Scopes: a2a.Scopes}
		o.Recent = func() []console.Sample {
			return []console.Sample{{Time: time.Now().Add(-time.Minute)}, {Time: time.Now(), Calls: 12.34, Failed: 1, Slow: 2500 * time.Microsecond, Queue: 3, Bytes: 5 << 20, Free: 1 << 30}}
		}
	}))
	v.has(v.get("/agents"), "the command &lt;cat&gt; ended", "2 running")
	v.has(v.get("/agents/-"), "is &lt;empty&gt;", "description: x", "no credentials", "parley send -a")
	v.has(v.get("/webhooks"), "&lt;host&gt;", "status 503 &lt;b&gt;", "gave &lt;up&gt;", "Send again", "n%22ext")
	v.has(v.post("/webhooks", map[string]string{"all": "yes"}), "7 dead letters are sent again. </p>")
	v.has(v.post("/webhooks", map[string]string{"task": "n1", "config": "w1"}), `role="status">1 webhook is tried at once.</p>`)
	v.has(v.post("/webhooks", nil), "id: is missing")
	v.has(v.get("/operate"), "Not ready", "the disk is &lt;full&gt;", "no &lt;space&gt;", "3.0 GiB", "silent", "The last 1 min", ">12<", "1 fail", "≤ 2.5 ms", "3 wait for capacity", "1.0 GiB free", "<polyline",
		"Runs of agents", `<h2>Tasks at work <span class="tag">1</span>`, "Tasks in memory", "those that wait for their client")
	v.has(v.get("/operate?view=settings"), "listen", "&lt;x&gt;")
	v.has(v.post("/operate/draft", map[string]string{"draft": "bad"}), "line 3, column 2", "unknown &lt;member&gt;")
	v.has(v.post("/operate/draft", map[string]string{"draft": "good"}), "The draft has no mistakes", `href="/console/operate?view=keys"`)
	v.has(v.get("/operate?view=keys"), "<title>Keys · Operate · ", "&lt;laptop&gt;", "Revoke")
	if page := v.get("/operate?view=keys"); strings.Contains(page, "parley_secret") {
		t.Error("the list of keys has a token")
	}
	v.has(v.post("/operate/keys", map[string]string{"name": "x", "role": "admin"}), "parley_secret")
	v.has(v.post("/operate/keys", map[string]string{"expires": "soon"}), "soon is not a date")
	v.has(v.post("/operate/keys", map[string]string{"revoke": "k9"}), "It is not there.")
	v.has(v.get("/operate?view=audit"), "&lt;her&gt;", "Older records")
	v.has(v.post("/tasks/-/t1/delete", nil), "Tick the box")
	v.post("/tasks/-/t1/delete", map[string]string{"sure": "yes"})
	if len(op.deleted) != 1 || op.deleted[0] != "t1" {
		t.Errorf("deleted were %q", op.deleted)
	}
	v = open(t, serveWith(t, func(o *console.Options) { o.Admin = op }))
	v.has(v.get("/operate"), "You are not an operator")
	v.has(v.get("/webhooks"), "You are not an operator")
	v.has(v.post("/operate/keys", map[string]string{"name": "x"}), "You are not an operator")
}

// A trace that was recorded has a link to the operator's viewer, which tells that server
// nothing of where it was followed. Other viewers see the id alone, as does a trace
// that was not recorded.
func TestTraceHasALink(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for name, one := range map[string]struct {
		flags  string
		scopes []string
		linked bool
	}{
		"an operator":                     {"01", a2a.Scopes, true},
		"an operator, and it is not kept": {"00", a2a.Scopes, false},
		"a caller":                        {"01", a2a.OwnScopes, false},
	} {
		v := open(t, serveWith(t, func(o *console.Options) {
			o.Admin = new(operator)
			o.Local = a2a.Caller{Scopes: one.scopes, Trace: "00-" + id + "-b7ad6b7169203331-" + one.flags}
			o.Trace = func(id string) string { return "https://tempo.example/trace/" + id }
		}))
		at := regexp.MustCompile(`/console/tasks/-/[0-9a-f-]+`).FindString(v.post("/chat/-", map[string]string{"text": "ask+Which"}))
		if at == "" {
			t.Fatal("there is no task")
		}
		page := v.get(strings.TrimPrefix(at, "/console"))
		v.has(page, id)
		if got := strings.Contains(page, `<a href="https://tempo.example/trace/`+id+`" rel="noopener noreferrer nofollow" target="_blank"`); got != one.linked {
			t.Errorf("%s: that there is a link is %v", name, got)
		}
	}
}

func TestTasksOfEverybody(t *testing.T) {
	v := open(t, serveWith(t, func(o *console.Options) {
		o.Admin = new(operator)
		o.Local = a2a.Caller{Scopes: append([]string{a2a.ScopeAdminRead, a2a.ScopeAdminWrite}, a2a.OwnScopes...)}
	}))
	v.has(v.get("/tasks"), "key:&lt;her&gt;", "&lt;script&gt;", "4 tasks are at work", `data-list="/console/tasks/live?`)
	live := v.get("/tasks/live?state=completed")
	v.has(live, "id: b\n", "completed")
	if strings.Contains(live, `class="state working"`) {
		t.Errorf("the list of completed tasks gets others:\n%s", live)
	}
	v = open(t, serve(t))
	v.has(v.get("/tasks/live"), "only an operator")
}

// An operator who watches somebody else's task gets no button to try it again, which
// would be refused, and none to a chat without it. Its owner gets both.
func TestAnothersFailureHasNoButton(t *testing.T) {
	log := []*a2a.Entry{
		{Seq: 1, Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t1"}},
		{Seq: 2, Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: a2a.TaskStateFailed}}},
	}
	for name, one := range map[string]struct {
		scopes []string
		button bool
	}{
		"an operator": {a2a.Scopes, false},
		"its owner":   {a2a.OwnScopes, true},
	} {
		v := open(t, serveWith(t, func(o *console.Options) {
			o.Admin = new(operator)
			o.Local = a2a.Caller{Scopes: one.scopes}
			o.Log = func(context.Context, string, string, int64, bool) iter.Seq2[[]*a2a.Entry, error] {
				return func(yield func([]*a2a.Entry, error) bool) { yield(log, nil) }
			}
		}))
		live := v.get("/live?task=-/t1@1")
		v.has(live, "The agent gave no reason")
		if got := strings.Contains(live, "Try again"); got != one.button {
			t.Errorf("%s: that there is a button is %v:\n%s", name, got, live)
		}
		page := v.get("/tasks/-/t1")
		if got := strings.Contains(page, "Open the conversation"); got != one.button {
			t.Errorf("%s: that a button leads to the chat is %v:\n%s", name, got, page)
		}
	}
}

// Where an agent is a model, the list says what each task took of it.
func TestTokensInTheList(t *testing.T) {
	reads := 0
	v := open(t, serveWith(t, func(o *console.Options) {
		agents := o.Agents
		o.Agents = func() []console.Agent {
			list := agents()
			list[0].Model = true
			return list
		}
		o.Admin = new(operator)
		o.Local = a2a.Caller{Scopes: append([]string{a2a.ScopeAdminRead}, a2a.OwnScopes...)}
		o.Log = func(context.Context, string, string, int64, bool) iter.Seq2[[]*a2a.Entry, error] {
			return func(yield func([]*a2a.Entry, error) bool) {
				reads++
				call := &a2a.Step{Name: "model", Result: a2a.JSON(`{"model":"m","usage":{"prompt_tokens":1200,"completion_tokens":34}}`)}
				yield([]*a2a.Entry{{Seq: 1, Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t1"}}, {Seq: 2, Kind: a2a.EntryStep, Step: call}, {Seq: 3, Kind: a2a.EntryStep, Step: call}}, nil)
			}
		}
	}))
	v.has(v.get("/tasks"), ">Tokens<", "2400 in, 68 out")
	before := reads
	v.has(v.get("/tasks/live"), "2400 in, 68 out")
	if v.get("/tasks/live"); reads != before+1 { // both events have the same time
		t.Errorf("the log was read %d times for the live list, want once", reads-before)
	}
	v = open(t, serveWith(t, func(o *console.Options) { o.Admin = new(operator); o.Local = a2a.Caller{Scopes: a2a.Scopes} }))
	if strings.Contains(v.get("/tasks"), ">Tokens<") {
		t.Error("there is a column for tokens, and no agent is a model")
	}
}

// broken is an agent that takes no messages.
type broken struct{ a2a.Service }

func (broken) SendMessage(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return nil, &a2a.Error{Code: a2a.CodeInternal, Message: "I am <tired>"}
}

// An agent of another server is looked at and talked to like one that is here.
func TestAnAgentElsewhere(t *testing.T) {
	far := console.Foreign{
		Findings: []string{"no <skills>"},
		Try: func(context.Context) []console.Attempt {
			return []console.Attempt{{Version: "1.0", Binding: "JSONRPC", Offered: true, Answers: true, Words: "answers"}, {Version: "0.3", Binding: "JSONRPC", Offered: true, Words: "404 <page>"}}
		},
	}
	var away atomic.Int32 // how often it is not reached from now on
	var fails atomic.Bool
	v := open(t, serveWith(t, func(o *console.Options) {
		a := o.Agents()[0]
		card := *a.Card
		card.SupportedInterfaces = []*a2a.AgentInterface{{URL: "https://agent.example/rpc", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}}
		card.Description = "pays \u202eeerf\u202c"
		far.Card, far.Service = &card, a.Service
		o.Local = a2a.Caller{Scopes: a2a.Scopes}
		o.Elsewhere = func(_ context.Context, ref string) (*console.Foreign, error) {
			if ref != "https://agent.example" {
				return nil, errors.New("nobody is at <there>")
			}
			if away.Add(-1) >= 0 {
				return nil, errors.New("the connection <broke>")
			}
			if fails.Load() {
				failing := far
				failing.Service = broken{far.Service}
				return &failing, nil
			}
			return &far, nil
		}
	}))
	v.has(v.get("/agents"), "Another server’s agent")
	v.has(v.get("/elsewhere"), "Address of the agent")
	v.has(v.get("/elsewhere?agent=https://other.example"), "nobody is at &lt;there&gt;")
	page := v.get("/elsewhere?agent=https://agent.example")
	v.has(page, "What answers", "● answers", "○ 404 &lt;page&gt;", "no &lt;skills&gt;", "pays \uFFFDeerf\uFFFD", "parley send -a &#39;https://agent.example&#39;")
	key := regexp.MustCompile(`/console/chat/(~[^"?]+)"`).FindStringSubmatch(page)
	if key == nil {
		t.Fatalf("there is no chat:\n%s", page)
	}
	v.has(v.get("/chat/"+key[1]), "composer", "/elsewhere?agent=https")
	v.has(v.post("/chat/"+key[1], map[string]string{"text": "message+hi"}), "hi</div>", `id="composer"`)
	task := v.post("/chat/"+key[1], map[string]string{"text": "ask+Which+city"})
	v.has(task, "Which city", "Your answer")
	at := regexp.MustCompile(`data-live="~[^/]+/([^"@]+)@`).FindStringSubmatch(task)
	if at == nil {
		t.Fatalf("nothing follows the task:\n%s", task)
	}
	v.post("/tasks/"+key[1]+"/"+at[1]+"/answer", map[string]string{"text": "Vienna"})
	v.ended("/tasks/" + key[1] + "/" + at[1])
	v.has(v.get("/tasks/"+key[1]+"/"+at[1]), "Vienna", "completed")
	v.has(v.get("/tasks/"+key[1]+"/"+at[1]+"?view=wire"), "curl &#39;https://agent.example/rpc&#39;", "parley send -a &#39;https://agent.example&#39;")
	far.Card.SupportedInterfaces[0].ProtocolVersion = "0.3" // it does not know SendMessage
	if page := v.get("/tasks/" + key[1] + "/" + at[1] + "?view=wire"); strings.Contains(page, "curl") || !strings.Contains(page, "parley send -a &#39;https://agent.example&#39;") {
		t.Errorf("of an agent that does not take such requests the page has a curl command:\n%s", page)
	}
	v.has(v.get("/agents/"+key[1]), "What answers")
	away.Store(1)
	v.has(v.get("/chat/"+key[1]), "The agent cannot be reached", "The connection &lt;broke&gt;.")
	fails.Store(true)
	v.has(v.post("/chat/"+key[1], map[string]string{"text": "hello"}), "Calling the agent failed", "I am &lt;tired&gt;.")
	fails.Store(false)
	away.Store(1)
	if live := v.get("/live?task=" + key[1] + "/" + at[1] + "@0"); !strings.Contains(live, "Vienna") || !strings.HasSuffix(live, "event: end\ndata: \n\n") {
		t.Errorf("a page whose agent was away does not go on:\n%s", live)
	}
	v = open(t, serve(t))
	v.has(v.get("/elsewhere?agent=https://agent.example"), "are not called from here")
	v.has(v.get("/chat/"+key[1]), "There is no such agent")
}

// A script that sends a form shows the answer as text, so the answer is a sentence, not a page.
// Without a session it is told so, because a redirect would look like a server that is away.
func TestAScriptLearnsWhyNothingWasSent(t *testing.T) {
	s := serveWith(t, func(o *console.Options) { o.MaxUpload = 1000 })
	v := open(t, s)
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(v.get("/agents"))[1]
	for _, one := range []struct {
		with   *http.Client
		form   string
		status int
		want   string
	}{
		{http.DefaultClient, "text=hello", http.StatusUnauthorized, "Your session has ended. Copy what you have written, log in again and open the page anew.\n"},
		{v.http, "text=hello&csrf=of-another-session", http.StatusForbidden, "This page has expired. Copy what you have written, and open the page anew.\n"},
		{v.http, "csrf=" + csrf + "&text=" + strings.Repeat("x", 70<<10), http.StatusRequestEntityTooLarge, "Nothing was sent. It is too large: a message with its files may have 1000 bytes.\n"},
		{v.http, "text=hello&csrf=" + csrf, http.StatusOK, "hello"},
	} {
		res, err := one.with.Post(s.URL+"/console/chat/-?fragment", "application/x-www-form-urlencoded", strings.NewReader(one.form))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != one.status || !strings.Contains(string(b), one.want) || strings.Contains(string(b), "<h1>") {
			t.Errorf("%.40s is answered %d %.300s, %v; want %d %s", one.form, res.StatusCode, b, err, one.status, one.want)
		}
	}
}

// The inbox counts all that waits, and says so where it does not show all of it.
func TestAFullInbox(t *testing.T) {
	v := open(t, serve(t))
	for range 52 {
		v.post("/chat/-", map[string]string{"text": "ask+Which"})
	}
	v.has(v.until("/inbox", "52 tasks wait for an answer"), "These are the 50 that asked last", `all that are <a href="/console/tasks?state=input-required">input required</a>.`)
	for range 51 {
		v.post("/chat/-", map[string]string{"text": "auth"})
	}
	v.has(v.until("/inbox", "103 tasks wait for an answer"), `state=input-required">input required</a> or <a href="/console/tasks?state=auth-required">auth required</a>.`)
	v = open(t, serve(t))
	v.post("/chat/-", map[string]string{"text": "ask+Which"})
	if page := v.until("/inbox", "1 task waits"); strings.Contains(page, "asked last") {
		t.Errorf("the inbox of one says %s", page)
	}
}

// The choice of agents is whole, whichever is chosen.
func TestTasksOfOneAgentOfSeveral(t *testing.T) {
	v := open(t, serveWith(t, func(o *console.Options) {
		one := o.Agents()[0]
		o.Agents = func() (list []console.Agent) {
			for _, name := range []string{"alpha", "beta", "gamma"} {
				card := *one.Card
				card.Name = name
				list = append(list, console.Agent{Name: name, Card: &card, Service: one.Service})
			}
			return list
		}
	}))
	v.has(v.get("/tasks?agent=beta"), `value="alpha"`, `value="beta" selected`, `value="gamma"`)
	v.has(v.get("/tasks?agent=delta"), "There is no such agent")
}

// The card of a proxied agent is a stranger's: it turns no page around.
func TestCardsThatMislead(t *testing.T) {
	const name = "evil\u202egnp.exe\u2066"
	v := open(t, serveWith(t, func(o *console.Options) {
		one := o.Agents()[0]
		card := *one.Card
		card.Name, card.Description = name, name
		card.Skills = []*a2a.AgentSkill{{ID: "s", Name: name, Description: name, Tags: []string{name}}}
		one.Card = console.CalmCard(&card)
		o.Agents = func() []console.Agent { return []console.Agent{one} }
		o.Published = func(*http.Request, string) []byte { return card.AppendJSON(nil) }
	}))
	task := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(v.post("/chat/-", map[string]string{"text": "echo x"}))[1]
	for _, path := range []string{"/chat/-", "/agents", "/agents/-", "/tasks", "/tasks/-/" + task} {
		if page := v.get(path); !strings.Contains(page, "evil\ufffd") || strings.ContainsAny(page, "\u202e\u2066") {
			t.Errorf("%s shows the name as it is, or not at all:\n%s", path, page)
		}
	}
}

// The task that changed last is the last of a chat, next to the field for the next message.
func TestAChatEndsWithItsLatestMessage(t *testing.T) {
	v := open(t, serve(t))
	v.has(v.post("/chat/-", map[string]string{"text": "message it is **done**"}), "it is <strong>done</strong>") // which no task has
	v.post("/chat/-", map[string]string{"text": "ask Which **one**?"})
	v.has(v.until("/inbox", "1 task waits"), "Which <strong>one</strong>?")
	tasks := regexp.MustCompile(`/tasks/-/[^"?/]+`)
	task := tasks.FindString(v.get("/tasks"))
	of := regexp.MustCompile(`context=([^"&]+)"`).FindStringSubmatch(v.get(task))
	if task == "" || of == nil {
		t.Fatalf("there is no task %q, or its page has no context", task)
	}
	v.post("/chat/-", map[string]string{"text": "echo newer", "context": of[1]})
	for _, one := range tasks.FindAllString(v.get("/tasks"), -1) {
		if one != task {
			v.ended(one)
		}
	}
	v.post(task+"/answer", map[string]string{"text": "this one"})
	v.ended(task)
	page := v.get("/chat/-?context=" + of[1])
	if first, last := strings.Index(page, ">newer<"), strings.Index(page, ">this one<"); first < 0 || last < first {
		t.Errorf("the answer is at %d, and what was said before it at %d of\n%s", last, first, page)
	}
}

// A file that is saved has its own type, and a browser asks again for one that it keeps:
// an artifact that is begun anew has the same address.
func TestFilesToSave(t *testing.T) {
	v := open(t, serve(t))
	id := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(v.post("/chat/-", map[string]string{"text": "stream+2+0"}))[1]
	v.ended("/tasks/-/" + id)
	page := v.get("/tasks/-/" + id)
	v.has(page, `/artifacts.zip" download>`) // a link that leaves no page asks for no unsent text
	part := regexp.MustCompile(`/console(/tasks/-/[^"]+/part[^"]+)"`).FindStringSubmatch(page)
	if part == nil {
		t.Fatal("the page offers no artifact")
	}
	head := func(path, tag string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, v.s.URL+"/console"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("If-None-Match", tag)
		res, err := v.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	if got := head("/tasks/-/"+id+"/artifacts.zip", "").Header.Get("Content-Type"); got != "application/zip" {
		t.Errorf("all artifacts are %s", got)
	}
	const whole = "chunk 1\nchunk 2\n" // which was streamed in two parts
	all := v.get("/tasks/-/" + id + "/artifacts.zip")
	z, err := zip.NewReader(strings.NewReader(all), int64(len(all)))
	if err != nil || len(z.File) != 1 || z.File[0].Name != "stream.txt" || z.File[0].UncompressedSize64 != uint64(len(whole)) {
		t.Errorf("the archive has %v, %v; want one file of the whole text", z, err)
	}
	path := strings.ReplaceAll(part[1], "&amp;", "&")
	if got := v.get(path); got != whole {
		t.Errorf("saved: %q, want %q", got, whole)
	}
	res := head(path, "")
	if got := res.Header.Get("Content-Disposition"); got != "attachment; filename=stream.txt" {
		t.Errorf("it is saved as %s", got)
	}
	if got := res.Header.Get("Cache-Control"); res.StatusCode != http.StatusOK || got != "private, no-cache" {
		t.Errorf("the part is answered %d, kept as %q", res.StatusCode, got)
	}
	if again := head(path, res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same part is answered %d to a browser that has it", again.StatusCode)
	}
}

// While servers of two versions run, a page of one may get the files of the other, which
// a browser must not keep as its own.
func TestFilesOfAnotherVersion(t *testing.T) {
	v := open(t, serve(t))
	own := regexp.MustCompile(`/console(/static/[^"]+/console.css)"`).FindStringSubmatch(v.get("/agents"))[1]
	for path, want := range map[string]string{own: "public, max-age=31536000, immutable", "/static/other/console.css": "no-store"} {
		res, err := v.http.Get(v.s.URL + "/console" + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Cache-Control"); res.StatusCode != http.StatusOK || got != want {
			t.Errorf("%s: %d, kept as %q, want %q", path, res.StatusCode, got, want)
		}
	}
}

// Files that are too large for memory wait on the disk, until the message is sent.
func TestLargeFilesLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	v := open(t, serveWith(t, func(o *console.Options) { o.MaxUpload = 64 << 20 }))
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(v.get("/agents"))
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	if err := m.WriteField("csrf", token[1]); err != nil {
		t.Fatal(err)
	}
	f, err := m.CreateFormFile("file", "large.bin")
	if err != nil {
		t.Fatal(err)
	}
	f.Write(make([]byte, 33<<20))
	m.Close()
	res, err := v.http.Post(v.s.URL+"/console/chat/-", m.FormDataContentType(), &form)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	v.s.Close() // no request is at work behind it
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("behind an answer %s %d files are left, %v", res.Status, len(left), err)
	}
}
