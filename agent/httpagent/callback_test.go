package httpagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

const secret = a2a.Secret("0123456789abcdef")

// door is where callbacks come in, whichever process is behind it.
type door struct {
	*httptest.Server
	behind atomic.Pointer[Callbacks]
}

func newDoor(t testing.TB) *door {
	d := &door{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.behind.Load().Handler().ServeHTTP(w, r) }))
	t.Cleanup(d.Close)
	d.open(t)
	return d
}

// open puts a new process behind the door.
func (d *door) open(t testing.TB) *Callbacks {
	c, err := NewCallbacks(d.URL+"/callbacks/x", secret)
	if err != nil {
		t.Fatal(err)
	}
	d.behind.Store(c)
	return c
}

func callBack(t testing.TB, url, body string) int {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(res.Body)
	if res.StatusCode == 503 && res.Header.Get("Retry-After") == "" {
		t.Errorf("%d without Retry-After", res.StatusCode)
	}
	if res.StatusCode == 400 && !strings.Contains(string(all), `"error":`) {
		t.Errorf("400 without a reason: %s", all)
	}
	return res.StatusCode
}

func wantCall(t testing.TB, url, body string, want int) {
	t.Helper()
	if got := callBack(t, url, body); got != want {
		t.Errorf("%s: status %d, want %d", body, got, want)
	}
}

// accepting is a service that answers 202 and hands the request to the test.
func accepting(t testing.TB, location string) (*service, chan *post) {
	posts := make(chan *post, 10)
	s := serve(t, func(p *post) {
		if p.Request.Method == http.MethodPost {
			if location != "" {
				p.ResponseWriter.Header().Set("Location", location)
			}
			p.ResponseWriter.WriteHeader(202)
		}
		posts <- p
	})
	return s, posts
}

func TestCallbacks(t *testing.T) {
	d := newDoor(t)
	s, posts := accepting(t, "")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load(), MaxAnswer: 1 << 10})
	task := w.begin("hello")
	at := (<-posts).Callback
	if !strings.HasPrefix(at, d.URL+"/callbacks/x/") {
		t.Fatalf("callback %q", at)
	}
	wantCall(t, at, `{"type":"status","text":"at it"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"1","name":"a","text":"1"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"2","name":"a","text":"2"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"1","name":"a","text":"1"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"2","name":"a","text":"2"}`, 200)
	wantCall(t, at, `{"type":"artifact","name":"b","text":"x"}`, 200)
	wantCall(t, at, `{"type":"log","text":"so far"}`, 200)
	for body, want := range map[string]int{
		"":                           400,
		"{}":                         400,
		`{"type":"nonsense"}`:        400,
		`{"text":"x"}`:               400,
		`{"type":"ask"}`:             400,
		`[{"type":"complete"}]`:      400,
		strings.Repeat("x", 1<<10+1): 413,
		`{"type":"artifact","id":"9","parts":[{"url":"parley-blob:x"}]}`: 400,
		`{"type":"reply","id":"9","parts":[{"url":"parley-blob:x"}]}`:    400,
	} {
		wantCall(t, at, body, want)
	}
	if res, err := http.Get(at); err != nil || res.StatusCode != 405 {
		t.Errorf("GET: %v, %v", res, err)
	}
	for _, url := range []string{at + "x", strings.Replace(at, "-0.", "-1.", 1), at[:strings.LastIndex(at, ".")], d.URL + "/callbacks/x/", d.URL} {
		wantCall(t, url, `{"type":"complete"}`, 404)
	}
	task = w.until(task.ID, "at it", func(t *a2a.Task) bool { return len(t.Artifacts) == 2 })
	wantOutcome(t, task, "working at it | a: 1, 2 | b: x")
	wantCall(t, at, `{"type":"complete","id":"9","text":"done"}`, 200)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateCompleted), "completed done | a: 1, 2 | b: x")
	for range 3 { // the run may not have returned yet
		if got := callBack(t, at, `{"type":"complete","id":"9","text":"done"}`); got != 410 && got != 503 {
			t.Errorf("afterwards: %d", got)
		}
	}
	poll(t, "gone", func() bool { return callBack(t, at, `{"type":"status"}`) == 410 })
}

func TestCallbackAsks(t *testing.T) {
	d := newDoor(t)
	s, posts := accepting(t, "")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load()})
	task := w.begin("hello")
	at := (<-posts).Callback
	wantCall(t, at, `{"type":"artifact","name":"a","text":"1"}`, 200)
	wantCall(t, at, `{"type":"ask","text":"more?","state":{"n":1}}`, 200)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateInputRequired), "input_required more? | a: 1")
	req := now(message("yes"))
	req.Message.TaskID = task.ID
	w.send(req)
	p := <-posts
	if p.Callback == at || p.Type != "answer" || p.Text != "yes" || string(p.State) != `{"n":1}` {
		t.Errorf("the service got %s", p.raw)
	}
	wantCall(t, at, `{"type":"complete"}`, 410)
	wantCall(t, p.Callback, `{"type":"artifact","name":"a","text":"2"}`, 200)
	wantCall(t, p.Callback, `{"type":"artifact","name":"a","text":"3"}`, 200)
	wantCall(t, p.Callback, `{"type":"fail","text":"enough"}`, 200)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateFailed), "failed enough | a: 2, 3")
}

// A process that is lost leaves the service at work, and the next one goes on.
func TestCrashBetweenCallbacks(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	d := newDoor(t)
	s, posts := accepting(t, "/jobs/1")
	w := newWorld(t, st, s.URL, &Options{Callbacks: d.behind.Load()})
	task := w.begin("hello")
	at := (<-posts).Callback
	wantCall(t, at, `{"type":"artifact","id":"1","name":"a","text":"1"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"2","name":"b","text":"x"}`, 200)
	wantCall(t, at, `{"type":"artifact","id":"3","name":"a","text":"2"}`, 200)
	w.kill()
	next := d.open(t)
	wantCall(t, at, `{"type":"artifact","id":"4","name":"a","text":"3"}`, 503)
	w = newWorld(t, st, s.URL, &Options{Callbacks: next})
	again := func(body string) { // as the service is told
		t.Helper()
		poll(t, "back", func() bool {
			got := callBack(t, at, body)
			if got != 200 && got != 503 {
				t.Fatalf("%s: %d", body, got)
			}
			return got == 200
		})
	}
	again(`{"type":"artifact","id":"3","name":"a","text":"2"}`)
	again(`{"type":"artifact","id":"4","name":"a","text":"3"}`)
	again(`{"type":"complete"}`)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateCompleted), "completed | a: 1, 2, 3 | b: x")
	if n := len(s.got()); n != 1 {
		t.Errorf("%d requests, want one: the service had the message", n)
	}
}

// Clients of 0.1 choose the ids of tasks and messages. Two callers of a tenant who
// chose the same ones have an exchange each: nobody hears what the service says to
// the other, or gets the other's answer by its Idempotency-Key.
func TestCallersWhoChoseTheSameIDs(t *testing.T) {
	d := newDoor(t)
	s, posts := accepting(t, "")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load()})
	as := func(subject string) context.Context {
		return a2a.WithCaller(t.Context(), a2a.Caller{Subject: subject, Tenant: "acme"})
	}
	var keys, addresses []string
	for _, subject := range []string{"ann", "bob"} {
		req := now(message("hello"))
		req.Message.MessageID, req.Message.TaskID = "m", "chosen"
		req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true}
		if _, err := w.SendMessage(as(subject), req); err != nil {
			t.Fatal(err)
		}
		p := <-posts
		keys, addresses = append(keys, p.Request.Header.Get("Idempotency-Key")), append(addresses, p.Callback)
	}
	if keys[0] == keys[1] || addresses[0] == addresses[1] {
		t.Errorf("both have the key %s and the address %s", keys[0], addresses[0])
	}
	wantCall(t, addresses[0], `{"type":"status","text":"for ann"}`, 200)
	for subject, want := range map[string]string{"ann": "working for ann", "bob": "working"} {
		poll(t, want, func() bool {
			task, err := w.GetTask(as(subject), &a2a.GetTaskRequest{ID: "chosen"})
			if err != nil {
				t.Fatal(err)
			}
			return outcome(task) == want
		})
	}
}

// A service that answered 202 before an upgrade calls an address that an earlier
// release made, which did not cover the caller's subject.
func TestAddressesOfEarlierReleases(t *testing.T) {
	d := newDoor(t)
	c := d.behind.Load()
	log := newDisk()
	log.caller = a2a.Caller{Subject: "ann", Tenant: "acme"}
	log.steps = []*a2a.Step{{Name: "request", Result: []byte(`{"accepted":true}`)}}
	h := sha256.New()
	for _, word := range []string{"acme", "task", "artifact-0"} {
		fmt.Fprintf(h, "%d:%s", len(word), word)
	}
	at := c.address(hex.EncodeToString(h.Sum(nil)[:16]) + "-0")
	ag, err := New(d.URL, &Options{Callbacks: c})
	if err != nil {
		t.Fatal(err)
	}
	defer ag.Close()
	ran := make(chan error, 1)
	go func() { ran <- ag.Run(t.Context(), agent.NewTurn(&host{disk: log, attempt: 2})) }()
	poll(t, "listening", func() bool { return callBack(t, at, `{"type":"complete","text":"done"}`) == 200 })
	if err := <-ran; err != nil || log.task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("Run = %v, the task is %s", err, log.task.Status.State)
	}
}

// A cancellation is told to the service; a restart is not.
func TestCancelTellsTheService(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	d := newDoor(t)
	s, posts := accepting(t, "/jobs/1?x=y")
	o := &Options{Callbacks: d.behind.Load(), Headers: map[string]a2a.Secret{"X-Key": "k"}}
	url := strings.Replace(s.URL, "://", "://ann:hush@", 1)
	w := newWorld(t, st, url, o)
	task := w.begin("hello")
	at := (<-posts).Callback
	wantCall(t, at, `{"type":"status","text":"x"}`, 200)
	w.stop()
	if n := len(s.got()); n != 1 {
		t.Fatalf("%d requests, want no more than the first", n)
	}
	w = newWorld(t, st, url, o)
	poll(t, "back", func() bool { return callBack(t, at, `{"type":"status","text":"y"}`) == 200 })
	if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	p := <-posts
	if p.Request.Method != http.MethodDelete || p.URL.String() != "/jobs/1?x=y" || p.Request.Header.Get("X-Key") != "k" || p.Request.Header.Get("Authorization") == "" {
		t.Errorf("the service got %s %s", p.Request.Method, p.URL)
	}
	w.state(task.ID, a2a.TaskStateCanceled)
	poll(t, "gone", func() bool { return callBack(t, at, `{"type":"complete"}`) == 410 })
}

// A template has no place for an address to call back.
func TestTemplateHasNoCallbacks(t *testing.T) {
	if _, err := New("http://service.test", &Options{Callbacks: newDoor(t).behind.Load(), Body: `{"text": "${text}"}`}); err == nil {
		t.Error("a template with callbacks was accepted")
	}
}

// A task whose callbacks were taken out of the configuration says so, and its service
// is told to stop.
func TestCallbacksAreTakenAway(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	d := newDoor(t)
	s, posts := accepting(t, "/jobs/1")
	w := newWorld(t, st, s.URL, &Options{Callbacks: d.behind.Load()})
	task := w.begin("hello")
	wantCall(t, (<-posts).Callback, `{"type":"status","text":"x"}`, 200)
	w.stop()
	w = newWorld(t, st, s.URL, nil)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateFailed), "failed the service cannot call back any more")
	select {
	case p := <-posts:
		if p.Request.Method != http.MethodDelete {
			t.Errorf("the service got %s", p.Request.Method)
		}
	default:
		t.Error("the service was not told to stop")
	}
}

// takenStore is a store in which another process has every task, once that is said.
type takenStore struct {
	store.Store
	taken atomic.Bool
}

func (s *takenStore) Append(a *store.Append, done func(error)) {
	if s.taken.Load() {
		done(store.ErrLeaseLost)
		return
	}
	s.Store.Append(a, done)
}

// An end that is not on disk was not taken: the service calls again, wherever the task is.
func TestEndThatIsLostIsNotTaken(t *testing.T) {
	mem := store.NewMemory()
	defer mem.Close()
	st := &takenStore{Store: mem}
	d := newDoor(t)
	s, posts := accepting(t, "")
	w := newWorld(t, st, s.URL, &Options{Callbacks: d.behind.Load()})
	w.begin("hello")
	at := (<-posts).Callback
	wantCall(t, at, `{"type":"status","text":"x"}`, 200)
	st.taken.Store(true)
	wantCall(t, at, `{"type":"complete","text":"done"}`, 503)
}

// Nobody is told at another host: the headers are not for it.
func TestLocationElsewhere(t *testing.T) {
	d := newDoor(t)
	other := serve(t, func(*post) {})
	s, posts := accepting(t, other.URL+"/jobs/1")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load(), CallbackWait: 20 * time.Millisecond})
	task := w.begin("hello")
	<-posts
	wantOutcome(t, w.state(task.ID, a2a.TaskStateFailed), "failed the service did not call back in time")
	if len(other.got()) > 0 {
		t.Error("the other host was asked")
	}
}

func TestCallbacksThatDoNotCome(t *testing.T) {
	d := newDoor(t)
	s, posts := accepting(t, "/jobs/1")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load(), CallbackWait: 20 * time.Millisecond})
	w.begin("hello")
	<-posts
	if p := <-posts; p.Request.Method != http.MethodDelete {
		t.Errorf("the service got %s, want a DELETE", p.Request.Method)
	}
}

func TestCallbacksAreBounded(t *testing.T) {
	d := newDoor(t)
	s, posts := accepting(t, "")
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load(), MaxOutput: 1000})
	task := w.begin("hello")
	at := (<-posts).Callback
	poll(t, "too much", func() bool { return callBack(t, at, `{"type":"status","text":"`+strings.Repeat("x", 200)+`"}`) != 200 })
	wantOutcome(t, w.state(task.ID, a2a.TaskStateFailed), "failed the service sent more than the limit of 1000 bytes")

	in := d.behind.Load().join("k", 100)
	for range maxWaiting {
		in.slots <- struct{}{}
	}
	wantCall(t, d.behind.Load().address("k"), `{"type":"status"}`, 429)

	<-in.slots
	q := httptest.NewRequest("POST", d.behind.Load().address("k"), strings.NewReader(strings.Repeat("x", 99)))
	q.Body = http.MaxBytesReader(nil, q.Body, 50) // the server's own limit
	if got := d.behind.Load().take(httptest.NewRecorder(), q); got.status != 413 || !strings.Contains(got.text, "50 bytes") {
		t.Errorf("too large for the server: %v", got)
	}

	c := d.open(t)
	for i := range maxOver + 5 {
		c.leave(c.join(fmt.Sprint(i), 1), true)
	}
	if len(c.over) != maxOver || len(c.oldest) != maxOver || len(c.open) != 0 {
		t.Errorf("%d and %d ends are remembered", len(c.over), len(c.oldest))
	}
}

// A callback may come before the answer that announces it.
func TestCallbackComesFirst(t *testing.T) {
	d := newDoor(t)
	called := make(chan int, 1)
	s := serve(t, func(p *post) {
		waits := make(chan struct{})
		go func() {
			close(waits)
			called <- callBack(t, p.Callback, `{"type":"complete","text":"done"}`)
		}()
		<-waits
		p.ResponseWriter.WriteHeader(202)
	})
	w := newWorld(t, nil, s.URL, &Options{Callbacks: d.behind.Load()})
	wantOutcome(t, w.task("hello"), "completed done")
	if got := <-called; got != 200 {
		t.Errorf("the callback got %d", got)
	}
}

func FuzzCallback(f *testing.F) {
	c, err := NewCallbacks("https://example.com/callbacks/x", secret)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/callbacks/x/"+strings.TrimPrefix(c.address("k"), "https://example.com/callbacks/x/"), []byte(`{"type":"status","id":"1"}`))
	f.Add("/a.b.c", []byte(`{}`))
	f.Add("//..", []byte(`{"type":"artifact","text":"x"}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		key, ok := c.keyOf(path)
		if ok && !strings.HasSuffix(strings.TrimRight(path, "/"), strings.TrimPrefix(c.address(key), "https://example.com/callbacks/x")) {
			t.Fatalf("%q was let in as %q", path, key)
		}
		got, r := readCall(strings.NewReader(string(body)), 100)
		if (got == nil) == (r.status == 0) || got != nil && got.size > 100 {
			t.Fatalf("%+v, %+v", got, r)
		}
	})
}
