package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// screens opens one screen after another of a server that has something to show, and
// calls visit at each.
func screens(t *testing.T, visit func(p *tab, name string)) {
	t.Helper()
	s := serveFile(t, `version: 1
agents:
  demo:
    default: true
    builtin: demo
  translator:
    exec: {command: [cat]}
    card: {name: Translator, description: Answers in another language.}
  model:
    openai: {url: 'http://127.0.0.1:9/v1', model: small}
    card: {name: Model, description: A model that is away.}
`, "--egress-allow", "http://127.0.0.1", "--audit-log", "audit.jsonl")
	s.cli("key", "create", "--name", "laptop")
	s.cli("send", "--push-url", "http://"+freeAddress(t)+"/hook", "echo to a webhook")
	p := s.open()
	p.do(chromedp.EmulateViewport(1280, 800))
	visit(p, "start")
	p.say("stream 12 5")
	p.state("completed")
	task := js[string](p, `new URL([...document.querySelectorAll("#talks .line a")].at(-1).href).pathname`)
	for i, text := range []string{"echo # Rivers of Europe\n\n| river | km |\n|---|---|\n| Volga | 3530 |\n| Danube | 2850 |\n\nBoth end in **seas**, not in the ocean.", "file", "data", "fail out of paper"} {
		p.say(text)
		p.until(`document.querySelectorAll("#talks > section").length === ` + string(rune('2'+i)))
		p.until(`["completed", "failed"].includes([...document.querySelectorAll("#talks .state")].at(-1).textContent)`)
	}
	p.say("ask Which size?")
	p.state("input required")
	visit(p, "chat")
	s.send("/", "auth")
	s.send("/", "sleep 600")
	login := s.tab()
	login.do(chromedp.EmulateViewport(1280, 800))
	login.go_(s.at("/login"))
	login.until(`document.querySelector("h1")`)
	visit(login, "login")
	p.allow("status of 404")
	for _, one := range []struct{ name, path string }{
		{"inbox", "/inbox"}, {"tasks", "/tasks?live=off"}, {"tasks-none", "/tasks?state=rejected"}, {"agents", "/agents"}, {"agent", "/agents/-"}, {"agent-away", "/agents/model"},
		{"elsewhere", "/elsewhere"}, {"elsewhere-agent", "/elsewhere?agent=http://" + s.addr},
		{"webhooks", "/webhooks"}, {"operate", "/operate"}, {"settings", "/operate?view=settings"}, {"keys", "/operate?view=keys"}, {"audit", "/operate?view=audit"}, {"failure", "/tasks/-/none"},
	} {
		p.go_(s.at(one.path))
		p.until(`document.readyState === "complete" && document.querySelector("main h1")`)
		visit(p, one.name)
	}
	for _, one := range []struct{ name, query string }{{"task", ""}, {"task-past", "?at=6"}, {"timeline", "?view=timeline"}, {"wire", "?view=wire"}, {"log", "?view=log"}} {
		p.screen(p.origin + task + one.query)
		visit(p, one.name)
	}
}

// Every screen opens in both schemes, at 320 pixels as well; axe-core, where npm has it,
// finds nothing serious. With PICTURES each screen is written as a picture.
func TestScreens(t *testing.T) {
	t.Parallel()
	source := axe(t)
	screens(t, func(p *tab, name string) {
		if dir := os.Getenv("PAGES"); dir != "" { // for a validator: see the check console
			page := js[string](p, `fetch(location.href).then((r) => r.text())`)
			if err := os.WriteFile(filepath.Join(dir, "screen-"+name+".html"), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if source != "" {
			p.do(chromedp.Evaluate(source, nil))
		}
		// In the other scheme only colours can be wrong that were right before.
		for _, one := range []struct{ scheme, rules string }{{"light", ""}, {"dark", `, runOnly: ["color-contrast", "link-in-text-block"]`}} {
			p.scheme(one.scheme)
			p.picture(name + "-" + one.scheme)
			if source == "" {
				continue
			}
			if found := js[[]string](p, `axe.run(document, {resultTypes: ["violations"]`+one.rules+`}).then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary)))`); len(found) > 0 {
				for _, f := range found {
					t.Errorf("%s, %s: %s", name, one.scheme, f)
				}
			}
		}
		p.scheme("light")
		p.do(chromedp.EmulateViewport(320, 640))
		if wide := js[int](p, "document.documentElement.scrollWidth"); wide > 320 {
			t.Errorf("at 320 px %s is %d px wide", name, wide)
		}
		p.picture(name + "-narrow")
		p.do(chromedp.EmulateViewport(1280, 800))
	})
}

// axe is the source of axe-core; "" if npm has not installed it. CI has.
func axe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err == nil {
		return string(b)
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("axe-core is not here; npm ci in test/console installs it: %v", err)
	}
	t.Log("axe-core is not here, so nothing is said of accessibility: npm ci in test/console installs it")
	return ""
}
