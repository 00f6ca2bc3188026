package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The console shows what its key may do.
func TestScopesDecideWhatIsShown(t *testing.T) {
	t.Parallel()
	s := share(t, "--auth-keys")
	mine := s.login(s.key("--name", "her"))
	mine.chat()
	mine.say("echo hers alone")
	mine.state("completed")
	task := mine.task()
	mine.screen(s.at("/tasks"))
	mine.shows("hers alone")
	if mine.says("Operate") || mine.says("Webhooks") {
		t.Error("a caller without scopes of the server has its pages in the list")
	}
	mine.allow("status of 403")
	mine.go_(s.at("/operate"))
	mine.shows("You are not an operator")

	other := s.login(s.key("--name", "him"))
	other.chat()
	other.screen(s.at("/tasks"))
	if other.says("hers alone") {
		t.Error("another caller's list has the task")
	}
	other.allow("status of 404")
	other.go_(task)
	other.shows("There is no such task")

	admin := s.login(s.key("--name", "ops", "--role", "admin"))
	admin.until(`location.pathname.endsWith("/tasks")`) // its role sends no messages
	admin.shows("hers alone")
	admin.screen(s.at("/operate"))
	admin.shows("Ready")
}

// A session ends where its viewer says so, in every tab.
func TestLogout(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.allow("status of 401")
	p.screen(s.at("/tasks"))
	js[bool](p, `fetch("logout", {method: "POST", body: new URLSearchParams({csrf: document.querySelector("input[name=csrf]").value})}).then(() => true)`) // as another tab does
	p.shows("Log in to")
	p = s.open()
	p.press("Log out")
	p.shows("Log in to")
	p.go_(s.at("/tasks"))
	p.shows("Log in to")
	if n := js[int](p, "document.cookie.length"); n != 0 {
		t.Error("scripts see a cookie")
	}
}

// The link of another start opens nothing, and says what to do.
func TestLinkOfAnotherStart(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.tab()
	p.allow("status of 403")
	p.go_(s.at("/open?token=wrong"))
	p.shows("use the newest one")
	p.go_(s.at("/tasks"))
	p.shows("Log in to")
}

// A form of a session that has ended changes nothing.
func TestFormOfAnOldSession(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.allow("status of 403")
	p.screen(s.at("/operate?view=settings"))
	p.fill("textarea[name=draft]", "version: 1")
	js[bool](p, `(document.querySelector("form.card input[name=csrf]").value = "of another session", true)`)
	p.press("Check")
	p.shows("This page has expired")
}

// A page of another site cannot call the console, whatever cookie the browser has.
func TestOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, header := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"} {
		req, err := http.NewRequest("POST", s.at("/logout"), strings.NewReader("csrf=x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(name, header)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %s it is answered %d", name, header, res.StatusCode)
		}
	}
	req, err := http.NewRequest("GET", s.at("/login"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode < 400 {
		t.Errorf("for the host evil.example it is answered %d", res.StatusCode)
	}
}

// A browser at / is sent to the console, curl gets the text, and without a console so
// does the browser.
func TestRootWithAndWithoutConsole(t *testing.T) {
	t.Parallel()
	get := func(s *server, accept string) (int, string) {
		t.Helper()
		req, err := http.NewRequest("GET", "http://"+s.addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Location") + string(b)
	}
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	s := share(t)
	if status, said := get(s, browser); status/100 != 3 || !strings.Contains(said, "/console") {
		t.Errorf("a browser gets %d %s", status, said)
	}
	_, text := get(s, "*/*")
	if strings.Contains(text, "<html") || text == "" {
		t.Errorf("curl gets %s", text)
	}
	without := serve(t, "--no-console")
	if without.link != "" {
		t.Error("a link to no console is printed")
	}
	if status, said := get(without, browser); status/100 == 3 || strings.Contains(said, "/console") {
		t.Errorf("without a console a browser gets %d %s", status, said)
	}
	p := without.tab()
	p.allow("status of 404")
	p.go_(without.at("/"))
	if p.count("#composer, input[name=key]") != 0 {
		t.Error("the console is there")
	}
}

// Behind a proxy that takes off a part of the path, every address has it.
func TestPathPrefixBehindAProxy(t *testing.T) {
	t.Parallel()
	s := share(t, "--allow-anonymous", "--trusted-proxy", "127.0.0.1/32")
	to := &url.URL{Scheme: "http", Host: s.addr}
	proxy := httptest.NewServer(http.StripPrefix("/team/parley", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
		r.Out.Header.Set("X-Forwarded-Prefix", "/team/parley")
	}}))
	t.Cleanup(proxy.Close)
	through := *s
	through.addr = strings.TrimPrefix(proxy.URL, "http://")
	p := through.tab()
	p.go_(proxy.URL + "/team/parley/console/" + s.link[strings.Index(s.link, "open?"):])
	p.chat()
	if at := js[string](p, "location.pathname"); !strings.HasPrefix(at, "/team/parley/console/chat/") {
		t.Errorf("the chat is at %s", at)
	}
	p.say("stream 20 20")
	p.state("completed")
	if got := js[string](p, chunks); got != counted(20) {
		t.Errorf("the page shows %s", got)
	}
	p.click(`#talks .line a`)
	p.until(`location.pathname.startsWith("/team/parley/console/tasks/") && document.readyState === "complete"`)
	p.press("Timeline")
	p.shows("20 chunks")
	if js[bool](p, `[...document.querySelectorAll("a[href^='/'], form[action^='/'], link, script[src]")].some((e) => !(e.getAttribute("href") ?? e.getAttribute("action") ?? e.getAttribute("src")).startsWith("/team/parley/console/"))`) {
		t.Error("an address lacks the prefix")
	}
}

// Every field and button of a screen is reached with the Tab key alone, and what has
// the focus shows it.
func TestTabReachesEverything(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.screen(s.at("/tasks"))
	want := js[int](p, `[...document.querySelectorAll("a[href], button, select, input:not([type=hidden]), summary")].filter((e) => e.checkVisibility() && e.tabIndex >= 0).length`)
	js[bool](p, `(document.activeElement.blur(), window.reached = new Set(), true)`)
	for range want + 1 {
		p.do(chromedp.KeyEvent("\t"))
		if js[bool](p, `(() => { const e = document.activeElement; if (e === document.body) return false; const s = getComputedStyle(e); const bare = s.outlineStyle === "none" && s.boxShadow === "none"; window.reached.add(e); return bare })()`) {
			t.Errorf("%s does not show that it has the focus", js[string](p, "document.activeElement.outerHTML"))
		}
	}
	if got := js[int](p, "window.reached.size"); got < want {
		t.Errorf("Tab reaches %d of %d", got, want)
	}
}
