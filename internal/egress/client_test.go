package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRedirects(t *testing.T) {
	w, _, client := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, "arrived")
	})
	for _, name := range []string{"a.example.com", "b.example.com"} {
		w.answers[name] = []string{"8.8.8.8"}
	}
	w.answers["private.example.com"] = []string{"10.0.0.1"}
	via := func(urls ...string) string {
		u := urls[len(urls)-1]
		for i := len(urls) - 2; i >= 0; i-- {
			u = urls[i] + "?to=" + url.QueryEscape(u)
		}
		return u
	}
	const a, b = "https://a.example.com/", "https://b.example.com/"
	for _, good := range []string{via(a, a), via(a, b), via(a, b, a, b)} {
		res, err := client.Get(good)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		res.Body.Close()
	}
	for _, to := range []string{
		"http://a.example.com/", "http://127.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://0x7f.1/", "https://10.0.0.1/",
		"https://169.254.169.254/", "http://169.254.169.254/", "https://private.example.com/", "https://metadata.google.internal/", "//10.0.0.1/",
		"https://u:p@b.example.com/", "file:///etc/passwd", "https://b.example.com:25/", "https://b.example.com./", via(a, b, a, b), // four redirects are too many
	} {
		res, err := client.Get(via(a, to))
		var r *Refused
		switch {
		case err == nil:
			res.Body.Close()
			t.Errorf("to %s: got %s", to, res.Status)
		case !errors.As(err, &r):
			t.Errorf("to %s: %v, want it refused", to, err)
		}
	}
}

// TestRedirectsDoNotProfitFromRules: a redirect from a public host cannot lead to what an
// operator's rule opens.
func TestRedirectsDoNotProfitFromRules(t *testing.T) {
	w, p, client := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})
	p.Loopback, p.Allow = true, rules(t, "in.example.com", "*.in.example.com", "10.0.0.0/8")
	w.open = netip.MustParsePrefix("10.0.0.0/8").Contains
	for name, a := range map[string]string{"out.example.com": "8.8.8.8", "in.example.com": "10.0.0.1"} {
		w.answers[name] = []string{a}
	}
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"out.example.com", "https://in.example.com/", false},
		{"out.example.com", "https://10.0.0.1/", false},
		{"out.example.com", "https://127.0.0.1/", false},
		{"out.example.com", "https://localhost/", false},
		{"in.example.com", "https://in.example.com:8443/", true},
		{"in.example.com", "https://out.example.com/", true},
	} {
		res, err := client.Get("https://" + c.from + "/?to=" + url.QueryEscape(c.to))
		var r *Refused
		if err == nil {
			res.Body.Close()
		}
		if c.ok != (err == nil) || !c.ok && !errors.As(err, &r) {
			t.Errorf("from %s to %s: %v", c.from, c.to, err)
		}
	}
}

func TestRedirectsThatDropTheBodyAreNotFollowed(t *testing.T) {
	var requests atomic.Int32
	w, _, client := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Location", "/next")
		w.WriteHeader(http.StatusFound)
	})
	w.answers["a.example.com"] = []string{"8.8.8.8"}
	res, err := client.Post("https://a.example.com/", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound || requests.Load() != 1 {
		t.Errorf("got %s after %d requests", res.Status, requests.Load())
	}
}

func TestCredentialsStayOnTheHost(t *testing.T) {
	var last http.Header
	w, _, client := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		last = r.Header
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusPermanentRedirect)
		}
	})
	for _, name := range []string{"example.com", "b.example.com"} {
		w.answers[name] = []string{"8.8.8.8"}
	}
	const a = "https://example.com/"
	secrets := []string{"Authorization", "Cookie", "Webhook-Signature", "X-Api-Key", "X-A2a-Notification-Token", "X-Whatever"}
	for to, kept := range map[string]bool{
		a + "next":                                        true,
		"https://example.com:443/":                        true,
		"https://example.com:8443/":                       false,
		"https://b.example.com/":                          false, // net/http would treat it as the same host
		"https://b.example.com/?to=" + url.QueryEscape(a): false, // and back again
	} {
		req, _ := http.NewRequest("POST", a+"?secret=1&to="+url.QueryEscape(to), strings.NewReader("{}"))
		for _, name := range secrets {
			req.Header.Set(name, "secret")
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Errorf("%s: %v", to, err)
			continue
		}
		res.Body.Close()
		for _, name := range secrets {
			if got := last.Get(name) != ""; got != kept {
				t.Errorf("to %s: %s arrived: %v, want %v", to, name, got, kept)
			}
		}
		if last.Get("Content-Type") != "application/json" || last.Get("Referer") != "" {
			t.Errorf("to %s: headers %v", to, last)
		}
	}
}

// TestConnectionsAreUsedAgain: if a host gets its most requests at a time, they use the
// connections of those before them.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const most = 8
	var here sync.WaitGroup // all requests of a round
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		here.Done()
		here.Wait()
	}))
	t.Cleanup(srv.Close)
	w := &world{t: t, open: netip.Addr.IsLoopback, server: srv.Listener.Addr().String()}
	client := (&Policy{Resolver: w, Dial: w.dial, Loopback: true}).Client()
	t.Cleanup(client.CloseIdleConnections)
	for round := range 2 {
		here.Add(most)
		var answers sync.WaitGroup
		for range most {
			answers.Go(func() {
				res, err := client.Get(srv.URL)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
		}
		answers.Wait()
		if d := len(w.dials()); d != most*(1-round) {
			t.Errorf("round %d of %d requests made %d connections", round, most, d)
		}
	}
}

func TestAnswersComeAsTheyAre(t *testing.T) {
	w, _, client := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asked for %s", r.Header.Get("Accept-Encoding"))
		}
		if r.URL.Path == "/header" {
			for i := range 200 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Write([]byte("not decompressed"))
	})
	w.answers["a.example.com"] = []string{"8.8.8.8"}
	res, err := client.Get("https://a.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "not decompressed" {
		t.Errorf("%q, %v", body, err)
	}
	if res, err := client.Get("https://a.example.com/header"); err == nil {
		t.Errorf("a header without end: %v", res.Status)
	}
}

func TestSlowReceiverIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Policy{Dial: deaf}
		start := time.Now()
		_, err := p.Client().Get("https://8.8.8.8/")
		if took := time.Since(start); err == nil || took != 10*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		synctest.Wait()
	})
}
