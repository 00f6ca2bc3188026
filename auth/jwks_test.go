package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestKeysRotateWithoutRestart(t *testing.T) {
	a, b := newSigner(t, "a", "ES256"), newSigner(t, "b", "EdDSA")
	is := newIssuer(a)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, is.token(a, nil))

	is.has(a, b)
	wantRefused(t, m, is.token(b, nil), "does not have") // the issuer was asked a moment ago
	is.pass(10 * time.Second)
	wantGood(t, m, is.token(b, nil))
	wantGood(t, m, is.token(a, nil))

	is.has(b)
	is.pass(10 * time.Minute)
	wantGood(t, m, is.token(a, nil)) // the keys were not loaded again yet
	is.pass(time.Second)
	wantRefused(t, m, is.token(a, nil), "does not have")
	wantGood(t, m, is.token(b, nil))
	if n := is.loads(); n != 3 {
		t.Errorf("the keys were looked up %d times", n)
	}
	for _, s := range []string{"new=[a]", "new=[b]", "gone=[a]"} {
		if !strings.Contains(is.log.String(), s) {
			t.Errorf("the log does not say %s:\n%s", s, &is.log)
		}
	}
}

// A key with the id of an earlier key is another key.
func TestKeyReplacedUnderItsID(t *testing.T) {
	a, b := newSigner(t, "k", "EdDSA"), newSigner(t, "k", "EdDSA")
	is := newIssuer(a)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, is.token(a, nil))
	is.has(b)
	is.pass(10*time.Minute + time.Second)
	wantGood(t, m, is.token(b, nil))
	wantRefused(t, m, is.token(a, nil), "signature")
}

func TestWithoutKidThereMustBeOneKey(t *testing.T) {
	a, b, c := newSigner(t, "a", "ES256"), newSigner(t, "b", "ES256"), newSigner(t, "c", "EdDSA")
	is := newIssuer(a, c)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, a.sign(`{"alg":"ES256"}`, is.tokenClaims(nil)))
	is.has(a, b, c)
	is.pass(11 * time.Minute)
	wantRefused(t, m, a.sign(`{"alg":"ES256"}`, is.tokenClaims(nil)), "kid")
	wantGood(t, m, c.sign(`{"alg":"EdDSA"}`, is.tokenClaims(nil)))
}

func TestMadeUpKidsDoNotHammerTheIssuer(t *testing.T) {
	a := newSigner(t, "a", "EdDSA")
	is := newIssuer(a)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, is.token(a, nil))
	for i := range 600 { // in a minute
		is.pass(100 * time.Millisecond)
		a.id = fmt.Sprint("made up ", i)
		wantRefused(t, m, is.token(a, nil), "does not have")
	}
	if n := is.loads(); n > 7 {
		t.Errorf("the issuer was asked %d times", n)
	}
	// The same while it is down.
	is.answers(is.down)
	before := is.loads()
	for i := range 600 {
		is.pass(100 * time.Millisecond)
		a.id = fmt.Sprint("made up ", i)
		if _, err := try(m, is.token(a, nil)); err == nil {
			t.Fatal("a made-up key was found")
		}
	}
	// The key may be new: that cannot be known, so the token is not refused.
	wantUnknown(t, m, is.token(a, nil))
	if n := is.loads() - before; n > 7 {
		t.Errorf("the issuer that is down was asked %d times", n)
	}
	if n := strings.Count(is.log.String(), "cannot be fetched"); n != 1 {
		t.Errorf("the log says %d times that it is down", n)
	}
}

// While the issuer is slow, all callers wait for one answer, and a caller that hangs up
// does not end it for the others.
func TestOneLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newSigner(t, "a", "EdDSA")
		is := newIssuer(a)
		m := is.method(t, TokenOptions{})
		token := is.token(a, nil)
		let := make(chan struct{})
		is.answers(func(r *http.Request) (*http.Response, error) {
			select {
			case <-let:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			is.answers(nil)
			return is.RoundTrip(r)
		})
		first, hangUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		errs := make(chan error, 100)
		ask := func(ctx context.Context) {
			_, err := m.Authenticate(bearing("Bearer " + token).WithContext(ctx))
			errs <- err
		}
		all.Go(func() { ask(first) })
		synctest.Wait()
		for range 98 {
			all.Go(func() { ask(t.Context()) })
		}
		impatient, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		all.Go(func() { ask(impatient) })
		synctest.Wait()
		hangUp()
		time.Sleep(2 * time.Second)
		if n := len(errs); n != 1 {
			t.Fatalf("%d do not wait any more", n)
		}
		if err := <-errs; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCredentials) {
			t.Error(err)
		}
		close(let)
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		if n := is.loads(); n != 2 { // one of them is the fake's second
			t.Errorf("the issuer was asked %d times", n)
		}
	})
}

func TestIssuerThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newSigner(t, "a", "EdDSA")
		is := newIssuer(a)
		m := is.method(t, TokenOptions{})
		is.answers(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		from := time.Now()
		wantUnknown(t, m, is.token(a, nil))
		if d := time.Since(from); d != loadTime {
			t.Errorf("it took %v", d)
		}
		wantUnknown(t, m, is.token(a, nil))
		if d := time.Since(from); d != loadTime {
			t.Error("it was asked again at once")
		}
	})
}

func TestServerStartsWhileItsIssuerIsDown(t *testing.T) {
	a := newSigner(t, "a", "EdDSA")
	is := newIssuer(a)
	is.answers(is.down)
	m := is.method(t, TokenOptions{})
	wantUnknown(t, m, is.token(a, nil))
	wantUnknown(t, m, is.token(a, nil))
	is.answers(nil)
	wantUnknown(t, m, is.token(a, nil)) // not at once
	is.pass(10 * time.Second)
	wantGood(t, m, is.token(a, nil))
	if n := is.loads(); n != 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
	if !strings.Contains(is.log.String(), "cannot be fetched; until") {
		t.Error(&is.log)
	}
}

// An outage does not affect good tokens; a very long one does.
func TestKeysOutliveAnOutageForAnHour(t *testing.T) {
	a := newSigner(t, "a", "EdDSA")
	is := newIssuer(a)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, is.token(a, nil))
	is.answers(func(*http.Request) (*http.Response, error) { return document(500, "SECRET OF THE ISSUER"), nil })
	for range 7 {
		is.pass(10 * time.Minute)
		wantGood(t, m, is.token(a, nil))
	}
	is.pass(time.Second)
	wantUnknown(t, m, is.token(a, nil))
	is.answers(nil)
	is.pass(10 * time.Second)
	wantGood(t, m, is.token(a, nil))
	if s := is.log.String(); strings.Contains(s, "SECRET") || !strings.Contains(s, "HTTP 500") || strings.Count(s, "were read") != 2 {
		t.Error(s)
	}
}

func TestRunKeepsKeysFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSigner(t, "a", "EdDSA"), newSigner(t, "b", "EdDSA")
		is := newIssuer(a)
		is.now = time.Now()
		is.answers(is.down)
		m := is.method(t, TokenOptions{Now: time.Now})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		if is.loads() != 1 {
			t.Error("it did not look for the first keys")
		}
		is.answers(nil)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if is.loads() != 2 {
			t.Errorf("after a failure it asked %d times", is.loads())
		}
		is.pass(30 * time.Second)
		token := is.token(a, map[string]any{"exp": time.Now().Add(time.Hour).Unix()})
		wantGood(t, m, token)
		is.has(b)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		is.answers(func(*http.Request) (*http.Response, error) {
			t.Error("a request asked, and Run had just done so")
			return nil, errors.New("no")
		})
		if _, err := try(m, token); !errors.Is(err, ErrCredentials) {
			t.Error(err)
		}
		is.answers(nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := is.loads(); n < 8 || n > 10 {
			t.Errorf("in an hour it asked %d times", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// If Run refreshes the keys, a request never waits for a refresh that is only due.
func TestRequestsDoNotWaitForWhatIsOnlyDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newSigner(t, "a", "EdDSA")
		is := newIssuer(a)
		m := is.method(t, TokenOptions{Now: time.Now})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		is.now = time.Now()
		token := is.token(a, map[string]any{"exp": time.Now().Add(time.Hour).Unix()})
		is.answers(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for range 30 {
			time.Sleep(time.Minute)
			from := time.Now()
			wantGood(t, m, token)
			if d := time.Since(from); d != 0 {
				t.Errorf("a request took %v", d)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLoadThatPanicsLetsTheOthersGo(t *testing.T) {
	k := &keyring{now: time.Now, log: newTokenLog(t)}
	k.load = func(context.Context) ([]*Key, error) { panic("a bug") }
	func() {
		defer func() { _ = recover() }()
		_ = k.reload(t.Context(), t.Context())
	}()
	if k.loading || k.err == nil {
		t.Error("others would wait for ever")
	}
}

func TestSetsOfKeys(t *testing.T) {
	good := newSigner(t, "a", "EdDSA")
	is := newIssuer(good)
	one := strings.TrimSuffix(strings.TrimPrefix(string(is.set()), `{"keys":[`), "]}")
	all := TokenAlgorithms
	for name, c := range map[string]struct {
		doc  string
		want int // keys; -1: an error
	}{
		"one":                  {string(is.set()), 1},
		"none":                 {`{"keys":[]}`, 0},
		"others beside":        {`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"},7,` + one + `,{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, 1},
		"for encryption":       {`{"keys":[` + strings.Replace(one, `"sig"`, `"enc"`, 1) + `]}`, 0},
		"for signing only":     {`{"keys":[` + strings.Replace(one, `{`, `{"key_ops":["sign"],`, 1) + `]}`, 0},
		"for verifying":        {`{"keys":[` + strings.Replace(one, `{`, `{"key_ops":["verify"],`, 1) + `]}`, 1},
		"for HMAC":             {`{"keys":[` + strings.Replace(one, `{`, `{"alg":"HS256",`, 1) + `]}`, 0},
		"a name with a line":   {`{"keys":[` + strings.Replace(one, `"a"`, `"a\nb"`, 1) + `]}`, 0},
		"a small RSA key":      {`{"keys":[{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbU","e":"AQAB"}]}`, 0},
		"nothing":              {``, -1},
		"HTML":                 {`<html>`, -1},
		"no list":              {`{"keys":7}`, -1},
		"no keys":              {`{}`, -1},
		"null":                 {`null`, -1},
		"half":                 {string(is.set())[:40], -1},
		"too many":             {`{"keys":[` + strings.Repeat("{},", maxSet) + `{}]}`, -1},
		"too large":            {`{"keys":[]}` + strings.Repeat(" ", maxKeys), -1},
		"a whole number's end": {`{"keys":[` + strings.Replace(one, `{`, `{"exp":1893456000,`, 1) + `]}`, 1},
	} {
		keys, err := parseIssuerKeys([]byte(c.doc), all)
		if got := len(keys); err != nil && c.want != -1 || err == nil && got != c.want {
			t.Errorf("%s: %d keys, %v, want %d", name, got, err, c.want)
		}
	}
	if keys, err := parseIssuerKeys(is.set(), []string{"RS256", "ES256"}); err != nil || len(keys) != 0 {
		t.Error("a key for another algorithm:", keys, err)
	}
}

// A key with an end is not used after it.
func TestKeysThatHaveEnded(t *testing.T) {
	s := newSigner(t, "a", "EdDSA")
	keys, err := parseIssuerKeys(newIssuer(s).set(), []string{"EdDSA"})
	if err != nil {
		t.Fatal(err)
	}
	keys[0].expires = time.Unix(1000, 0)
	for now, want := range map[int64]int{999: 1, 1000: 0} {
		if found, err := matching(keys, "a", "EdDSA", time.Unix(now, 0)); err != nil || len(found) != want {
			t.Errorf("at %d: %v, %v", now, found, err)
		}
	}
}

// A guard that replaces another one while an issuer is down, as when a server is
// reloaded, accepts its tokens for as long as the old one would have.
func TestKeysOutliveTheirGuard(t *testing.T) {
	a, b := newSigner(t, "a", "EdDSA"), newSigner(t, "b", "EdDSA")
	is := newIssuer(a)
	m := is.method(t, TokenOptions{})
	wantGood(t, m, is.token(a, nil))
	before := mustGuard(t, nil, m)
	next := func() *OIDC {
		m := is.method(t, TokenOptions{})
		mustGuard(t, nil, m).Inherit(before)
		return m
	}
	is.answers(is.down)
	is.pass(time.Minute)
	down := next()
	wantGood(t, down, is.token(a, nil))
	wantUnknown(t, down, is.token(b, nil))
	is.pass(69*time.Minute + time.Second)
	wantUnknown(t, down, is.token(a, nil))

	is.answers(nil)
	is.has(b)
	wantGood(t, next(), is.token(b, nil)) // the issuer is asked again
}
