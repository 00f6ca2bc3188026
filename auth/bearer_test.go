package auth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestAuthorization(t *testing.T) {
	for _, c := range []struct {
		values       []string
		scheme, rest string
		wrong        bool
	}{
		{nil, "", "", false},
		{[]string{"Bearer abc"}, "bearer", "abc", false},
		{[]string{"  BEARER   abc  "}, "bearer", "abc", false},
		{[]string{"Digest a=\"b\", c=d"}, "digest", "a=\"b\", c=d", false},
		{[]string{"Bearer"}, "bearer", "", false},
		{[]string{""}, "", "", true},
		{[]string{"   "}, "", "", true},
		{[]string{"Bearer a", "Bearer a"}, "", "", true},
		{[]string{"Bearer a\tb"}, "", "", true},
		{[]string{"Bearer \x7f"}, "", "", true},
		{[]string{"Bearer ä"}, "", "", true},
		{[]string{"Bearer " + strings.Repeat("a", 8<<10)}, "bearer", strings.Repeat("a", 8<<10), false},
		{[]string{"Bearer " + strings.Repeat("a", 9<<10)}, "", "", true},
	} {
		scheme, rest, err := authorization(&http.Request{Header: http.Header{"Authorization": c.values}})
		if scheme != c.scheme || rest != c.rest || (err != nil) != c.wrong || err != nil && !errors.Is(err, ErrCredentials) {
			t.Errorf("%.40q: %q, %.40q, %v", c.values, scheme, rest, err)
		}
	}
}

func TestBearerToken(t *testing.T) {
	for _, c := range []struct {
		value, token string
		wrong        bool
	}{
		{"Bearer aZ09-._~+/==", "aZ09-._~+/==", false},
		{"Basic abc", "", false},
		{"Bearer", "", true},
		{"Bearer a b", "", true},
		{"Bearer a,Basic b", "", true},
		{"Bearer a=b", "", true},
		{"Bearer ==", "", true},
		{`Bearer "a"`, "", true},
		{"Bearer a, Bearer b", "", true},
	} {
		token, err := bearerToken(request("Authorization", c.value))
		if token != c.token || (err != nil) != c.wrong {
			t.Errorf("%s: %q, %v", c.value, token, err)
		}
	}
}

// fuzzed returns a guard with a key, which is returned, and a user ann whose
// password is right.
func fuzzed(t testing.TB) (*Guard, string) {
	keys := NewKeys(&vault{}, nil)
	token, _ := mustCreate(t, keys, KeySpec{Subject: "s"})
	return mustGuard(t, &GuardOptions{Failures: -1, Anonymous: true}, keys, mustBasic(t, line(t, "ann", "right"))), token
}

// FuzzAuthorization sends any two Authorization headers and a key: only the credentials
// that exist let a caller in, and any others are refused.
func FuzzAuthorization(f *testing.F) {
	g, token := fuzzed(f)
	right := base64.StdEncoding.EncodeToString([]byte("ann:right"))
	for _, s := range []string{"", "Bearer x", "Bearer " + token, "Basic " + right, "basic  " + right + " ", "Basic YW5uOnJpZ2h0Cg==", "Digest x=y", "Bearer a,b", "\x00", "Bearer"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, value string, twice bool) {
		r := request("Authorization", value)
		if twice {
			r.Header.Add("Authorization", value)
		}
		c, err := g.Authenticate(r)
		if err != nil {
			if e := codeOf(t, err); e.Code != a2a.CodeUnauthenticated {
				t.Errorf("%q: %v", value, err)
			}
			return
		}
		scheme, rest, _ := strings.Cut(strings.Trim(value, " "), " ")
		rest = strings.TrimLeft(rest, " ")
		key := c.Subject == "key:s" && strings.EqualFold(scheme, "bearer") && rest == token
		user := c.Subject == "user:ann" && strings.EqualFold(scheme, "basic") && rest == right
		if twice || !key && !user {
			t.Errorf("%q lets in %+v", value, c)
		}
	})
}

// FuzzAPIKey sends any text as a key, alone and next to a good one.
func FuzzAPIKey(f *testing.F) {
	g, token := fuzzed(f)
	for _, s := range []string{"", token, token[:len(token)-1], token + " ", "parley_", "parley_abcdefghij_", newToken("abcdefghij"), "\xff", "Bearer " + token} {
		f.Add(s, "")
		f.Add(s, "Bearer "+token)
	}
	f.Fuzz(func(t *testing.T, key, authorization string) {
		r := request(KeyHeader, key)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		c, err := g.Authenticate(r)
		if err != nil {
			if e := codeOf(t, err); e.Code != a2a.CodeUnauthenticated {
				t.Errorf("%q and %q: %v", key, authorization, err)
			}
			return
		}
		if key != token || c.Subject != "key:s" {
			t.Errorf("%q and %q let in %+v", key, authorization, c)
		}
		if id, ok := tokenID(key); !ok || id == "" {
			t.Errorf("%q has no ID", key)
		}
	})
}

// FuzzBasicFile reads any file of users: what it accepts is well formed, and is the
// same when written and read again.
func FuzzBasicFile(f *testing.F) {
	good := "ann:" + decoyHash
	for _, s := range []string{"", "# x\n\n" + good, good + ":t:tasks:read", good + "::operator x\r\n", good + "\n" + good, "ann:x", ":", "a:$2a$99$", "\xff:" + decoyHash} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseUsers(text)
		if err != nil {
			return
		}
		var lines []string
		for name, u := range set.byName {
			if checkUserName(name) != nil || checkHash(string(u.hash)) != nil || checkLabel(u.tenant) != nil || len(u.scopes) == 0 || strings.Contains(u.tenant, ":") {
				t.Errorf("%q has %q: %+v", text, name, u)
			}
			lines = append(lines, name+":"+string(u.hash)+":"+u.tenant+":"+strings.Join(u.scopes, " "))
		}
		again, err := parseUsers(strings.Join(lines, "\n"))
		if err != nil || len(again.byName) != len(set.byName) {
			t.Fatalf("%q again: %v", text, err)
		}
		for name, u := range set.byName {
			if a := again.byName[name]; string(a.hash) != string(u.hash) || a.tenant != u.tenant || !slices.Equal(a.scopes, u.scopes) {
				t.Errorf("%q again: %+v, not %+v", text, a, u)
			}
		}
	})
}

// However long a header is, little is allocated to refuse it.
func TestHostileHeadersAllocateLittle(t *testing.T) {
	g, _ := fuzzed(t)
	const size = 64 << 10
	for name, r := range map[string]*http.Request{
		"bearer":          request("Authorization", "Bearer "+strings.Repeat("a", size)),
		"bearer, dots":    request("Authorization", "Bearer "+strings.Repeat(".", 8<<10)),
		"basic":           request("Authorization", "Basic "+strings.Repeat("YTph", size/4)),
		"basic, in bound": request("Authorization", "Basic "+strings.Repeat("YTph", 8<<8)),
		"blanks":          request("Authorization", strings.Repeat(" ", size)),
		"commas":          request("Authorization", "Digest "+strings.Repeat(",", size)),
		"a key":           request(KeyHeader, strings.Repeat("a", size)),
		"a key's prefix":  request(KeyHeader, strings.Repeat("parley_", size/7)),
		"a bearer key":    request("Authorization", "Bearer "+strings.Repeat("parley_", 1000)),
		"NULs":            request(KeyHeader, strings.Repeat("\x00", size)),
	} {
		refuse := func() {
			if _, err := g.Authenticate(r); err == nil {
				t.Errorf("%s is let in", name)
			}
		}
		refuse()
		const runs = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			refuse()
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > 32<<10 {
			t.Errorf("%s: %d bytes are allocated", name, each)
		}
	}
}
