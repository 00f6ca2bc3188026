package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

// running is a host that runs until it is stopped.
type running struct {
	*Host
	url  string
	stop func()
}

// runHost runs a host with the demo agent and more flags.
func runHost(t *testing.T, flags ...Flag) *running {
	t.Helper()
	fs := NewFlags()
	line := Record(fs)
	var errs bytes.Buffer
	env := &Env{Lookup: func(string) (string, bool) { return "", false }, Stderr: plain.NewWriter(&errs), Program: "parley", Version: "test"}
	for _, f := range append([]Flag{{"listen", "127.0.0.1:0"}, {"file", ""}}, flags...) {
		if err := fs.Set(f.Name, f.Value); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Open(t.Context(), env, *line, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	r := &running{Host: h, url: h.URL()}
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the host ended with %v\n%s", err, errs.String())
			}
			h.Close()
		})
	}
	t.Cleanup(r.stop)
	for !h.server.Engine().Registered() { // nobody tells, and it is soon
		runtime.Gosched()
	}
	return r
}

// as is a context of a caller with scopes.
func as(ctx context.Context, scopes ...string) context.Context {
	return a2a.WithCaller(ctx, a2a.Caller{Subject: "op", Scopes: scopes})
}

func both(ctx context.Context) context.Context {
	return as(ctx, a2a.ScopeAdminRead, a2a.ScopeAdminWrite)
}

// send begins a task of an anonymous caller and waits for its end.
func (r *running) send(t *testing.T, text string) *a2a.Task {
	t.Helper()
	c, err := a2aclient.Dial(t.Context(), r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: text + t.Name(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Task == nil {
		t.Fatalf("%q made no task", text)
	}
	return resp.Task
}

// client calls the host's API over HTTP as the one who reads its file.
func (r *running) client() admin.API {
	l := &admin.Local{URL: r.url, Token: r.admin.token}
	return &apiClient{admin.Dial(l), l.URL + admin.Path, l.Token}
}

// The API gives the same answers over HTTP and in the process.
func TestAdminIsTheSameOverHTTP(t *testing.T) {
	r := runHost(t, Flag{"data", t.TempDir()}, Flag{"audit-log", filepath.Join(t.TempDir(), "audit.jsonl")})
	task := r.send(t, "echo hello")
	r.send(t, "ask")
	ctx, c := both(t.Context()), r.client()
	for name, f := range map[string]func(admin.API) (any, error){
		"agents":   func(a admin.API) (any, error) { return a.Agents(ctx) },
		"nodes":    func(a admin.API) (any, error) { l, err := a.Nodes(ctx); return len(l), err },
		"settings": func(a admin.API) (any, error) { return a.Settings(ctx) },
		"check":    func(a admin.API) (any, error) { return a.CheckSettings(ctx, []byte("version: 1\nlisten: []\n")) },
		"check good": func(a admin.API) (any, error) {
			l, err := a.CheckSettings(ctx, []byte("version: 1\nagents: {}\n"))
			return len(l), err
		},
		"tasks": func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{}) },
		"tasks of": func(a admin.API) (any, error) {
			return a.Tasks(ctx, admin.TaskQuery{Agent: new(""), Tenant: new(""), Owner: new("")})
		},
		"tasks not of": func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{Agent: new("other")}) },
		"tasks since": func(a admin.API) (any, error) {
			return a.Tasks(ctx, admin.TaskQuery{Since: r.admin.started.Add(-time.Hour)})
		},
		"waiting":     func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{State: "input-required"}) },
		"at work":     func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{AtWork: true}) },
		"no state":    func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{State: "tired"}) },
		"no page":     func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{Query: admin.Query{After: "x"}}) },
		"too many":    func(a admin.API) (any, error) { return a.Tasks(ctx, admin.TaskQuery{Query: admin.Query{Limit: 501}}) },
		"task":        func(a admin.API) (any, error) { return a.Task(ctx, task.ID) },
		"no task":     func(a admin.API) (any, error) { return a.Task(ctx, "a/b c?~%") },
		"state":       func(a admin.API) (any, error) { return a.TaskAt(ctx, task.ID, 2) },
		"end state":   func(a admin.API) (any, error) { return a.TaskAt(ctx, task.ID, 0) },
		"beyond":      func(a admin.API) (any, error) { return a.TaskAt(ctx, task.ID, 100) },
		"runs":        func(a admin.API) (any, error) { return a.Runs(ctx, task.ID) },
		"log":         func(a admin.API) (any, error) { return a.Log(ctx, task.ID, 1, 2) },
		"followed":    func(a admin.API) (any, error) { return gather(a.FollowLog(ctx, task.ID, 1)) },
		"deliveries":  func(a admin.API) (any, error) { return a.Deliveries(ctx, admin.DeliveryQuery{}) },
		"letters":     func(a admin.API) (any, error) { return a.DeadLetters(ctx, admin.DeliveryQuery{}) },
		"again":       func(a admin.API) (any, error) { return a.Redeliver(ctx, admin.Redelivery{All: true}) },
		"again what":  func(a admin.API) (any, error) { return a.Redeliver(ctx, admin.Redelivery{}) },
		"collect":     func(a admin.API) (any, error) { return a.Collect(ctx, admin.Collection{DryRun: true}) },
		"collect bad": func(a admin.API) (any, error) { return a.Collect(ctx, admin.Collection{States: []string{"working"}}) },
		"keys":        func(a admin.API) (any, error) { return a.Keys(ctx) },
		"bad key":     func(a admin.API) (any, error) { return a.CreateKey(ctx, admin.NewKey{Scopes: []string{"tasks:wirte"}}) },
		"no role":     func(a admin.API) (any, error) { return a.CreateKey(ctx, admin.NewKey{Roles: []string{"root"}}) },
		"no key":      func(a admin.API) (any, error) { return a.RevokeKey(ctx, "none") },
		"cancel":      func(a admin.API) (any, error) { return a.CancelTask(ctx, task.ID) },
		"bad event":   func(a admin.API) (any, error) { return gather(a.Events(ctx, "yesterday")) },
	} {
		here, err := f(r.Admin())
		there, far := f(c)
		if !sameError(err, far) {
			t.Errorf("%s: in the process %v, over HTTP %v", name, err, far)
		}
		if a, b := doc(t, here), doc(t, there); err == nil && a != b {
			t.Errorf("%s: in the process\n%s\nover HTTP\n%s", name, a, b)
		}
	}
	k, err := c.CreateKey(ctx, admin.NewKey{Name: "k", Roles: []string{"admin"}})
	if err != nil || !strings.HasPrefix(k.Token, "parley_") || !slices.Equal(k.Scopes, []string{"admin:read", "admin:write"}) {
		t.Errorf("made %+v, %v", k, err)
	}
	if k, err = c.RevokeKey(ctx, k.ID); err != nil || k.State != "revoked" || k.Token != "" {
		t.Errorf("revoked %+v, %v", k, err)
	}
	log, err := c.Audit(ctx, admin.AuditQuery{Query: admin.Query{Limit: 2}})
	if err != nil || len(log.Records) != 2 || log.Records[0].Event != "key.revoked" || log.Records[1].Event != "key.created" || log.Next == "" {
		t.Errorf("the audit log ends with %+v, %v", log, err)
	}
	if log, err = c.Audit(ctx, admin.AuditQuery{Event: "admin.call", Task: task.ID}); err != nil || len(log.Records) == 0 {
		t.Errorf("the log does not say who looked at the task: %+v, %v", log, err)
	}
	if err := c.DeleteTask(ctx, task.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Task(ctx, task.ID); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("the deleted task is %v", err)
	}
	did, err := c.Collect(ctx, admin.Collection{States: []string{"input-required", "input-required"}, DryRun: true})
	if err != nil || did.Tasks != 1 || did.States["input-required"] != 1 {
		t.Errorf("a state that is named twice has %+v, %v", did, err)
	}
}

// The audit log is read page by page from its end, also across chunks.
func TestAdminReadsTheAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	var b bytes.Buffer
	const n = 3000
	for i := range n {
		fmt.Fprintf(&b, `{"time":"2026-11-23T10:00:00Z","event":"call","n":%d,"pad":%q}`+"\n", i, strings.Repeat("x", i%200))
		if i == 17 {
			b.WriteString("this is no record\n")
		}
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runHost(t, Flag{"data", t.TempDir()}, Flag{"audit-log", file})
	ctx, want, q := both(t.Context()), n-1, admin.AuditQuery{Query: admin.Query{Limit: 170}, Event: "call"}
	for {
		page, err := r.Admin().Audit(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range page.Records {
			if got := string(rec.Attrs["n"]); got != fmt.Sprint(want) {
				t.Fatalf("record %s, want %d", got, want)
			}
			want--
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if want != -1 {
		t.Errorf("%d records are missing", want+1)
	}
}

// gather returns all that a sequence yields.
func gather[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func doc(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sameError compares what callers see of two errors.
func sameError(a, b error) bool {
	var x, y *admin.Error
	if !errors.As(a, &x) || !errors.As(b, &y) {
		return a == nil && b == nil
	}
	return x.Status == y.Status && (x.Field == y.Field || x.Field == "limit" || x.Field == "state") && (x.Message == y.Message || x.Status == 400)
}

// Scopes decide: a caller without a scope of admin learns nothing, and credentials
// for one tenant never have one.
func TestAdminScopes(t *testing.T) {
	r := runHost(t, Flag{"data", t.TempDir()}, Flag{"auth-keys", "true"}, Flag{"allow-anonymous", "true"}, Flag{"max-failures", "0"})
	made := func(k admin.NewKey) string {
		key, err := r.Admin().CreateKey(both(t.Context()), k)
		if err != nil {
			t.Fatal(err)
		}
		return key.Token
	}
	callers := []struct {
		name, token  string
		reads, write bool
		status       int // where it may not
	}{
		{"anonymous", "", false, false, http.StatusUnauthorized},
		{"wrong", "parley-admin-x", false, false, http.StatusUnauthorized},
		{"own", made(admin.NewKey{}), false, false, http.StatusForbidden},
		{"operator", made(admin.NewKey{Roles: []string{"operator"}}), false, false, http.StatusForbidden},
		{"tenant's admin", made(admin.NewKey{Roles: []string{"admin"}, Tenant: "acme"}), false, false, http.StatusForbidden},
		{"reader", made(admin.NewKey{Scopes: []string{"admin:read"}}), true, false, http.StatusForbidden},
		{"writer", made(admin.NewKey{Scopes: []string{"admin:write"}}), false, true, http.StatusForbidden},
		{"admin", made(admin.NewKey{Roles: []string{"admin"}}), true, true, 0},
		{"this machine", r.admin.token.Reveal(), true, true, 0},
	}
	for _, route := range r.routes(t) {
		for _, c := range callers {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, route.method, r.url+strings.NewReplacer("{task}", "none", "{id}", "none").Replace(route.path), nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.token != "" {
				req.Header.Set("Authorization", "Bearer "+c.token)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			resp.Body.Close()
			may := route.scope == a2a.ScopeAdminRead && c.reads || route.scope == a2a.ScopeAdminWrite && c.write
			if refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden; refused == may {
				t.Errorf("%s %s by %s: %s", route.method, route.path, c.name, resp.Status)
			} else if !may && resp.StatusCode != c.status {
				t.Errorf("%s %s by %s: %s, want %d", route.method, route.path, c.name, resp.Status, c.status)
			}
		}
	}
}

type route struct{ method, path, scope string }

// routes are those of the OpenAPI document.
func (r *running) routes(t *testing.T) (all []route) {
	t.Helper()
	resp, err := http.Get(r.url + admin.Path + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct {
		Paths map[string]map[string]struct{ Description string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("there are no routes: %v", err)
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			scope := strings.TrimSuffix(strings.TrimPrefix(op.Description, "Needs the scope "), ".")
			all = append(all, route{strings.ToUpper(method), path, scope})
		}
	}
	return all
}

// refusing is a vault that keeps nothing.
type refusing struct{ auth.Vault }

func (refusing) Keep(context.Context, string, []byte, []byte) ([]byte, error) {
	return nil, errors.New(`role "parley" may not write to scope_x`)
}

// A mistake in a key is named, and the text of a database's error stays inside.
func TestAdminRefusesKeys(t *testing.T) {
	h := &Host{location: &database.Location{File: "x"}, log: slog.New(slog.DiscardHandler), audit: &AuditLog{}}
	a := &administration{h: h, keys: auth.NewKeys(refusing{}, nil)}
	for _, c := range []struct {
		key    admin.NewKey
		status int
		says   string
	}{
		{admin.NewKey{Name: strings.Repeat("x", 300)}, 400, "its name is longer than"},
		{admin.NewKey{Subject: " x"}, 400, "its subject begins"},
		{admin.NewKey{Scopes: []string{"tasks:wirte"}}, 400, "there is no scope tasks:wirte"},
		{admin.NewKey{Roles: []string{"root"}}, 400, `there is no role "root"`},
		{admin.NewKey{}, 500, "something went wrong"},
	} {
		var e *admin.Error
		if _, err := a.CreateKey(both(t.Context()), c.key); !errors.As(err, &e) || e.Status != c.status || !strings.Contains(e.Message, c.says) {
			t.Errorf("%+v is %v, want %d %s", c.key, err, c.status, c.says)
		}
	}
}

// A stream whose key has another secret now ends, also where its address has guessed too often: a
// caller that goes on guessing does not keep it.
func TestStreamsOfGuessersAreJudged(t *testing.T) {
	r := runHost(t, Flag{"data", t.TempDir()}, Flag{"auth-keys", "true"}, Flag{"max-failures", "1"})
	key, err := r.Admin().CreateKey(both(t.Context()), admin.NewKey{Roles: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	streams, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	streams.RemoteAddr = "127.0.0.1:1"
	guesses := streams.Clone(t.Context())
	streams.Header.Set("Authorization", "Bearer "+key.Token)
	guesses.Header.Set("Authorization", "Bearer nothing")
	for range 3 {
		_, _ = r.admin.identify(guesses, false)
	}
	if _, _, err := r.admin.keys.Rotate(t.Context(), key.ID, 0); err != nil {
		t.Fatal(err)
	}
	if _, refused := r.admin.identify(streams, true); refused == nil || refused.Status != http.StatusUnauthorized {
		t.Errorf("the old secret is %v", refused)
	}
}

// events reads from a feed until it has what is wanted, and returns the ids.
type events struct {
	next func() (admin.Event, error, bool)
	stop func()
}

func (r *running) events(t *testing.T, api admin.API, after string) *events {
	ctx, cancel := context.WithCancel(both(t.Context()))
	next, stop := iter.Pull2(api.Events(ctx, after))
	e := &events{next, func() { cancel(); stop() }}
	t.Cleanup(e.stop)
	return e
}

// want returns the next event, which must be of a type and, of tasks, of an id in a state.
func (e *events) want(t *testing.T, kind, id, state string) admin.Event {
	t.Helper()
	for {
		ev, err, ok := e.next()
		if err != nil || !ok {
			t.Fatalf("the feed ended with %v, want %s %s %s", err, kind, id, state)
		}
		if ev.Type != kind {
			t.Fatalf("got %s, want %s %s %s", doc(t, ev), kind, id, state)
		}
		if ev.Task == nil || id == "" {
			return ev
		}
		if ev.Task.ID == id && ev.Task.State == state {
			return ev
		}
		if ev.Task.ID != id && id != "any" {
			t.Fatalf("got %s, want %s %s", doc(t, ev), id, state)
		}
	}
}

// A feed goes on exactly behind an id, and behind a restart with what changed since.
func TestFeedResumes(t *testing.T) {
	data := t.TempDir()
	r := runHost(t, Flag{"data", data})
	feed := r.events(t, r.client(), "")
	feed.want(t, admin.EventReadiness, "", "")
	one := r.send(t, "echo one")
	at := feed.want(t, admin.EventTask, one.ID, "completed").ID
	feed.stop()
	two := r.send(t, "echo two")

	feed = r.events(t, r.client(), at)
	if ev := feed.want(t, admin.EventReadiness, "", ""); ev.ID != at {
		t.Errorf("it goes on at %s, want %s", ev.ID, at)
	}
	at = feed.want(t, admin.EventTask, two.ID, "completed").ID
	feed.stop()

	if err := r.client().DeleteTask(t.Context(), two.ID); err != nil {
		t.Fatal(err)
	}
	feed = r.events(t, r.client(), at)
	feed.want(t, admin.EventReadiness, "", "")
	for { // the task as it was may come once more before
		ev, err, _ := feed.next()
		if err != nil || ev.Task == nil || ev.Task.ID != two.ID || ev.Task.State != "completed" {
			t.Fatalf("got %s, %v, want %s deleted", doc(t, ev), err, two.ID)
		}
		if ev.Type == admin.EventDeleted {
			break
		}
	}
	feed.stop()

	three := r.send(t, "ask")
	r.stop()
	r = runHost(t, Flag{"data", data})
	feed = r.events(t, r.Admin(), at)
	feed.want(t, admin.EventReadiness, "", "")
	var told []string
	for {
		ev, err, _ := feed.next()
		if err != nil || ev.Task == nil {
			t.Fatalf("got %s, %v", doc(t, ev), err)
		}
		if told = append(told, ev.Task.ID); ev.Task.ID == three.ID {
			if ev.ID == "" || ev.Task.State != "input-required" || ev.Task.Wait.For != admin.WaitClient {
				t.Errorf("the last of what changed is %s", doc(t, ev))
			}
			break
		}
	}
	if !slices.Contains(told, one.ID) { // which changed at about the time of the id
		t.Errorf("told %v", told)
	}
	feed.stop()

	// What changed before is not told.
	feed = r.events(t, r.Admin(), fmt.Sprintf("%d.elsewhere.7", r.server.Engine().Now().Add(time.Hour).UnixMilli()))
	feed.want(t, admin.EventReadiness, "", "")
	four := r.send(t, "echo four")
	feed.want(t, admin.EventTask, four.ID, "completed")
}

// A reader that is too far behind is told so, and nobody waits for it.
func TestFeedOfASlowReader(t *testing.T) {
	r := runHost(t, Flag{"ephemeral", "true"})
	slow, quick := r.events(t, r.Admin(), ""), r.events(t, r.Admin(), "")
	slow.want(t, admin.EventReadiness, "", "")
	quick.want(t, admin.EventReadiness, "", "")
	for i := range feedTail + 10 {
		r.admin.feed.reloaded(fmt.Sprint(i), "")
		if ev := quick.want(t, admin.EventConfig, "", ""); ev.Config.Because != fmt.Sprint(i) {
			t.Fatalf("got %s, want %d", doc(t, ev), i)
		}
	}
	slow.want(t, admin.EventReset, "", "")
	r.admin.feed.reloaded("news", "")
	if ev := slow.want(t, admin.EventConfig, "", ""); ev.Config.Because != "news" {
		t.Errorf("got %s", doc(t, ev))
	}
}

// The log of a task that goes on is followed to its end.
func TestAdminFollowsALog(t *testing.T) {
	r := runHost(t, Flag{"ephemeral", "true"})
	task := r.send(t, "ask")
	next, stop := iter.Pull2(r.client().FollowLog(t.Context(), task.ID, 0))
	defer stop()
	for seq := int64(1); seq <= 2; seq++ {
		if en, err, _ := next(); err != nil || en.Seq != seq {
			t.Fatalf("entry %d, %v, want %d", en.Seq, err, seq)
		}
	}
	c := r.client()
	if got, err := c.Task(t.Context(), task.ID); err != nil || got.Wait == nil || got.Wait.For != admin.WaitClient || got.Words != "ask" {
		t.Errorf("it waits for %s, %v", doc(t, got), err)
	}
	if err := c.DeleteTask(t.Context(), "none"); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("deleted %v", err)
	}
	canceled, err := c.CancelTask(t.Context(), task.ID)
	if err != nil || canceled.State != "canceled" {
		t.Fatalf("canceled %s, %v", doc(t, canceled), err)
	}
	last := int64(2)
	for {
		en, err, ok := next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if last++; en.Seq != last {
			t.Fatalf("entry %d, want %d", en.Seq, last)
		}
	}
	if last != canceled.Last {
		t.Errorf("the log ended with %d, want %d", last, canceled.Last)
	}
}

// Pages of several tenants' tasks are one list.
func TestAdminPages(t *testing.T) {
	r := runHost(t, Flag{"ephemeral", "true"})
	st, at := r.store, time.UnixMilli(1_700_000_000_000).UTC()
	want := 0
	for _, tenant := range []string{"", "a", "b", "\x1fother\x1f", "\x1fother\x1fa"} {
		for i := range 7 {
			row := store.Row{Key: store.Key{Tenant: tenant, Owner: fmt.Sprint("o", i%2), ID: fmt.Sprint(tenant, i)}, State: 3, Created: at, Updated: at.Add(time.Duration(i/2) * time.Second)}
			if err := store.Do(t.Context(), st, &store.Append{Row: row, Entries: []store.Entry{{Seq: 1, Time: at, Kind: 1, Body: []byte(`{}`)}}}); err != nil {
				t.Fatal(err)
			}
			want++
		}
	}
	ctx := both(t.Context())
	for _, size := range []int{1, 2, 3, 10, 100} {
		seen := map[string]bool{}
		var before time.Time
		for q := (admin.TaskQuery{Query: admin.Query{Limit: size}}); ; {
			page, err := r.Admin().Tasks(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if page.Total != want || len(page.Tasks) > size {
				t.Fatalf("a page of %d in all with %d tasks, want %d and %d", page.Total, len(page.Tasks), want, size)
			}
			for _, task := range page.Tasks {
				if seen[task.Name] || !before.IsZero() && task.Updated.After(before) {
					t.Fatalf("%s is twice on pages of %d, or out of order", doc(t, task.TaskKey), size)
				}
				seen[task.Name], before = true, task.Updated
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if len(seen) != want {
			t.Errorf("pages of %d have %d tasks, want %d", size, len(seen), want)
		}
	}
	for _, c := range []struct {
		q    admin.TaskQuery
		want int
	}{
		{admin.TaskQuery{Agent: new("other")}, 14}, {admin.TaskQuery{Tenant: new("a")}, 14}, {admin.TaskQuery{Tenant: new("")}, 14},
		{admin.TaskQuery{Agent: new(""), Tenant: new("b")}, 7}, {admin.TaskQuery{Owner: new("o1")}, 15}, {admin.TaskQuery{State: "failed"}, 0},
	} {
		if page, err := r.Admin().Tasks(ctx, c.q); err != nil || page.Total != c.want || len(page.Tasks) != c.want {
			t.Errorf("%+v: %d tasks, %v, want %d", c.q, page.Total, err, c.want)
		}
	}
}

// Ids that clients chose may be those of several tasks: their names tell them apart.
func TestAdminNamesTasks(t *testing.T) {
	r := runHost(t, Flag{"ephemeral", "true"})
	at := time.Now()
	for _, owner := range []string{"ann", "bob"} {
		row := store.Row{Key: store.Key{Owner: owner, ID: "order-7"}, State: 3, Created: at, Updated: at}
		if err := store.Do(t.Context(), r.store, &store.Append{Row: row, Entries: []store.Entry{{Seq: 1, Time: at, Kind: 1, Body: []byte(`{}`)}}}); err != nil {
			t.Fatal(err)
		}
	}
	ctx := both(t.Context())
	_, err := r.client().Task(ctx, "order-7")
	var e *admin.Error
	if !errors.As(err, &e) || e.Status != http.StatusConflict || !strings.Contains(e.Message, taskName(store.Key{Owner: "bob", ID: "order-7"})) {
		t.Fatalf("got %v", err)
	}
	if task, err := r.client().Task(ctx, taskName(store.Key{Owner: "bob", ID: "order-7"})); err != nil || task.Owner != "bob" {
		t.Errorf("got %s, %v", doc(t, task), err)
	}
}

// The file of this machine's token is there while the server runs, for its user alone.
func TestAdminFile(t *testing.T) {
	data := t.TempDir()
	r := runHost(t, Flag{"data", data})
	name := r.location.AdminFile()
	for {
		if _, err := os.Stat(name); err == nil {
			break
		}
		runtime.Gosched()
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s has mode %v, %v", name, info.Mode(), err)
	}
	api, l, err := admin.Find(t.Context(), name)
	if err != nil || l.URL != r.url {
		t.Fatalf("found %+v, %v", l, err)
	}
	if ready, err := api.Readiness(t.Context()); err != nil || !ready.Ready {
		t.Errorf("it is %+v, %v", ready, err)
	}
	stale, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there when the server has ended: %v", err)
	}
	if err := os.WriteFile(name, stale, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := admin.Find(t.Context(), name); !errors.Is(err, admin.ErrNoServer) {
		t.Errorf("a file that was left behind: %v", err)
	}
}

// An operator sees what there is, however many tenants have it.
func TestAdminOfManyTenants(t *testing.T) {
	r := runHost(t, Flag{"data", t.TempDir()})
	const tenants = 1200
	at := time.UnixMilli(1_700_000_000_000).UTC()
	stored := make(chan error, tenants)
	for i := range tenants {
		row := store.Row{Key: store.Key{Tenant: fmt.Sprint("t", i), Owner: "o", ID: fmt.Sprint("task-", i)}, State: int32(a2a.TaskStateCompleted), Created: at, Updated: at.Add(time.Duration(i) * time.Second)}
		if i%100 == 0 {
			row.State = int32(a2a.TaskStateInputRequired)
		}
		r.store.Append(&store.Append{Row: row, Entries: []store.Entry{{Seq: 1, Time: at, Kind: 1, Body: []byte(`{}`)}}}, func(err error) { stored <- err })
	}
	for range tenants {
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	ctx, api := both(t.Context()), r.client()
	if agents, err := api.Agents(ctx); err != nil || len(agents) != 1 || agents[0].Tasks["input-required"] != tenants/100 || len(agents[0].Tasks) != 1 {
		t.Errorf("the agents are %s, %v", doc(t, agents), err)
	}
	if task, err := api.Task(ctx, "task-700"); err != nil || task.Tenant != "t700" {
		t.Errorf("the task is %s, %v", doc(t, task), err)
	}
	if page, err := api.Tasks(ctx, admin.TaskQuery{State: "input-required"}); err != nil || page.Total != tenants/100 || len(page.Tasks) != tenants/100 {
		t.Errorf("the tasks that wait are %s, %v", doc(t, page), err)
	}
	if page, err := api.Tasks(ctx, admin.TaskQuery{}); err != nil || page.Total != tenants || len(page.Tasks) != admin.DefaultLimit || page.Tasks[0].Tenant != "t1199" || page.Next == "" {
		t.Errorf("the first page is %s, %v", doc(t, page), err)
	}
}

// crowded is a store with tasks of ever more tenants.
type crowded struct {
	database.Store
	n *int
}

func (c crowded) Tasks(context.Context, *store.Key, int) ([]store.Row, error) {
	*c.n++
	return []store.Row{{Key: store.Key{Tenant: fmt.Sprint(*c.n)}}}, nil
}

// A reader that comes back is told to read anew where there are too many tenants to look
// at: an error would meet it again each time.
func TestFeedOfManyTenants(t *testing.T) {
	a := &administration{store: crowded{n: new(int)}}
	if rows, all, err := a.since(t.Context(), time.Now()); len(rows) > 0 || all || err != nil {
		t.Errorf("%d tasks changed, all: %v, %v", len(rows), all, err)
	}
}

// Whatever comes as the id of an event is one that the feed made, or refused.
func FuzzCursor(f *testing.F) {
	for _, id := range []string{"", "1795472151813.ZPM7C7JW.1", "1.a.b", "-1.a.1", "9999999999999999.a.1", "1..1"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if c, err := parseCursor(id); err == nil && (c.n < 0 || c.at.UnixMilli() < 0 || len(c.feed) > 16) {
			t.Errorf("%q is %+v", id, c)
		}
	})
}
