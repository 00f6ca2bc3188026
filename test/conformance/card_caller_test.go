package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
)

// badges is a Method: a bearer token names the caller and, behind slashes, what
// it may do.
type badges struct{}

func (badges) Scheme() (string, *a2a.SecurityScheme) {
	return "badge", &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
}
func (badges) Challenge() string { return "Bearer" }
func (badges) Authenticate(r *http.Request) (*a2a.Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, nil
	}
	name, scopes, limited := strings.Cut(token, "/")
	c := &a2a.Caller{Subject: "badge:" + name}
	if limited {
		c.Scopes = strings.Split(scopes, "/")
	}
	return c, nil
}

// guarded is an agent with an extended card for callers with badges.
func guarded(t *testing.T, o *parley.Options, anonymous bool) http.Handler {
	t.Helper()
	guard, err := auth.NewGuard([]auth.Method{badges{}}, &auth.GuardOptions{Anonymous: anonymous})
	if err != nil {
		t.Fatal(err)
	}
	o.Auth, o.PublicURL = guard, public
	s, err := parley.New(a2a.AgentCard{Name: "Public", Capabilities: a2a.AgentCapabilities{ExtendedAgentCard: new(true)}}, agent.Demo(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

// extendedWays are the ways to ask for an extended card over HTTP.
var extendedWays = []struct{ name, method, path, body, version string }{
	{"JSON-RPC 1.0", "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "1.0"},
	{"JSON-RPC 0.3", "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`, "0.3"},
	{"HTTP+JSON 1.0", "GET", "/extendedAgentCard", "", "1.0"},
	{"HTTP+JSON 0.3", "GET", "/v1/card", "", "0.3"},
	{"0.2", "GET", "/agent/authenticatedExtendedCard", "", ""},
}

// extendedBy asks in each of the ways.
func extendedBy(t *testing.T, h http.Handler, token string, judge func(name string, w *httptest.ResponseRecorder, doc []byte)) {
	t.Helper()
	for _, way := range extendedWays {
		r := httptest.NewRequest(way.method, "http://evil.example.org"+way.path, strings.NewReader(way.body))
		r.Header.Set("A2A-Version", way.version)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if cc := w.Header().Get("Cache-Control"); cc != "no-store" {
			t.Errorf("%s: Cache-Control is %q: a cache would show it to others", way.name, cc)
		}
		doc := w.Body.Bytes()
		var answer struct{ Result json.RawMessage }
		if json.Unmarshal(doc, &answer) == nil && answer.Result != nil {
			doc = answer.Result
		}
		judge(way.name, w, doc)
	}
}

func skillsOf(t *testing.T, doc []byte) (ids []string) {
	t.Helper()
	var card struct{ Skills []struct{ ID string } }
	if err := json.Unmarshal(doc, &card); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	for _, s := range card.Skills {
		ids = append(ids, s.ID)
	}
	return ids
}

// Skills are for those who have the scopes that they require.
func TestExtendedCardsHaveWhatTheirCallerMayUse(t *testing.T) {
	skill := func(id string, any ...a2a.SecurityRequirement) *a2a.AgentSkill {
		return &a2a.AgentSkill{ID: id, Name: id, Description: id, Tags: []string{"x"}, SecurityRequirements: any}
	}
	key := cardKey(t, "EdDSA")
	h := guarded(t, &parley.Options{CardKeys: []*auth.Key{key}, ExtendedCard: &a2a.AgentCard{Name: "More", Skills: []*a2a.AgentSkill{
		skill("all"), skill("any", a2a.SecurityRequirement{"badge": {}}),
		skill("pay", a2a.SecurityRequirement{"badge": {"pay"}}),
		skill("both", a2a.SecurityRequirement{"badge": {"pay", "refund"}}),
		skill("either", a2a.SecurityRequirement{"badge": {"pay"}}, a2a.SecurityRequirement{"badge": {"audit"}}),
	}}}, false)
	for token, want := range map[string]string{
		"a":                            "all any",
		"b/card:read":                  "all any",
		"c/card:read/pay":              "all any pay either",
		"d/card:read/pay/refund":       "all any pay both either",
		"e/card:read/audit":            "all any either",
		"f/card:read/paying/Pay/pay/x": "all any pay either",
	} {
		extendedBy(t, h, token, func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if got := strings.Join(skillsOf(t, doc), " "); w.Code != 200 || got != want {
				t.Errorf("%s, %s: %d %s, want %s", name, token, w.Code, got, want)
			}
			verified(t, doc, key) // each of them is a card of its own
		})
	}
	// The author's card is not written to by what others get.
	extendedBy(t, h, "d/card:read/pay/refund", func(name string, _ *httptest.ResponseRecorder, doc []byte) {
		if n := len(skillsOf(t, doc)); n != 5 {
			t.Errorf("%s: %d skills", name, n)
		}
	})
}

// Where others are authenticated, nobody gets the extended card who is not, and
// learns how to be.
func TestExtendedCardsAreNotForAnybody(t *testing.T) {
	for _, anonymous := range []bool{false, true} {
		h := guarded(t, &parley.Options{ExtendedCard: &a2a.AgentCard{Name: "Secret"}}, anonymous)
		extendedBy(t, h, "", func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") || bytes.Contains(doc, []byte("Secret")) {
				t.Errorf("%s, anonymous %v: %d %v %s", name, anonymous, w.Code, w.Header(), doc)
			}
		})
		extendedBy(t, h, "x/tasks:read", func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if w.Code != 403 || !strings.Contains(w.Header().Get("WWW-Authenticate"), a2a.ScopeCardRead) || bytes.Contains(doc, []byte("Secret")) {
				t.Errorf("%s without the scope: %d %v %s", name, w.Code, w.Header(), doc)
			}
		})
	}
}

// A function can make a card for each caller, and nobody else's.
func TestExtendedCardsForEachCaller(t *testing.T) {
	key := cardKey(t, "ES256")
	h := guarded(t, &parley.Options{CardKeys: []*auth.Key{key}, ExtendedCardFor: func(_ context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
		switch c.Subject {
		case "badge:nobody":
			return nil, nil
		case "badge:broken":
			return nil, errors.New("the directory at 10.1.2.3 is down")
		case "badge:empty":
			return &a2a.AgentCard{}, nil
		}
		return &a2a.AgentCard{Name: "For " + c.Subject}, nil
	}}, false)
	for i := range 3 {
		extendedBy(t, h, fmt.Sprint("caller", i), func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if w.Code != 200 || !bytes.Contains(doc, fmt.Append(nil, "For badge:caller", i)) {
				t.Errorf("%s: %d %s", name, w.Code, doc)
			}
			verified(t, doc, key)
		})
	}
	for caller, codes := range map[string][]int{"nobody": {200, 400, 404}, "broken": {200, 500}, "empty": {200, 500}} {
		extendedBy(t, h, caller, func(name string, w *httptest.ResponseRecorder, doc []byte) {
			failed := w.Code != 200 || bytes.Contains(doc, []byte(`"error"`)) // JSON-RPC has 200 for some
			if !failed || !slices.Contains(codes, w.Code) || bytes.Contains(doc, []byte("10.1.2.3")) || bytes.Contains(doc, []byte("For ")) {
				t.Errorf("%s, %s: %d %s", caller, name, w.Code, doc)
			}
		})
	}
	_, err := parley.New(a2a.AgentCard{Name: "x"}, agent.Demo(), &parley.Options{
		ExtendedCard: new(a2a.AgentCard), ExtendedCardFor: func(context.Context, a2a.Caller) (*a2a.AgentCard, error) { return nil, nil },
	})
	if err == nil {
		t.Error("two sources of extended cards were taken")
	}
}

// Where somebody in front checks callers and does not say who they are, nothing
// is kept from them.
func TestExtendedCardsBehindSomebodyElse(t *testing.T) {
	card := a2a.AgentCard{Name: "More", Skills: []*a2a.AgentSkill{
		{ID: "pay", Name: "p", Description: "p", Tags: []string{"x"}, SecurityRequirements: []a2a.SecurityRequirement{{"k": {"pay"}}}},
	}}
	s, err := parley.New(a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{ExtendedAgentCard: new(true)}}, agent.Demo(), &parley.Options{ExtendedCard: &card})
	if err != nil {
		t.Fatal(err)
	}
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Handler().ServeHTTP(w, r.WithContext(a2a.WithCaller(r.Context(), a2a.Caller{Subject: "alice"})))
	})
	for want, h := range map[int]http.Handler{1: s.Handler(), 0: known} {
		extendedBy(t, h, "", func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if got := len(skillsOf(t, doc)); w.Code != 200 || got != want {
				t.Errorf("%s: %d skills, want %d: %s", name, got, want, doc)
			}
		})
	}
}
