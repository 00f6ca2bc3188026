package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// headerMethod lets in the caller named in its header: "wrong" is wrong, "once" was
// good once, and "broken" cannot be checked.
type headerMethod struct {
	name, challenge string
	ran             chan struct{}
}

func (m *headerMethod) Scheme() (string, *a2a.SecurityScheme) {
	return m.name, &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: m.name}}
}

func (m *headerMethod) Challenge() string { return m.challenge }

func (m *headerMethod) Authenticate(r *http.Request) (*a2a.Caller, error) {
	switch v := r.Header.Get(m.name); v {
	case "":
		return nil, nil
	case "wrong":
		return nil, fmt.Errorf("%w: a text for operators", ErrCredentials)
	case "once":
		return nil, outdated("it has expired")
	case "foreign":
		return nil, errElsewhere
	case "broken":
		return nil, errors.New("a disk of ours is broken")
	case "gone":
		return nil, r.Context().Err()
	default:
		return &a2a.Caller{Subject: m.name + ":" + v}, nil
	}
}

func (m *headerMethod) Run(ctx context.Context) error {
	if m.ran != nil {
		m.ran <- struct{}{}
	}
	<-ctx.Done()
	return nil
}

// request returns a request with headers, given as name, value, name, value, …
func request(headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func mustGuard(t testing.TB, o *GuardOptions, methods ...Method) *Guard {
	t.Helper()
	g, err := NewGuard(methods, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// codeOf returns the code of an error of a guard, which is always one of a2a.
func codeOf(t testing.TB, err error) *a2a.Error {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error for callers: %v", err)
	}
	return e
}

func TestGuardTakesAlternatives(t *testing.T) {
	one, two := &headerMethod{name: "One"}, &headerMethod{name: "Two"}
	strict := mustGuard(t, nil, one, two)
	open := mustGuard(t, &GuardOptions{Anonymous: true}, one, two)
	for _, c := range []struct {
		name    string
		headers []string
		subject string
		code    a2a.Code // without a subject
		open    string   // how open decides, where not as strict: "" for anonymous
	}{
		{"nothing", nil, "", a2a.CodeUnauthenticated, "anonymous"},
		{"the first", []string{"One", "a"}, "One:a", 0, ""},
		{"the second", []string{"Two", "b"}, "Two:b", 0, ""},
		{"both", []string{"Two", "b", "One", "a"}, "One:a", 0, ""},
		{"wrong", []string{"One", "wrong"}, "", a2a.CodeUnauthenticated, ""},
		{"wrong beside a good one", []string{"One", "a", "Two", "wrong"}, "", a2a.CodeUnauthenticated, ""},
		{"wrong before a good one", []string{"One", "wrong", "Two", "b"}, "", a2a.CodeUnauthenticated, ""},
		{"outdated", []string{"Two", "once"}, "", a2a.CodeUnauthenticated, ""},
		{"for somebody else", []string{"One", "foreign"}, "", a2a.CodeUnauthenticated, ""},
		{"for somebody else, but not for all", []string{"One", "foreign", "Two", "b"}, "Two:b", 0, ""},
		{"cannot be said", []string{"One", "broken"}, "", a2a.CodeUnavailable, ""},
		{"cannot be said, of the second", []string{"One", "a", "Two", "broken"}, "", a2a.CodeUnavailable, ""},
		{"an unknown scheme", []string{"Authorization", "Digest username=x"}, "", a2a.CodeUnauthenticated, ""},
		{"an unknown scheme beside a good key", []string{"Authorization", "Digest username=x", "One", "a"}, "One:a", 0, ""},
		{"an empty header", []string{"Authorization", ""}, "", a2a.CodeUnauthenticated, ""},
	} {
		for _, g := range []*Guard{strict, open} {
			caller, err := g.Authenticate(request(c.headers...))
			subject, code := c.subject, c.code
			if g.Anonymous() && c.open == "anonymous" {
				code = 0
			}
			if caller.Subject != subject || (err != nil) != (code != 0) || err != nil && codeOf(t, err).Code != code {
				t.Errorf("%s: %+v, %v", c.name, caller, err)
			}
			if err != nil {
				if text := codeOf(t, err).Message; strings.Contains(text, "operators") || strings.Contains(text, "disk") {
					t.Errorf("%s: the caller hears %q", c.name, text)
				}
			}
		}
	}
}

func TestGuardOfACallerWhoLeft(t *testing.T) {
	g := mustGuard(t, nil, &headerMethod{name: "One"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Authenticate(request("One", "gone").WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestGuardChallenges(t *testing.T) {
	g := mustGuard(t, &GuardOptions{Realm: "here"},
		&headerMethod{name: "silent"},
		&headerMethod{name: "b1", challenge: "Bearer"},
		&headerMethod{name: "basic", challenge: `Basic charset="UTF-8"`},
		&headerMethod{name: "b2", challenge: `Bearer realm="elsewhere"`},
		&headerMethod{name: "own", challenge: `Own realm="mine", x=1`},
	)
	for _, c := range []struct {
		name string
		err  *a2a.Error
		want []string
	}{
		{"without credentials", &a2a.Error{Code: a2a.CodeUnauthenticated},
			[]string{`Bearer realm="here"`, `Basic realm="here", charset="UTF-8"`, `Own realm="mine", x=1`}},
		{"with wrong ones", &a2a.Error{Code: a2a.CodeUnauthenticated, Cause: refuse("wrong")},
			[]string{`Bearer realm="here", error="invalid_token"`, `Basic realm="here", charset="UTF-8"`, `Own realm="mine", x=1`}},
		{"without a scope", &a2a.Error{Code: a2a.CodePermissionDenied, Meta: map[string]string{"scope": "tasks:read"}},
			[]string{`Bearer realm="here", error="insufficient_scope", scope="tasks:read"`}},
		{"denied for another reason", &a2a.Error{Code: a2a.CodePermissionDenied}, nil},
	} {
		if got := g.Challenges(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if _, err := NewGuard([]Method{&headerMethod{}}, &GuardOptions{Realm: "a\" b"}); err == nil {
		t.Error("a realm that breaks out of its quotes")
	}
}

func TestGuardDeclares(t *testing.T) {
	methods := []Method{&headerMethod{name: "One"}, &headerMethod{name: "Two"}}
	for _, anonymous := range []bool{false, true} {
		card := &a2a.AgentCard{}
		g := mustGuard(t, &GuardOptions{Anonymous: anonymous}, methods...)
		if err := g.Declare(card); err != nil {
			t.Fatal(err)
		}
		want := 2
		if anonymous {
			want = 3
			if len(card.SecurityRequirements[2]) != 0 {
				t.Errorf("nobody is %v", card.SecurityRequirements[2])
			}
		}
		if len(card.SecuritySchemes) != 2 || card.SecuritySchemes["Two"].APIKey.Name != "Two" || len(card.SecurityRequirements) != want {
			t.Errorf("the card says %v, %v", card.SecuritySchemes, card.SecurityRequirements)
		}
		for i, name := range []string{"One", "Two"} {
			if scopes, ok := card.SecurityRequirements[i][name]; !ok || scopes == nil || len(scopes) != 0 {
				t.Errorf("requirement %d is %v", i, card.SecurityRequirements[i])
			}
		}
		if err := g.Declare(card); err == nil {
			t.Error("a card with schemes of its own")
		}
	}
	if _, err := NewGuard(nil, nil); err == nil {
		t.Error("a guard without a method")
	}
	if _, err := NewGuard([]Method{methods[0], methods[0]}, nil); err == nil || !strings.Contains(err.Error(), "One") {
		t.Errorf("two of one name: %v", err)
	}
}

func TestGuardRunsMethods(t *testing.T) {
	ran := make(chan struct{})
	g := mustGuard(t, nil, &headerMethod{name: "One", ran: ran}, NewKeys(&vault{}, nil), &headerMethod{name: "Two", ran: ran})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	<-ran
	<-ran
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A caller that keeps sending wrong keys has to wait, unless its keys are outdated:
// then it is told so; callers with good keys do not notice.
func TestGuardSlowsDownWrongCredentials(t *testing.T) {
	now := time.Now()
	g := mustGuard(t, &GuardOptions{Failures: 3, Now: func() time.Time { return now }}, &headerMethod{name: "One"})
	from := func(address string, headers ...string) error {
		r := request(headers...)
		r.RemoteAddr = address
		_, err := g.Authenticate(r)
		return err
	}
	for i := range 3 {
		if e := codeOf(t, from("192.0.2.1:1000", "One", "wrong")); e.Code != a2a.CodeUnauthenticated {
			t.Errorf("failure %d: %v", i, e)
		}
	}
	e := codeOf(t, from("192.0.2.1:1001", "One", "wrong"))
	if e.Code != a2a.CodeRateLimited || e.RetryAfter != time.Second || !errors.Is(e, ErrCredentials) {
		t.Errorf("one more: %v after %v", e, e.RetryAfter)
	}
	if err := from("192.0.2.1:1001", "One", "good"); err != nil {
		t.Errorf("a good one from there: %v", err)
	}
	if e := codeOf(t, from("192.0.2.1:1001", "One", "once")); e.Code != a2a.CodeUnauthenticated || !strings.Contains(e.Message, "expired") {
		t.Errorf("an outdated one from there: %v", e)
	}
	if e := codeOf(t, from("192.0.2.1:1001")); e.Code != a2a.CodeUnauthenticated {
		t.Errorf("without any: %v", e)
	}
	if e := codeOf(t, from("192.0.2.2:1001", "One", "wrong")); e.Code != a2a.CodeUnauthenticated {
		t.Errorf("from elsewhere: %v", e)
	}
	for range 20 {
		if e := codeOf(t, from("192.0.2.3:1", "One", "once")); e.Code != a2a.CodeUnauthenticated {
			t.Errorf("a caller that does not guess has to wait: %v", e)
		}
	}
	now = now.Add(time.Second)
	if e := codeOf(t, from("192.0.2.1:1001", "One", "wrong")); e.Code != a2a.CodeUnauthenticated {
		t.Errorf("after a second: %v", e)
	}
	if e := codeOf(t, from("192.0.2.1:1001", "One", "wrong")); e.RetryAfter != 2*time.Second {
		t.Errorf("the next time: %v after %v", e, e.RetryAfter)
	}
}

// While a caller has to wait its passwords are not compared, right or wrong; its keys
// are.
func TestGuardLooksAtNoPasswordMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := NewKeys(&vault{}, nil)
		token, _, err := keys.Create(t.Context(), KeySpec{Subject: "s"})
		if err != nil {
			t.Fatal(err)
		}
		basic := mustBasic(t, line(t, "ann", "right"), line(t, "bob", "right"))
		g := mustGuard(t, &GuardOptions{Failures: 3}, keys, basic)
		try := func(address, user, password string) error {
			r := request()
			r.SetBasicAuth(user, password)
			r.RemoteAddr = address
			_, err := g.Authenticate(r)
			return err
		}
		const home, attacker, third = "192.0.2.1:1", "[2001:db8::1]:1", "198.51.100.7:1"
		if err := try(home, "ann", "right"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if e := codeOf(t, try(attacker, "ann", "guess")); e.Code != a2a.CodeUnauthenticated {
				t.Fatal(e)
			}
		}
		for what, err := range map[string]error{
			"the right password, found by guessing":     try(attacker, "ann", "right"),
			"from the next address of the same network": try("[2001:db8::2]:1", "bob", "right"),
			"from another network, for the same user":   try(third, "ann", "right"),
			"for somebody who does not exist":           try(attacker, "nobody", "x"),
		} {
			if e := codeOf(t, err); e.Code != a2a.CodeRateLimited || e.RetryAfter != time.Second {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := try(home, "ann", "right"); err != nil {
			t.Errorf("the user is locked out at home: %v", err)
		}
		if err := try(third, "bob", "right"); err != nil {
			t.Errorf("another user elsewhere: %v", err)
		}
		r := request(KeyHeader, token.Reveal())
		r.RemoteAddr = attacker
		if c, err := g.Authenticate(r); err != nil || c.Subject != "key:s" {
			t.Errorf("a key from the attacker's address: %v", err)
		}
		time.Sleep(time.Second)
		if err := try(third, "ann", "right"); err != nil {
			t.Errorf("after a second: %v", err)
		}

		// A guess from an address with successful logins is still a guess.
		for range 3 {
			if e := codeOf(t, try(home, "ann", "guess")); e.Code != a2a.CodeUnauthenticated {
				t.Fatal(e)
			}
		}
		if e := codeOf(t, try(home, "ann", "right")); e.Code != a2a.CodeRateLimited {
			t.Errorf("at home: %v", e)
		}
		if err := try(home, "bob", "right"); err != nil {
			t.Errorf("a caller from the same address: %v", err)
		}
	})
}

// No error repeats the credentials that a client sent, neither to it nor to
// operators.
func TestGuardErrorsHaveNoSecrets(t *testing.T) {
	const planted = "pLaNtEd"
	keys := NewKeys(&vault{}, nil)
	token, key, err := keys.Create(t.Context(), KeySpec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	g := mustGuard(t, &GuardOptions{Failures: -1}, keys, mustBasic(t, line(t, "ann", "right")))
	basic := request()
	basic.SetBasicAuth("ann", planted)
	user := request()
	user.SetBasicAuth(planted, planted)
	long := request()
	long.SetBasicAuth(planted, strings.Repeat(planted, 20))
	for _, r := range []*http.Request{
		basic, user, long,
		request(KeyHeader, planted), request(KeyHeader, "parley_"+planted), request(KeyHeader, token.Reveal()),
		request(KeyHeader, newToken("abcdefghij")), request(KeyHeader, planted, KeyHeader, "b"),
		request("Authorization", "Bearer "+token.Reveal()), request("Authorization", "Bearer "+planted), request("Authorization", "Bearer é"+planted),
		request("Authorization", "Bearer parley_"+planted), request("Authorization", planted), request("Authorization", planted+" "+planted),
		request("Authorization", "Basic "+planted), request("Authorization", "Basic "+planted+"="), request("Authorization", planted, "Authorization", planted),
		request("Authorization", strings.Repeat(planted, 10000)),
	} {
		_, err := g.Authenticate(r)
		e := codeOf(t, err)
		if e.Code != a2a.CodeUnauthenticated {
			t.Errorf("%v: %v", r.Header, err)
		}
		_, secret, _ := strings.Cut(strings.TrimPrefix(token.Reveal(), tokenPrefix), "_")
		for _, s := range []string{planted, secret} {
			if strings.Contains(fmt.Sprintf("%v %+v %s", err, e, strings.Join(g.Challenges(e), "")), s) {
				t.Errorf("an error has what was sent: %v", err)
			}
		}
	}
}

// A guard that replaces another one, as when a server is reloaded, keeps callers that
// have guessed waiting, but none with successful logins from the same address.
func TestGuessesOutliveTheirGuard(t *testing.T) {
	path := usersFile(t, line(t, "ann", "secret"))
	basic, err := NewBasic(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := mustGuard(t, nil, basic)
	if _, err := before.Authenticate(login("ann", "secret")); err != nil {
		t.Fatal(err)
	}
	for range 11 {
		_, _ = before.Authenticate(login("eve", "guess"))
	}
	next := mustGuard(t, nil, basic)
	next.Inherit(before)
	if _, err := next.Authenticate(login("eve", "guess")); codeOf(t, err).Code != a2a.CodeRateLimited {
		t.Errorf("one more guess: %v", err)
	}
	if _, err := next.Authenticate(login("ann", "secret")); err != nil {
		t.Errorf("who is at home: %v", err)
	}
}
