package conformance

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// records is an audit log that is kept.
type records struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

// with returns the records that have all of some texts.
func (r *records) with(texts ...string) (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.log.String()) {
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(line, s) }) {
			found = append(found, line)
		}
	}
	return found
}

// pairs are headers as calls take them.
func (c proof) pairs(more ...string) (all []string) {
	for name, value := range c.header {
		all = append(all, name, value)
	}
	return append(all, more...)
}

// turned is a call that is refused at the door: over JSON-RPC before anybody knows
// the request's id.
func (w *wire) turned(t *testing.T, op string, params any, headers ...string) answer {
	t.Helper()
	if w.binding != jsonrpc {
		return w.call(t, op, params, headers...)
	}
	return w.do(t, w.request(t.Context(), op, params, headers), nil)
}

// TestConformanceIdentity is about callers with names; that nobody reaches what
// is another's is TestNobodyReachesWhatIsAnothers, for more ways to ask.
func TestConformanceIdentity(t *testing.T) {
	t.Parallel()
	st := store.NewMemory()
	at, guard := newOffice(t, st, false, "paul:")
	audit := new(records)
	card := agent.DemoCard()
	card.Capabilities.ExtendedAgentCard = new(true)
	extended := card
	extended.Skills = append(slices.Clone(card.Skills), &a2a.AgentSkill{ID: "hidden", Name: "hidden", Description: "for some", Tags: []string{"hidden"},
		SecurityRequirements: []a2a.SecurityRequirement{{"apiKey": {"skills:hidden"}}}})
	url := start(t, card, agent.Demo(), &parley.Options{
		Store: st, Auth: guard, ExtendedCard: &extended, Audit: slog.New(slog.NewJSONHandler(audit, nil)),
	})
	alice, bob := at.key("alice", ""), at.token("bob", "")
	reader := at.key("reader", "", a2a.ScopeTasksRead)
	calls := func(id string) map[string]obj {
		return map[string]obj{
			"SendMessage":                      {"message": say("x", "taskId", id)},
			"SendStreamingMessage":             {"message": say("x", "taskId", id)},
			"GetTask":                          {"id": id},
			"ListTasks":                        {"contextId": id},
			"CancelTask":                       {"id": id},
			"SubscribeToTask":                  {"id": id},
			"CreateTaskPushNotificationConfig": {"taskId": id, "url": "https://example.com/hook"},
			"GetTaskPushNotificationConfig":    {"taskId": id, "id": "config"},
			"ListTaskPushNotificationConfigs":  {"taskId": id},
			"DeleteTaskPushNotificationConfig": {"taskId": id, "id": "config"},
			"GetExtendedAgentCard":             {},
		}
	}
	denied := func(t *testing.T, w *wire, a answer, what, reason, status string, code int) {
		t.Helper()
		switch {
		case a.fault == nil:
			t.Fatalf("%s is answered with %d %s", what, a.status, a.body)
		case a.fault.reason() != reason:
			t.Errorf("%s: reason %q, want %q: %s", what, a.fault.reason(), reason, a.body)
		case w.binding != jsonrpc && a.fault.status != status:
			t.Errorf("%s: status %q, want %q", what, a.fault.status, status)
		case w.binding != grpcBinding && a.status != code:
			t.Errorf("%s: HTTP %d, want %d", what, a.status, code)
		}
	}
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			w := dial(t, binding, url)
			sent := w.ok(t, "SendMessage", obj{"message": say("ask")}, alice.pairs()...)
			id, conversation := text(sent, "task.id"), text(sent, "task.contextId")

			t.Run("R-053 R-073 R-162 R-182 R-268 whoever has no good credentials may nothing", func(t *testing.T) {
				for what, c := range map[string]proof{
					"no credentials": {}, "a revoked key": at.revoked("alice", ""), "an expired token": at.token("alice", "", "exp", 1),
					"a token for others": at.token("alice", "", "aud", "others"), "a wrong password": login("paul", "wrong"),
				} {
					for op, p := range calls(id) {
						denied(t, w, w.turned(t, op, p, c.pairs()...), op+" with "+what, "UNAUTHENTICATED", "UNAUTHENTICATED", 401)
					}
				}
				w.ok(t, "ListTasks", obj{}, login("paul", password).pairs()...)
			})
			t.Run("R-074 R-183 the refusal says how to authenticate", func(t *testing.T) {
				a := w.turned(t, "ListTasks", obj{})
				all := strings.Join(a.header.Values("Www-Authenticate"), ", ")
				for _, scheme := range []string{"Bearer", "Basic"} {
					if !strings.Contains(all, scheme) {
						t.Errorf("the challenges are %q, without %s", all, scheme)
					}
				}
			})
			t.Run("R-075 R-076 R-183 whoever lacks a scope is told which", func(t *testing.T) {
				w.ok(t, "ListTasks", obj{}, reader.pairs()...)
				for op, scope := range map[string]string{
					"SendMessage": "tasks:write", "SendStreamingMessage": "tasks:write", "CancelTask": "tasks:write", "GetTaskPushNotificationConfig": "push:read",
					"ListTaskPushNotificationConfigs": "push:read", "CreateTaskPushNotificationConfig": "push:write",
					"DeleteTaskPushNotificationConfig": "push:write", "GetExtendedAgentCard": "card:read",
				} {
					a := w.call(t, op, calls(id)[op], reader.pairs()...)
					denied(t, w, a, op, "PERMISSION_DENIED", "PERMISSION_DENIED", 403)
					if !strings.Contains(a.fault.message, scope) || strings.Contains(compact(a.fault.details), id) {
						t.Errorf("%s without %s: %s", op, scope, a.body)
					}
					if all := strings.Join(a.header.Values("Www-Authenticate"), ", "); len(a.header) > 0 && !strings.Contains(all, `scope="`+scope+`"`) {
						t.Errorf("%s without %s: the challenges are %q", op, scope, all)
					}
				}
			})
			t.Run("R-024 R-027 R-258 lists have what is the caller's own, whatever the filter", func(t *testing.T) {
				for _, p := range []obj{{}, {"contextId": conversation}, {"status": "TASK_STATE_INPUT_REQUIRED"}} {
					equal(t, "tasks of another", in(w.ok(t, "ListTasks", p, bob.pairs()...), "totalSize"), 0)
				}
				equal(t, "tasks of her own", in(w.ok(t, "ListTasks", obj{"contextId": conversation}, alice.pairs()...), "totalSize"), 1)
			})
			t.Run("R-077 R-081 R-257 R-259 R-260 another's task and none are answered alike", func(t *testing.T) {
				const unknown = "00000000-0000-4000-8000-000000000000"
				for op := range calls(id) {
					if op == "ListTasks" || op == "GetExtendedAgentCard" {
						continue // they name no task
					}
					theirs := w.call(t, op, calls(id)[op], bob.pairs()...)
					absent := w.call(t, op, calls(unknown)[op], bob.pairs()...)
					w.wantFault(t, theirs, "TASK_NOT_FOUND", op)
					for what, pair := range map[string][2]any{
						"body": {string(theirs.body), string(absent.body)}, "message": {theirs.fault.message, absent.fault.message},
						"details": {theirs.fault.details, absent.fault.details},
					} {
						equal(t, op+": the "+what, strings.ReplaceAll(compact(pair[0]), id, unknown), strings.ReplaceAll(compact(pair[1]), id, unknown))
					}
				}
				equal(t, "the task afterwards", w.ok(t, "GetTask", obj{"id": id}, alice.pairs()...), in(sent, "task"))
			})
			t.Run("R-268 R-283 the extended card is for those who may see it", func(t *testing.T) {
				skill := func(c proof) bool {
					return strings.Contains(compact(w.ok(t, "GetExtendedAgentCard", obj{}, c.pairs()...)), `"hidden"`)
				}
				if skill(alice) {
					t.Error("a skill is shown to a caller that lacks its scope")
				}
				if !skill(at.key("insider", "", a2a.ScopeCardRead, "skills:hidden")) {
					t.Error("a skill is not shown to a caller that has its scope")
				}
			})
			t.Run("R-238 credentials for a tenant are for no other", func(t *testing.T) {
				member := at.token("member", "blue")
				mine := text(w.ok(t, "SendMessage", obj{"tenant": "blue", "message": say("ask")}, member.pairs()...), "task.id")
				w.ok(t, "GetTask", obj{"id": mine}, member.pairs()...)
				denied(t, w, w.call(t, "GetTask", obj{"tenant": "red", "id": mine}, member.pairs()...), "another tenant", "PERMISSION_DENIED", "PERMISSION_DENIED", 403)
				w.refused(t, "TASK_NOT_FOUND", "GetTask", obj{"tenant": "blue", "id": mine}, alice.pairs()...)
			})
		})
	}
	t.Run("R-151 R-162 the card has the schemes that are checked, each of one kind", func(t *testing.T) {
		doc := dial(t, rest, url).fetch(t, cardPath, "A2A-Version", "1.0")
		var c struct {
			SecuritySchemes      map[string]map[string]map[string]any
			SecurityRequirements []struct {
				Schemes map[string]any
			}
		}
		if err := json.Unmarshal(doc.body, &c); err != nil {
			t.Fatalf("%v: %s", err, doc.body)
		}
		required := map[string][]string{
			"apiKeySecurityScheme": {"location", "name"}, "httpAuthSecurityScheme": {"scheme"}, "mtlsSecurityScheme": {},
		}
		if len(c.SecuritySchemes) != 5 || len(c.SecurityRequirements) != 5 {
			t.Errorf("%d schemes, %d requirements, want 5", len(c.SecuritySchemes), len(c.SecurityRequirements))
		}
		for name, variants := range c.SecuritySchemes {
			if len(variants) != 1 {
				t.Errorf("%s has %d variants", name, len(variants))
			}
			for kind, members := range variants {
				must, known := required[kind]
				if !known {
					t.Errorf("%s is of the kind %s", name, kind)
				}
				for _, m := range must {
					if members[m] == nil || members[m] == "" {
						t.Errorf("%s has no %s", name, m)
					}
				}
			}
		}
		for _, r := range c.SecurityRequirements {
			for name := range r.Schemes {
				if c.SecuritySchemes[name] == nil {
					t.Errorf("the scheme %s is required and not there", name)
				}
			}
		}
	})
	t.Run("R-274 who was let in, and who was not, is recorded without secrets", func(t *testing.T) {
		if got := audit.with(`"GetTask"`, "key:alice"); len(got) == 0 {
			t.Error("no call of hers is recorded")
		}
		if got := audit.with("UnauthenticatedError"); len(got) == 0 {
			t.Error("no refusal is recorded")
		}
		for _, c := range []proof{alice, bob, login("paul", password)} {
			for _, value := range c.header {
				if got := audit.with(value[strings.IndexByte(value, ' ')+1:]); len(got) > 0 {
					t.Errorf("credentials are recorded: %s", got[0])
				}
			}
		}
	})
}

// TestConformanceRates asks too often, and guesses.
func TestConformanceRates(t *testing.T) {
	t.Parallel()
	wait := func(t *testing.T, w *wire, n int, headers ...string) {
		t.Helper()
		last := w.turned(t, "ListTasks", obj{}, headers...)
		for range n - 1 {
			last = w.turned(t, "ListTasks", obj{}, headers...)
		}
		if last.fault == nil || last.fault.reason() != "RATE_LIMITED" {
			t.Fatalf("the call %d is answered with %d %s", n, last.status, last.body)
		}
		if w.binding == grpcBinding {
			equal(t, "the status", last.fault.status, "RESOURCE_EXHAUSTED")
			return
		}
		equal(t, "the status", last.status, 429)
		if last.header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
	}
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Run("R-273 too many requests are refused, with the time to wait", func(t *testing.T) {
				w := dial(t, binding, start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Limits: a2aserver.Limits{Rate: 1e-3, Burst: 3}}))
				for range 3 {
					w.ok(t, "ListTasks", obj{})
				}
				wait(t, w, 1)
			})
			t.Run("R-274 who guesses has to wait", func(t *testing.T) {
				guard, err := auth.NewGuard([]auth.Method{auth.NewKeys(store.NewMemory(), nil)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Auth: guard})
				wait(t, dial(t, binding, url), 12, auth.KeyHeader, "parley_a_guess")
			})
		})
	}
}

// TestConformanceHSTS looks at what a browser is told over TLS.
func TestConformanceHSTS(t *testing.T) {
	t.Parallel()
	server, client := newAuthority(t).server(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, tls.NewListener(l, server), agent.DemoCard(), agent.Demo(), nil)
	t.Run("R-272 over TLS browsers are told to stay there", func(t *testing.T) {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: client}}
		defer c.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+l.Addr().String()+cardPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "agent.example.com" // browsers keep it for names only
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("Strict-Transport-Security"); !strings.Contains(got, "max-age=") {
			t.Errorf("Strict-Transport-Security is %q", got)
		}
	})
}
