package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// hostile is an agent whose answer wants to run and to mislead.
const hostile = `#!/bin/sh
cat <<'END'
# <img src=x onerror=alert(1)> **bold**
<script>document.title = "ran"</script><svg onload="document.title='ran'"></svg>
[link](javascript:document.title='ran') [data](data:text/html,<script>1</script>) ![pixel](https://elsewhere.invalid/pixel.png)
<javascript:document.title='ran'> <style>body{display:none}</style>
END
printf 'left\342\200\256right\342\201\246 nul\000 cr\rend\n'
`

func TestHostileOutput(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(name, []byte(hostile), 0o700); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--", name)
	p := s.open()
	p.say("go")
	p.state("completed")
	check := func() {
		t.Helper()
		p.shows("nul")
		if title := js[string](p, "document.title"); title == "ran" {
			t.Error("it ran")
		}
		if n := js[int](p, `document.querySelectorAll("#talks script, #talks svg, #talks style, #talks img, #talks iframe, #talks a[href^='javascript'], #talks a[href^='data']").length`); n != 0 {
			t.Errorf("there are %d elements that the agent made: %s", n, js[string](p, `document.querySelector("#talks").innerHTML`))
		}
		if js[bool](p, `/[\u202a-\u202e\u2066-\u2069\0]/.test(document.querySelector("#talks").textContent)`) {
			t.Error("controls that turn the direction around are in the page")
		}
	}
	check()
	p.reload()
	p.state("completed")
	check()
}

// login opens a tab and logs in with a key.
func (s *server) login(key string) *tab {
	s.t.Helper()
	p := s.tab()
	p.allow("status of 401", "status of 403")
	p.go_(s.at("/"))
	p.fill("input[name=key]", key)
	p.do(chromedp.KeyEvent("\r"))
	return p
}

func TestLoginWithAKey(t *testing.T) {
	t.Parallel()
	s := serve(t, "--auth-keys")
	wrong := s.login("parley_wrong")
	wrong.shows("Log in")
	wrong.until(`document.querySelector("[role=alert]")`)

	mine := s.key("--name", "me")
	p := s.login(mine)
	p.until(`document.querySelector("#composer") && document.readyState === "complete"`)
	p.say("echo mine")
	p.state("completed")
	address := js[string](p, "location.href")

	other := s.login(s.key("--name", "other"))
	other.until(`document.querySelector("#composer") && document.readyState === "complete"`)
	other.go_(address)
	other.until(`document.querySelector("#composer") && document.readyState === "complete"`)
	if js[bool](other, `document.body.innerText.includes("mine")`) {
		t.Error("another caller sees the task")
	}

	p.click(".places form button")
	p.shows("Log in to")
	p.go_(address)
	p.shows("Log in to")
}

// A key that is revoked ends its session, also of a page that is open and silent.
func TestKeyRevokedWhileThePageIsOpen(t *testing.T) {
	t.Parallel()
	s := serve(t, "--auth-keys")
	key := s.key("--name", "me")
	p := s.login(key)
	p.until(`document.querySelector("#composer") && document.readyState === "complete"`)
	p.say("stream 100000 50")
	p.state("working")
	s.cli("key", "revoke", keyID(key))
	p.shows("Log in to")
}

func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.tab()
	p.do(emulation.SetScriptExecutionDisabled(true))
	p.go_(s.link)
	p.do(chromedp.WaitVisible("#composer", chromedp.ByQuery),
		chromedp.SendKeys("textarea[name=text]", "echo plain", chromedp.ByQuery), chromedp.Click("#send", chromedp.ByQuery),
		chromedp.WaitVisible("#talks > section", chromedp.ByQuery))
	p.shows("plain")
	p.go_(s.at("/tasks"))
	if p.shows("echo plain"); p.says("live") || p.says("Pause") {
		t.Error("a list without scripts says that it is live")
	}
}

func TestNarrowAndDark(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.narrow(320)
	p.dark()
	p.say("echo " + "a-word-that-does-not-end-and-does-not-break-" + "a-word-that-does-not-end-and-does-not-break")
	p.state("completed")
	p.picture("dark")
	p.screen(p.task())
	p.press("Delete…")
	if left := js[float64](p, `document.querySelector("details[open] form").getBoundingClientRect().left`); left < 0 {
		t.Errorf("what opens begins %v px beside the page", left)
	}
	p.go_(s.link)
	p.chat()
	p.say("|" + strings.Repeat(" a column |", 30) + "\n|" + strings.Repeat("---|", 30) + "\n")
	p.state("completed")
	p.until(`document.querySelector(".rich table")`)
	for _, path := range []string{"", "/inbox", "/tasks", "/agents", "/agents/-"} {
		if path != "" {
			p.go_(s.at(path))
			p.until(`document.querySelector("main")`)
		}
		if wide := js[int](p, "document.documentElement.scrollWidth"); wide > 320 {
			t.Errorf("%s is %d px wide", path, wide)
		}
	}
	if ground := js[string](p, "getComputedStyle(document.body).backgroundColor"); ground == "rgb(251, 251, 250)" {
		t.Error("it is not dark")
	}
}

// What people write keeps its direction, and a word that is longer than a screen is broken.
func TestOtherDirectionsAndLongWords(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.say("echo Hello")
	p.state("completed")
	p.say("שלום, world!")
	p.until(`document.querySelectorAll("#talks .user").length === 2`)
	const begins = `[...document.querySelectorAll("#talks .user .text")].map((e) => { const r = document.createRange(); r.setStart(e.firstChild, 0); r.setEnd(e.firstChild, 1); return r.getBoundingClientRect().left - e.getBoundingClientRect().left < e.getBoundingClientRect().width / 2 ? "left" : "right" }).join()`
	if got := js[string](p, begins); got != "left,right" {
		t.Errorf("English and Hebrew begin at %s", got)
	}
	s.send("/", "echo "+strings.Repeat("long", 30))
	p.narrow(320)
	p.screen(s.at("/tasks?live=off"))
	if right := js[float64](p, `Math.max(...[...document.querySelectorAll("#rows .row")].map((a) => a.getBoundingClientRect().right))`); right > 320 {
		t.Errorf("a long word ends at %v of 320 pixels", right)
	}
}

// The names of many agents are a list that scrolls, cards read in their own direction, and
// their marks of direction turn nothing around.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	yaml := "version: 1\nagents:\n"
	for i := range 40 {
		yaml += fmt.Sprintf("  a%d: {builtin: demo, default: %t, card: {name: \"evil\\u202egnp.exe\", description: \"وكيل يجيب.\"}}\n", i, i == 0)
	}
	p := serveFile(t, yaml).open()
	p.press("Other agents")
	if bottom := js[float64](p, `document.querySelector(".menu ul").getBoundingClientRect().bottom - innerHeight`); bottom > 0 {
		t.Errorf("the list ends %v pixels below the window", bottom)
	}
	p.press("Card")
	p.until(`document.querySelector(".lead") && document.readyState === "complete"`)
	if got := js[string](p, `getComputedStyle(document.querySelector(".lead")).unicodeBidi`); got != "plaintext" {
		t.Errorf("the direction of the description is %s", got)
	}
	if p.says("\u202e") || !p.says("evil\uFFFD") {
		t.Errorf("the page shows the name as it is, or not at all: %q", p.text("h1"))
	}
}

func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := serve(t).open()
	p.until(`document.activeElement?.name === "text"`)
	p.do(chromedp.KeyEvent("echo typed\r"))
	p.state("completed")
	p.shows("typed")
	p.until(`document.activeElement?.name === "text"`)
	p.do(chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("gt"))
	p.until(`location.pathname.endsWith("/tasks")`)
	p.until(`document.querySelector("main a") && document.readyState === "complete"`) // the keys are the script's
	p.do(chromedp.KeyEvent("gc"))
	p.until(`document.activeElement?.name === "text" && document.readyState === "complete"`)
	p.do(chromedp.KeyEvent("\t"))
	if on := js[string](p, `document.activeElement.type + " " + getComputedStyle(document.activeElement.parentElement).outlineStyle`); on != "file solid" {
		t.Errorf("the button for files does not show that it has the focus: %s", on)
	}
}

func TestForeignFramesAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.allow("frame-ancestors", "X-Frame-Options", "frame", "csp", "Content Security Policy", "ERR_BLOCKED")
	js[bool](p, `(() => { const f = document.createElement("iframe"); f.src = location.href; document.body.append(f); return true })()`)
	p.until(`(() => { try { return !document.querySelector("iframe").contentDocument?.querySelector("#composer") } catch { return true } })()`)
}
