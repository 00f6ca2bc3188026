package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// place is where a host is.
type place struct{ URL, Console, Link string }

// up runs a host and returns where it is.
func up(t *testing.T, args ...string) place {
	t.Helper()
	h, err := Open(t.Context(), testEnv(t, t.Output()), lineOf(t, append(args, "--listen=127.0.0.1:0", "--data=d")...), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := place{URL: h.URL()}
	s.Console, s.Link = h.console()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return s
}

// ask returns the status and body of an answer.
func ask(t *testing.T, c *http.Client, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func browser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// The link that is printed opens the console; nothing else does. Programs get at /
// what they always got.
func TestConsoleOpensByItsLink(t *testing.T) {
	s := up(t)
	c := browser(t)
	for _, path := range []string{"/console/open?token=", "/console/open?token=x"} {
		if res, _ := ask(t, c, "GET", s.URL+path); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if _, page := ask(t, c, "GET", s.URL+"/", "Accept", "text/html"); !strings.Contains(page, "Log in") {
		t.Errorf("/ in a browser that nobody let in: %s", page)
	}
	if res, _ := ask(t, c, "GET", s.Link); res.StatusCode != http.StatusOK {
		t.Fatalf("the link: %s", res.Status)
	}
	if _, page := ask(t, c, "GET", s.URL+"/", "Accept", "text/html,*/*;q=0.8", "Sec-Fetch-Mode", "navigate"); !strings.Contains(page, `id="composer"`) {
		t.Errorf("/ in a browser: %s", page)
	}
	if res, text := ask(t, c, "GET", s.URL+"/", "Accept", "*/*"); res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(text, "JSON-RPC:") {
		t.Errorf("/ for a program: %s", text)
	}
	for name, header := range map[string][]string{
		"another host":                 {"Host", "elsewhere.example"},
		"a page of another origin":     {"Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site"},
		"a frame or script of another": {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	} {
		if res, page := ask(t, c, "GET", s.URL+"/console/tasks", header...); res.StatusCode < 400 {
			t.Errorf("%s gets a page: %s", name, page)
		}
	}
	if res, _ := ask(t, c, "POST", s.URL+"/console/chat/-"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form without the session's token: %s", res.Status)
	}
}

// Without the console / and everything below it are as they were.
func TestNoConsole(t *testing.T) {
	s := up(t, "--no-console")
	if s.Console != "" {
		t.Errorf("there is a link %s", s.Console)
	}
	if res, _ := ask(t, browser(t), "GET", s.URL+"/console/"); res.StatusCode != http.StatusNotFound {
		t.Errorf("the console: %s", res.Status)
	}
	if _, text := ask(t, browser(t), "GET", s.URL+"/", "Accept", "text/html"); !strings.Contains(text, "JSON-RPC:") {
		t.Errorf("/: %s", text)
	}
}

// A proxy that takes off a prefix says so, if it is trusted.
func TestConsoleBehindAPrefix(t *testing.T) {
	s := up(t, "--trusted-proxy=127.0.0.1", "--allow-anonymous")
	header := []string{"X-Forwarded-Prefix", "/parley", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example"}
	res, page := ask(t, browser(t), "GET", s.Link, header...)
	if res.StatusCode != http.StatusOK || !strings.Contains(page, `href="/parley/console/static/`) {
		t.Errorf("%s %s", res.Status, page)
	}
	if c := res.Cookies(); len(c) != 1 || c[0].Path != "/parley/console/" || !c[0].Secure || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %v", c)
	}
}

// A viewer's acts in the console are in the audit log, like calls over the network.
func TestConsoleIsAudited(t *testing.T) {
	s := up(t, "--audit-log=audit.jsonl")
	c := browser(t)
	ask(t, c, "GET", s.Link)
	_, page := ask(t, c, "GET", s.URL+"/console/chat/-")
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page)
	if token == nil {
		t.Fatalf("the chat has no form:\n%s", page)
	}
	post := func(path string, form url.Values) string {
		form.Set("csrf", token[1])
		res, err := c.PostForm(s.URL+"/console"+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	id := regexp.MustCompile(`data-task="([^"]+)"`).FindStringSubmatch(post("/chat/-", url.Values{"text": {"sleep 60"}}))
	if id == nil {
		t.Fatal("no task came of it")
	}
	post("/tasks/-/"+id[1]+"/cancel", url.Values{})
	post("/tasks/-/none/cancel", url.Values{})
	log, err := os.ReadFile("audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"event":"call","outcome":"ok","op":"SendMessage","binding":"console"`, `"via":"console","task":"` + id[1] + `"`,
		`"outcome":"ok","op":"CancelTask"`, `"outcome":"TaskNotFoundError","op":"CancelTask"`,
	} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, log)
		}
	}
}

// The charts are of what the server measures of itself, without any setting.
func TestConsoleSamplesItsServer(t *testing.T) {
	h, err := Open(t.Context(), testEnv(t, t.Output()), lineOf(t, "--listen=127.0.0.1:0", "--data=d"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	defer func() { stop(); <-ran; h.Close() }()
	r := new(recent)
	r.take(t.Context(), h)
	for range 2 { // on one connection the first is over, and measured, when the second is answered
		if res, body := ask(t, browser(t), "GET", h.URL()+"/tasks/none", "A2A-Version", "1.0"); res.StatusCode != http.StatusNotFound {
			t.Fatalf("%s: %s", res.Status, body)
		}
	}
	r.take(t.Context(), h)
	list := r.samples()
	if len(list) != 1 {
		t.Fatalf("there are %d samples of 2 readings", len(list))
	}
	if s := list[0]; s.Calls <= 0 || s.Failed <= 0 || s.Slow <= 0 || s.Bytes <= 0 {
		t.Errorf("after a call that failed there is %+v", s)
	}
}
