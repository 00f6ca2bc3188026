package auth

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// A long call is authenticated again: it ends when its key, user, password or
// other credential ends, and the check does not count as guessing.
func TestGuardRefusesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		keys := NewKeys(v, nil)
		token, key := mustCreate(t, keys, KeySpec{})
		path := usersFile(t, line(t, "ann", "secret"), line(t, "eve", "secret"))
		basic, err := NewBasic(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		g := mustGuard(t, &GuardOptions{Failures: 1, Anonymous: true}, keys, basic, &headerMethod{name: "X-Other"})
		other := request("X-Other", "a")
		all := []*http.Request{request(KeyHeader, token), login("ann", "secret"), login("eve", "secret"), other, request()}
		for i, r := range all {
			first, err := g.Authenticate(r)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			if again, err := g.Again(r); err != nil || !reflect.DeepEqual(again, first) {
				t.Errorf("request %d: %+v, %v, was %+v", i, again, err, first)
			}
		}
		if _, err := keys.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		writeUsers(t, path, line(t, "ben", "secret"), line(t, "eve", "another"))
		other.Header.Set("X-Other", "once") // good once, like an expired token
		time.Sleep(2 * time.Second)
		for range 3 {
			for i, r := range all {
				_, err := g.Again(r)
				if (err != nil) != (i < 4) {
					t.Errorf("request %d: %v", i, err)
				}
				if err == nil {
					continue
				}
				if e := codeOf(t, err); e.Code != a2a.CodeUnauthenticated || !strings.Contains(e.Message, "no longer valid: ") {
					t.Errorf("request %d: %v", i, err)
				}
			}
		}
		if _, err := g.Authenticate(login("ben", "secret")); err != nil {
			t.Errorf("another user at the same address: %v", err)
		}
	})
}

// A caller that cannot be checked at the moment is not refused.
func TestGuardAgainWithoutAnAnswer(t *testing.T) {
	g := mustGuard(t, nil, &headerMethod{name: "X-Other"})
	for value, code := range map[string]a2a.Code{"broken": a2a.CodeUnavailable, "wrong": a2a.CodeUnauthenticated, "foreign": a2a.CodeUnauthenticated} {
		if _, err := g.Again(request("X-Other", value)); codeOf(t, err).Code != code {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// A password that was right is not compared again while nothing changes: for thousands
// of streams that would cost too much.
func TestGuardAgainComparesNoPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		basic, err := NewBasic(usersFile(t, line(t, "ann", "secret")), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := mustGuard(t, nil, basic)
		r := login("ann", "secret")
		if _, err := g.Authenticate(r); err != nil {
			t.Fatal(err)
		}
		compared := func() string { return fmt.Sprint(basic.verify.good) } // has the time of the comparison
		before := compared()
		time.Sleep(10 * goodFor)
		if _, err := g.Again(r); err != nil {
			t.Error(err)
		}
		if compared() != before {
			t.Error("the password was compared again")
		}
		if _, err := g.Authenticate(r); err != nil {
			t.Error(err)
		}
		if compared() == before {
			t.Error("a new request did not have it compared")
		}
	})
}

// anybody is a Method that lets in every caller with X-Name under that name, even an
// empty one.
type anybody struct{}

func (anybody) Scheme() (string, *a2a.SecurityScheme) {
	return "anybody", &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X-Name"}}
}

func (anybody) Challenge() string { return "" }

func (anybody) Authenticate(r *http.Request) (*a2a.Caller, error) {
	if len(r.Header["X-Name"]) == 0 {
		return nil, nil
	}
	return &a2a.Caller{Subject: r.Header.Get("X-Name"), Tenant: "acme"}, nil
}

// A method that lets in a caller without a name must not make it one with callers
// without credentials.
func TestGuardWantsASubject(t *testing.T) {
	g := mustGuard(t, &GuardOptions{Anonymous: true}, &headerMethod{name: "X-Other"}, anybody{})
	for _, r := range []*http.Request{request("X-Name", ""), request("X-Name", "", "X-Other", "a")} {
		for _, ask := range []func(*http.Request) (a2a.Caller, error){g.Authenticate, g.Again} {
			c, err := ask(r)
			e := codeOf(t, err)
			if e.Code != a2a.CodeInternal || c.Tenant != "" || !strings.Contains(fmt.Sprint(e.Cause), `"anybody"`) {
				t.Errorf("%+v, %v (%v)", c, err, e.Cause)
			}
		}
	}
	if c, err := g.Authenticate(request("X-Name", "ann")); err != nil || c.Subject != "ann" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A credential that no method accepts is refused with a text that is also true if its
// scheme is known.
func TestGuardSaysThatNobodyTakesThem(t *testing.T) {
	g := mustGuard(t, &GuardOptions{Failures: -1}, NewKeys(&vault{}, nil))
	for _, value := range []string{"Bearer of-another-issuer", "Digest username=x"} {
		_, err := g.Authenticate(request("Authorization", value))
		if e := codeOf(t, err); !strings.Contains(e.Message, "does not accept credentials of this kind") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
