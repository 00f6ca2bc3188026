package console_test

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/console"
)

// issuer signs everybody in who comes back with its state.
type issuer struct {
	redirect string
	tokens   []string
}

func (i *issuer) Name() string { return "id.example" }

func (i *issuer) Begin(_ context.Context, redirect string) (string, []byte, error) {
	i.redirect = redirect
	return "https://id.example/authorize?state=state-one", []byte("state-one"), nil
}

func (i *issuer) Finish(_ context.Context, pending []byte, query string) ([]string, error) {
	if q, err := url.ParseQuery(query); err != nil || q.Get("state") != string(pending) {
		return nil, errors.New("not the answer to this sign-in")
	}
	return i.tokens, nil
}

func TestLoginAtAnIssuer(t *testing.T) {
	id := &issuer{tokens: []string{"for-another-audience", "good"}}
	s := serveWith(t, func(o *console.Options) {
		o.Token, o.Login = "", id
		o.Viewer = func(_ *http.Request, c console.Credentials, _ bool) (a2a.Caller, error) {
			if c.Bearer != "good" {
				return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "the token is for somebody else")
			}
			return a2a.Caller{Subject: "ann", Scopes: a2a.OwnScopes}, nil
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, s, &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host == "id.example" {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
	v.has(v.get("/tasks?state=failed"), "Log in at id.example", "API key or token", `name="to" value="/tasks?state=failed"`)
	v.has(v.get("/login/back?state=state-one&code=c"), "This sign-in has expired")
	res, err := v.http.Get(s.URL + "/console/login/issuer?to=/tasks?state=failed")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "https://id.example/authorize?state=state-one" || id.redirect != s.URL+"/console/login/back" {
		t.Errorf("the browser is sent to %s, to come back to %s", res.Header.Get("Location"), id.redirect)
	}
	for _, c := range res.Cookies() {
		if strings.Contains(c.Value, "state-one") || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/console/login" {
			t.Errorf("the cookie is %s", c)
		}
	}
	v.has(v.get("/login/back?state=other&code=c"), "You are not signed in")
	v.has(v.get("/login/back?state=state-one&code=c"), "This sign-in has expired")                       // the one before used it up
	for _, to := range []string{"/tasks?" + strings.Repeat("&", 1000), "/" + strings.Repeat("é", 500)} { // browsers keep no cookie of more than 4096 bytes
		if res, err = v.http.Get(s.URL + "/console/login/issuer?to=" + url.QueryEscape(to)); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n := len(res.Header.Get("Set-Cookie")); n == 0 || n > 4096 {
			t.Errorf("on the way to %.20s the cookie has %d bytes", to, n)
		}
	}
	if res, err = v.http.Get(s.URL + "/console/login/issuer?to=/tasks?state=failed"); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res, err = v.http.Get(s.URL + "/console/login/back?state=state-one&code=c"); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.Header.Get("Refresh") != "0; url=/console/tasks?state=failed" {
		t.Errorf("the login leads to %q, %v", res.Header.Get("Refresh"), err)
	}
	v.has(string(b), "Opening the console", `href="/console/tasks?state=failed"`)
	v.has(v.get("/agents"), "ann", "Log out")
	if page := v.get("/agents"); strings.Contains(page, "Operate") {
		t.Errorf("a caller without scopes sees what is an operator's:\n%s", page)
	}
}

// A login leads to the page that was asked for, and to no other place.
func TestLoginLeadsOn(t *testing.T) {
	s := serveWith(t, func(o *console.Options) {
		o.Token, o.Viewer = "", func(_ *http.Request, c console.Credentials, _ bool) (a2a.Caller, error) {
			if c.Bearer != "good" {
				return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "the key is wrong")
			}
			return a2a.Caller{Scopes: a2a.OwnScopes}, nil
		}
	})
	for to, want := range map[string]string{
		"": "/", "/": "/", "/tasks?state=failed&since=1h": "/tasks?state=failed&since=1h", "/tasks/-/a%2Fb": "/tasks/-/a%2Fb",
		"//evil.example/x": "/", "///evil.example": "/", `/\evil.example`: "/", "https://evil.example/": "/", "javascript:alert(1)": "/", "tasks": "/",
		"/../x": "/", "/%2e%2e/x": "/", "/" + strings.Repeat("x", 2000): "/", "/x\r\nSet-Cookie: a=b": "/",
	} {
		c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		wrong, err := c.PostForm(s.URL+"/console/login", url.Values{"key": {"bad"}, "to": {to}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(wrong.Body)
		wrong.Body.Close()
		if kept := `name="to" value="` + html.EscapeString(want) + `"`; err != nil || !strings.Contains(string(b), kept) {
			t.Errorf("after a wrong key the page of %q lacks %s: %s, %v", to, kept, b, err)
		}
		res, err := c.PostForm(s.URL+"/console/login", url.Values{"key": {"good"}, "to": {to}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Location"); got != "/console"+want {
			t.Errorf("a login on the way to %q leads to %q: expected %q", to, got, "/console"+want)
		}
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{"/": "/console/login", "/tasks?state=failed": "/console/login?to=%2Ftasks%3Fstate%3Dfailed"} {
		res, err := c.Get(s.URL + "/console" + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("without a session %s leads to %q: expected %q", path, got, want)
		}
	}
}

// A sign-in that is under way is no session, and a token that fits no cookie makes none.
func TestNoSessionOfOtherCookies(t *testing.T) {
	id := &issuer{tokens: []string{strings.Repeat("x", 5000)}}
	s := serveWith(t, func(o *console.Options) {
		o.Token, o.Login = "", id
		o.Viewer = func(*http.Request, console.Credentials, bool) (a2a.Caller, error) {
			return a2a.Caller{Subject: "ann"}, nil
		}
	})
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func(path string, cookies ...*http.Cookie) *http.Response {
		r, err := http.NewRequest(http.MethodGet, s.URL+"/console"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	begun := do("/login/issuer").Cookies()
	if len(begun) != 1 {
		t.Fatalf("there are %d cookies", len(begun))
	}
	if res := do("/agents", &http.Cookie{Name: "parley-console", Value: begun[0].Value}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a sign-in under way is a session: %s", res.Status)
	}
	if res := do("/login/back?state=state-one", begun[0]); res.StatusCode != http.StatusForbidden {
		t.Errorf("a token that is too long: %s", res.Status)
	}
}

// A viewer who may only read has no form that would be refused.
func TestAViewerWhoMayOnlyRead(t *testing.T) {
	as := a2a.Caller{Scopes: a2a.OwnScopes}
	s := serveWith(t, func(o *console.Options) {
		o.Token, o.Viewer = "", func(*http.Request, console.Credentials, bool) (a2a.Caller, error) { return as, nil }
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, s, &http.Client{Jar: jar}}
	if _, err := v.http.PostForm(s.URL+"/console/login", url.Values{"key": {"k"}}); err != nil {
		t.Fatal(err)
	}
	page := v.post("/chat/-", map[string]string{"text": "ask+Which+city"})
	task := regexp.MustCompile(`/tasks/-/[0-9a-f-]+`).FindString(page)
	context := regexp.MustCompile(`name="context" value="([^"]+)"`).FindStringSubmatch(page)
	if task == "" || context == nil {
		t.Fatalf("there is no task:\n%s", page)
	}
	paths := []string{"/chat/-?context=" + context[1], task, task + "?view=wire", "/inbox"}
	for _, path := range paths {
		if page := v.get(path); strings.Count(page, `method="post"`) < 2 {
			t.Errorf("%s has no form for an owner who may write:\n%s", path, page)
		}
	}
	as.Scopes = []string{a2a.ScopeTasksRead}
	for _, path := range paths {
		page := v.get(path)
		v.has(page, "Which city")
		if strings.Count(page, `method="post"`) != 1 { // to log out
			t.Errorf("%s has a form for a viewer who may only read:\n%s", path, page)
		}
	}
	as.Scopes = []string{a2a.ScopeMetricsRead} // all that leads on from here is another key
	v.has(v.get("/"), "You may not do that", "Your credentials lack the scope tasks:read", `href="/console/login"`)
	if page := v.get("/agents"); strings.Contains(page, "/console/inbox") {
		t.Errorf("a viewer who sees no tasks is led to the inbox:\n%s", page)
	}
}
