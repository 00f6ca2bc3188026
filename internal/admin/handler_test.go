package admin

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// nothing is an API that returns success for every call of this test.
type nothing struct{ API }

func (nothing) Readiness(context.Context) (*Readiness, error) { return &Readiness{Ready: true}, nil }
func (nothing) Tasks(_ context.Context, q TaskQuery) (*Tasks, error) {
	return &Tasks{Next: q.After}, nil
}
func (nothing) Task(context.Context, string) (*Task, error) { return &Task{}, nil }
func (nothing) Log(_ context.Context, task string, after int64, limit int) (*Log, error) {
	return &Log{Next: after}, nil
}
func (nothing) Redeliver(_ context.Context, r Redelivery) (*Redelivered, error) {
	return &Redelivered{}, nil
}
func (nothing) Collect(context.Context, Collection) (*Collected, error)  { return &Collected{}, nil }
func (nothing) CheckSettings(context.Context, []byte) ([]Finding, error) { return nil, nil }
func (nothing) FollowLog(ctx context.Context, task string, after int64) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) { yield(LogEntry{Seq: after + 1}, nil) }
}
func (nothing) Store(context.Context) (*Store, error) { return nil, io.ErrUnexpectedEOF }

func newHandler() http.Handler {
	return New(nothing{}, Options{Identify: func(r *http.Request, _ bool) (a2a.Caller, *Error) {
		if r.Header.Get("Authorization") == "" {
			return a2a.Caller{}, Errorf(http.StatusUnauthorized, "who are you?")
		}
		return a2a.Caller{Subject: "op", Scopes: []string{a2a.ScopeAdminRead, a2a.ScopeAdminWrite}}, nil
	}, Challenges: func(int) []string { return []string{"Bearer"} }})
}

func TestHandlerRefuses(t *testing.T) {
	h := newHandler()
	for _, c := range []struct {
		method, path, body string
		header             string // name: value
		status             int
		says               string
	}{
		{"GET", "/readiness", "", "", 200, `"ready":true`},
		{"HEAD", "/readiness", "", "", 200, ""},
		{"OPTIONS", "/tasks/x", "", "", 204, ""},
		{"OPTIONS", "/tasks/x", "", "Origin: https://evil.example", 403, "other origins"},
		{"GET", "/readiness", "", "Origin: https://evil.example", 403, "other origins"},
		{"GET", "/readiness", "", "Origin: null", 403, "other origins"},
		{"GET", "/readiness", "", "Origin: http://example.com", 200, "ready"},
		{"GET", "/readiness", "", "Sec-Fetch-Site: cross-site", 403, "other origins"},
		{"GET", "/readiness", "", "Sec-Fetch-Site: same-site", 403, "other origins"},
		{"GET", "/readiness", "", "Sec-Fetch-Site: same-origin", 200, "ready"},
		{"GET", "/readiness", "", "Authorization:", 401, "who are you?"},
		{"GET", "/openapi.json", "", "Authorization:", 200, "openapi"},
		{"POST", "/readiness", "", "", 405, "use GET, HEAD"},
		{"PROPFIND", "/keys", "", "", 405, "use GET, POST, HEAD"},
		{"GET", "/", "", "", 404, "there is nothing at this path"},
		{"GET", "", "", "", 404, "there is nothing at this path"},
		{"GET", "/tasks/", "", "", 404, "there is nothing at this path"},
		{"GET", "/tasks/a/b/c", "", "", 404, "there is nothing at this path"},
		{"GET", "/store", "", "", 500, "something went wrong"},
		{"GET", "/events", "", "", 500, "something went wrong"}, // nothing panics
		{"GET", "/readiness?x=1", "", "", 400, "there are none here"},
		{"GET", "/tasks?x=1", "", "", 400, `is not a parameter of this resource; there are agent, tenant`},
		{"GET", "/tasks?limit=0", "", "", 400, `"field":"limit"`},
		{"GET", "/tasks?limit=501", "", "", 400, `"field":"limit"`},
		{"GET", "/tasks?limit=-1", "", "", 400, `"field":"limit"`},
		{"GET", "/tasks?limit=ten", "", "", 400, `"field":"limit"`},
		{"GET", "/tasks?limit=1&limit=2", "", "", 400, "is given 2 times"},
		{"GET", "/tasks?limit=500", "", "", 200, ""},
		{"GET", "/tasks?atWork=yes", "", "", 400, `"field":"atWork"`},
		{"GET", "/tasks?since=yesterday", "", "", 400, `"field":"since"`},
		{"GET", "/tasks?since=2026-11-23T15:04:05Z", "", "", 200, ""},
		{"GET", "/tasks?owner=" + strings.Repeat("x", 9000), "", "", 400, `"field":"owner"`},
		{"GET", "/tasks?a%zz", "", "", 400, `"field":"query"`},
		{"GET", "/tasks/x/log?after=-1", "", "", 400, `"field":"after"`},
		{"GET", "/tasks/x/log?after=a", "", "", 400, `"field":"after"`},
		{"GET", "/tasks/x/log?after=7", "", "", 200, `"next":7`},
		{"GET", "/tasks/x/log?after=7&follow=true", "", "", 200, "id: 8\ndata: {"},
		{"GET", "/tasks/x/log?follow=true", "", "Last-Event-ID: 4", 200, "id: 5\n"},
		{"GET", "/tasks/x/log?follow=true", "", "Last-Event-ID: four", 400, `"field":"Last-Event-ID"`},
		{"GET", "/tasks/x/log?follow=true", "", "Last-Event-ID: " + strings.Repeat("4", 300), 400, `"field":"Last-Event-ID"`},
		{"POST", "/deliveries/redeliver", `{"all":true}`, "Content-Type: application/json", 200, "letters"},
		{"POST", "/deliveries/redeliver", `{"all":true}`, "Content-Type: text/plain", 415, `"field":"Content-Type"`},
		{"POST", "/deliveries/redeliver", `{"all":true}`, "", 415, `"field":"Content-Type"`},
		{"POST", "/deliveries/redeliver", `{"every":true}`, "Content-Type: application/json", 400, `unknown field \"every\"`},
		{"POST", "/deliveries/redeliver", `{"all":1}`, "Content-Type: application/json", 400, `"field":"body"`},
		{"POST", "/deliveries/redeliver", `{} {}`, "Content-Type: application/json", 400, "nothing after it"},
		{"POST", "/deliveries/redeliver", `{}}`, "Content-Type: application/json", 400, "nothing after it"},
		{"POST", "/deliveries/redeliver", `{}]{"all":true}`, "Content-Type: application/json", 400, "nothing after it"},
		{"POST", "/deliveries/redeliver", `null`, "Content-Type: application/json", 400, `"field":"body"`},
		{"POST", "/collect", `{"states":["failed"]}`, "Content-Type: application/json", 400, `"field":"olderThan"`},
		{"POST", "/collect", `{"olderThan":null}`, "Content-Type: application/json", 400, `"field":"olderThan"`},
		{"POST", "/collect", `{"olderThan":"0s"}`, "Content-Type: application/json", 200, ""},
		{"POST", "/deliveries/redeliver", `{"task":"` + strings.Repeat("x", 1<<20) + `"}`, "Content-Type: application/json", 413, `"field":"body"`},
		{"POST", "/settings/check", `version: 1`, "Content-Type: application/yaml", 200, "[]"},
	} {
		r := httptest.NewRequest(c.method, Path+c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer x")
		if name, value, ok := strings.Cut(c.header, ":"); ok {
			if r.Header.Del(name); value != "" {
				r.Header.Set(name, strings.TrimSpace(value))
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %.60s (%.40s): %d %.200s, want %d %s", c.method, c.path, c.header, w.Code, w.Body, c.status, c.says)
		}
		if w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.60s: an error of type %s", c.method, c.path, w.Header().Get("Content-Type"))
		}
		if (w.Code == 401 || w.Code == 403) && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s %.60s: nothing says how to authenticate", c.method, c.path)
		}
		if c.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD %s has a body", c.path)
		}
		if (c.method == "OPTIONS" && w.Code == 204 || w.Code == 405) && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s: nothing says what is allowed", c.method, c.path)
		}
		if strings.Contains(w.Body.String(), "EOF") {
			t.Errorf("%s %s tells what went wrong inside: %s", c.method, c.path, w.Body)
		}
	}
}

// The OpenAPI document has every route once, and no dangling references.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
			Responses   map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(openAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	ids, n, used := map[string]bool{}, 0, map[string]bool{}
	for _, r := range routes {
		op, ok := doc.Paths[Path+r.path][strings.ToLower(r.method)]
		if !ok || ids[op.OperationID] || len(op.Responses) < 2 {
			t.Errorf("%s %s is %+v", r.method, r.path, op)
		}
		ids[op.OperationID] = true
		n++
		for _, p := range op.Parameters {
			used[p.Name] = true
			if p.In == "query" && !slices.Contains(r.params, p.Name) || p.In == "path" && !strings.Contains(r.path, "{"+p.Name+"}") {
				t.Errorf("%s %s has no parameter %s", r.method, r.path, p.Name)
			}
		}
		if r.call == nil && r.stream == nil || params == nil {
			t.Errorf("%s %s does nothing", r.method, r.path)
		}
		for _, name := range r.params {
			if params[name].kind == "" {
				t.Errorf("%s %s: the parameter %s is not in the table", r.method, r.path, name)
			}
		}
	}
	for name := range params {
		if !used[name] {
			t.Errorf("no route has the parameter %s", name)
		}
	}
	for _, ops := range doc.Paths {
		n -= len(ops)
	}
	if n != 0 {
		t.Errorf("the document has %d operations more than the table", -n)
	}
	for schema, want := range map[string]string{ // what is always there, and what is only there at times
		"Task":    "agent tenant owner id name contextId state created updated words last attempt lost epoch",
		"Wait":    "for reason",
		"NewKey":  "",
		"problem": "type title status detail",
	} {
		if got := strings.Join(doc.Components.Schemas[schema].Required, " "); got != want {
			t.Errorf("%s requires %q, want %q", schema, got, want)
		}
	}
	refs := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				refs++
				if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); !ok || doc.Components.Schemas[name].Properties == nil {
					t.Errorf("it refers to %s", ref)
				}
			}
			for _, v := range v {
				walk(v)
			}
		case []any:
			for _, v := range v {
				walk(v)
			}
		}
	}
	var all any
	if err := json.Unmarshal(openAPI(), &all); err != nil {
		t.Fatal(err)
	}
	if walk(all); refs == 0 {
		t.Error("it refers to nothing")
	}
}

// Whatever the path and the parameters are, the answer is JSON, without a panic.
func FuzzRequest(f *testing.F) {
	h := newHandler()
	f.Add("/tasks", "limit=5&owner=%41", "")
	f.Add("/tasks/a%2Fb/log", "after=3&follow=true", "7")
	f.Add("/audit", "event=call", "")
	f.Fuzz(func(t *testing.T, path, query, cursor string) {
		r := httptest.NewRequest("GET", Path+"/readiness", nil)
		u, err := url.Parse(Path + path)
		if err != nil {
			return
		}
		u.RawQuery = query
		r.URL = u
		r.Header["Authorization"], r.Header["Last-Event-Id"] = []string{"x"}, []string{cursor}
		if route, _, _ := find("GET", u.EscapedPath()); route != nil && !slices.Contains([]string{"/readiness", "/tasks", "/tasks/{task}", "/tasks/{task}/log"}, route.path) {
			return // the API of this test has no more
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") != "text/event-stream" && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s?%s: %s", path, query, w.Body)
		}
	})
}
