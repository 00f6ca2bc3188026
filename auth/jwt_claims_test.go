package auth

import (
	"slices"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestScopesAreOfTheTokenOrOfTheOperator(t *testing.T) {
	s := newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	roles := map[string][]string{"operator": {a2a.ScopeTasksReadAll, a2a.ScopeTasksRead}, "viewer": {a2a.ScopeTasksRead}}
	scope := func(v any) map[string]any { return map[string]any{"scope": v} }
	for name, c := range map[string]struct {
		o     TokenOptions
		token map[string]any
		want  []string
	}{
		"nobody says":             {TokenOptions{}, scope("admin"), a2a.OwnScopes},
		"the operator says":       {TokenOptions{Grants: []string{"tasks:read"}}, scope("tasks:write"), []string{"tasks:read"}},
		"the operator says none":  {TokenOptions{Grants: []string{}}, nil, []string{}},
		"a string":                {TokenOptions{Claims: Claims{Scopes: "scope"}}, scope("tasks:read openid  email"), []string{"email", "openid", "tasks:read"}},
		"a list":                  {TokenOptions{Claims: Claims{Scopes: "scope"}}, scope([]string{"tasks:read", "tasks:read"}), []string{"tasks:read"}},
		"an empty string":         {TokenOptions{Claims: Claims{Scopes: "scope"}}, scope(""), []string{}},
		"no claim":                {TokenOptions{Claims: Claims{Scopes: "scope"}, Grants: []string{"tasks:read"}}, nil, []string{}},
		"another claim":           {TokenOptions{Claims: Claims{Scopes: "scp"}}, scope("tasks:read"), []string{}},
		"a prefix":                {TokenOptions{Claims: Claims{Scopes: "scope", Prefix: "api://parley/"}}, scope("api://parley/tasks:read openid"), []string{"tasks:read"}},
		"a prefix of others":      {TokenOptions{Claims: Claims{Scopes: "scope", Prefix: "api://parley/"}}, scope("tasks:read:all api://other/tasks:write billing"), []string{}},
		"roles":                   {TokenOptions{Claims: Claims{Roles: "realm_access.roles", Grants: roles}}, map[string]any{"realm_access": map[string]any{"roles": []string{"operator", "offline_access"}}}, []string{"tasks:read", "tasks:read:all"}},
		"a role in a string":      {TokenOptions{Claims: Claims{Roles: "role", Grants: roles}}, map[string]any{"role": "viewer"}, []string{"tasks:read"}},
		"roles that say nothing":  {TokenOptions{Claims: Claims{Roles: "role", Grants: roles}}, map[string]any{"role": "tasks:read"}, []string{}},
		"no roles":                {TokenOptions{Claims: Claims{Roles: "role", Grants: roles}}, nil, []string{}},
		"scopes and roles add up": {TokenOptions{Claims: Claims{Scopes: "scope", Roles: "role", Grants: roles}}, map[string]any{"scope": "push:read", "role": "viewer"}, []string{"push:read", "tasks:read"}},
	} {
		got := wantGood(t, is.method(t, c.o), is.token(s, c.token))
		// Nil would mean all scopes.
		if got.Scopes == nil || !slices.Equal(got.Scopes, c.want) {
			t.Errorf("%s: %q, want %q", name, got.Scopes, c.want)
		}
	}
	for name, v := range map[string]any{"a number": 7, "a list of others": []any{"tasks:read", 7}, "an object": map[string]any{"tasks:read": true}} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, is.method(t, TokenOptions{Claims: Claims{Scopes: "scope"}}), is.token(s, scope(v)), "claim scope")
			wantRefused(t, is.method(t, TokenOptions{Claims: Claims{Roles: "scope"}}), is.token(s, scope(v)), "claim scope")
		})
	}
}

func TestTenantsAndSubjectsOfClaims(t *testing.T) {
	s := newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	for name, c := range map[string]struct {
		claim string
		token map[string]any
		want  string // "" means a refusal
	}{
		"by name":                {"tid", map[string]any{"tid": "acme"}, "acme"},
		"a URL":                  {"https://parley.example.com/tenant", map[string]any{"https://parley.example.com/tenant": "acme"}, "acme"},
		"inside":                 {"org.id", map[string]any{"org": map[string]any{"id": "acme"}}, "acme"},
		"inside, names of dots":  {"a.b.c.d", map[string]any{"a.b": map[string]any{"c.d": "acme"}}, "acme"},
		"the name before inside": {"org.id", map[string]any{"org": map[string]any{"id": "other"}, "org.id": "acme"}, "acme"},
		"missing":                {"tid", nil, ""},
		"missing inside":         {"org.id", map[string]any{"org": map[string]any{"name": "acme"}}, ""},
		"nothing to go into":     {"org.id", map[string]any{"org": "acme"}, ""},
		"empty":                  {"tid", map[string]any{"tid": ""}, ""},
		"a list":                 {"tid", map[string]any{"tid": []string{"acme"}}, ""},
		"a number":               {"tid", map[string]any{"tid": 7}, ""},
		"with a control code":    {"tid", map[string]any{"tid": "acme\x00"}, ""},
	} {
		m := is.method(t, TokenOptions{Claims: Claims{Tenant: c.claim}})
		if c.want == "" {
			t.Run(name, func(t *testing.T) { wantRefused(t, m, is.token(s, c.token), "claim "+c.claim) })
			continue
		}
		if got := wantGood(t, m, is.token(s, c.token)); got.Tenant != c.want || got.Subject != testIssuer+"#alice" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	m := is.method(t, TokenOptions{Claims: Claims{Subject: "client_id"}})
	if got := wantGood(t, m, is.token(s, map[string]any{"sub": nil, "client_id": "batch"})); got.Subject != testIssuer+"#batch" {
		t.Errorf("%+v", got)
	}
	wantRefused(t, m, is.token(s, nil), "client_id")
}
