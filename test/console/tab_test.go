package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser, with cookies of its own.
type tab struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu      sync.Mutex
	wrong   []string // what a page must not do
	allowed []string // texts of what it may
}

// open opens a tab in which the console of the server is open.
func (s *server) open() *tab {
	s.t.Helper()
	p := s.tab()
	p.go_(s.link)
	p.chat()
	return p
}

// chat waits for a chat to be there.
func (p *tab) chat() {
	p.t.Helper()
	p.until(`location.pathname.includes("/chat/") && document.querySelector("#composer") && document.readyState === "complete"`)
}

// tab opens an empty tab.
func (s *server) tab() *tab {
	s.t.Helper()
	// A window, since a tab needs one: a new context has none.
	var jar cdp.BrowserContextID
	var id target.ID
	if err := chromedp.Run(chrome, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		ctx = cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
		if jar, err = target.CreateBrowserContext().WithDisposeOnDetach(false).Do(ctx); err != nil {
			return err
		}
		id, err = target.CreateTarget("about:blank").WithBrowserContextID(jar).WithNewWindow(true).Do(ctx)
		return err
	})); err != nil {
		s.t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(chrome, chromedp.WithTargetID(id))
	p := &tab{t: s.t, ctx: ctx, origin: "http://" + s.addr}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			p.picture("failed")
			var said string
			ctx, stop := context.WithTimeout(ctx, patience) // a page that asks something answers nothing
			defer stop()
			_ = chromedp.Run(ctx, chromedp.Evaluate(`location.href + "\n" + document.body.innerText`, &said))
			s.t.Logf("the page: %.4000s", said)
		}
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, w := range p.wrong {
			if !p.may(w) {
				s.t.Errorf("in the page: %s", w)
			}
		}
	})
	chromedp.ListenTarget(ctx, p.hear)
	// The first of these is the tab's as long as it is there, so it has no time limit.
	if err := chromedp.Run(ctx, cdplog.Enable(), runtime.Enable(), network.Enable(), emulation.SetFocusEmulationEnabled(true)); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// may reports whether a journey said that its page may do so.
func (p *tab) may(w string) bool {
	for _, a := range p.allowed {
		if strings.Contains(w, a) {
			return true
		}
	}
	return false
}

func (p *tab) allow(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, texts...)
}

// outage says that the server goes away in this journey.
func (p *tab) outage() { p.allow("net::ERR_", "Failed to fetch") }

func (p *tab) hear(ev any) {
	said := ""
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.APITypeError || ev.Type == runtime.APITypeWarning {
			for _, a := range ev.Args {
				said += string(a.Value) + a.Description + " "
			}
		}
	case *runtime.EventExceptionThrown:
		said = ev.ExceptionDetails.Error()
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == cdplog.LevelError || ev.Entry.Source == cdplog.SourceSecurity {
			said = fmt.Sprintf("%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; !strings.HasPrefix(u, p.origin+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "blob:") {
			said = "a request to another origin: " + u
		}
	}
	if said != "" {
		p.mu.Lock()
		p.wrong = append(p.wrong, said)
		p.mu.Unlock()
	}
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) go_(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

// before has the browser run a script in each page that is opened from now on, before its own.
func (p *tab) before(script string) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// screen goes to a screen of the console and waits for it.
func (p *tab) screen(url string) {
	p.t.Helper()
	p.go_(url)
	p.until(`document.readyState === "complete" && document.querySelector("main h1")`)
}

// reloaded loads a screen that is not live until it says a text, or says it no more.
func (p *tab) reloaded(url, text string, there bool) {
	p.t.Helper()
	for late := time.Now().Add(patience); ; {
		p.screen(url)
		if p.says(text) == there {
			return
		}
		if time.Now().After(late) {
			p.t.Fatalf("%s: that it says %q is still %v", url, text, !there)
		}
	}
}

// js evaluates an expression, and waits for it where it is a promise.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	var v T
	p.do(chromedp.Evaluate(expression, &v, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return v
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		var ok bool
		// While a page comes there may be nothing to ask.
		if err := chromedp.Run(p.ctx, chromedp.Evaluate("!!("+expression+")", &ok)); err == nil && ok {
			return
		} else if p.ctx.Err() != nil {
			p.t.Fatalf("%s: %v", expression, err)
		}
		select {
		case <-late:
			p.t.Fatalf("it did not come: %s", expression)
		case <-tick.C:
		}
	}
}

// shows waits for a text in the page.
func (p *tab) shows(text string) {
	p.t.Helper()
	p.until(`document.body.innerText.includes(` + quote(text) + `)`)
}

// says reports whether the page has a text now.
func (p *tab) says(text string) bool {
	p.t.Helper()
	return js[bool](p, `document.body.innerText.includes(`+quote(text)+`)`)
}

func (p *tab) count(selector string) int {
	p.t.Helper()
	return js[int](p, `document.querySelectorAll(`+quote(selector)+`).length`)
}

// text is what an element says.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return js[string](p, `document.querySelector(`+quote(selector)+`)?.innerText ?? ""`)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// say sends a message in a chat, by the keyboard.
func (p *tab) say(text string) {
	p.t.Helper()
	p.until(`document.querySelector("#send:not(:disabled)")`)
	p.fill("textarea[name=text]", text)
	p.enter()
}

// reload loads the page again. While a message is being sent the browser would ask
// whether to leave, and wait for an answer.
func (p *tab) reload() {
	p.t.Helper()
	p.until(`!document.querySelector("#send:disabled")`)
	p.do(chromedp.Reload())
}

// enter presses Enter.
func (p *tab) enter() {
	p.t.Helper()
	p.key("Enter", "Enter", "\r", 13)
}

// letter presses the key of a small letter, which writes nothing if the page takes it:
// chromedp.KeyEvent writes it all the same.
func (p *tab) letter(c rune) {
	p.t.Helper()
	upper := strings.ToUpper(string(c))
	p.key(string(c), "Key"+upper, string(c), int64(upper[0]))
}

func (p *tab) key(key, code, text string, number int64) {
	p.t.Helper()
	event := func(kind input.KeyType) *input.DispatchKeyEventParams {
		return input.DispatchKeyEvent(kind).WithKey(key).WithCode(code).WithWindowsVirtualKeyCode(number).WithNativeVirtualKeyCode(number)
	}
	p.do(event(input.KeyDown).WithText(text), event(input.KeyUp))
}

// state waits for the newest task of a chat to be in a state.
func (p *tab) state(label string) {
	p.t.Helper()
	p.until(`[...document.querySelectorAll("#talks .state")].at(-1)?.textContent === ` + quote(label))
}

// task is the address of the newest task's page in a chat.
func (p *tab) task() string {
	p.t.Helper()
	return js[string](p, `[...document.querySelectorAll("#talks .line a")].at(-1).href`)
}

// click clicks the element of a selector, as a mouse does.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.clickOn(`document.querySelector(` + quote(selector) + `)`)
}

// press clicks a button or link by what it says.
func (p *tab) press(words string) {
	p.t.Helper()
	p.clickOn(`[...document.querySelectorAll("button, a, summary, label")].find((e) => e.textContent.trim() === ` + quote(words) + ` && e.checkVisibility())`)
}

// clickOn clicks an element, and again if the page moved it away from under the mouse
// meanwhile, as a reader does.
func (p *tab) clickOn(element string) {
	p.t.Helper()
	for range 10 {
		p.until(element + ` && document.readyState === "complete"`)
		at := js[[]float64](p, `((e) => {
			window.clicked = "";
			document.addEventListener("click", (c) => { window.clicked = e.contains(c.target) ? "it" : "" }, {capture: true, once: true});
			e.scrollIntoView({block: "center", behavior: "instant"});
			const r = e.getClientRects()[0];
			return [r.x + r.width / 2, r.y + r.height / 2];
		})(`+element+`)`)
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		var moved bool
		if err := chromedp.Run(p.ctx, chromedp.Evaluate(`window.clicked === ""`, &moved)); err != nil || !moved { // the click may lead to another page
			return
		}
	}
	p.t.Fatalf("it moves before each click: %s", element)
}

// fill writes into a field of a form, in place of what it has.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	find := `document.querySelector(` + quote(selector) + `)`
	p.until(find)
	js[bool](p, `((e) => { e.focus(); e.select?.(); return true })(`+find+`)`)
	p.do(input.InsertText(text))
}

// choose chooses an option of a field of a form.
func (p *tab) choose(selector, value string) {
	p.t.Helper()
	p.until(`document.querySelector(` + quote(selector) + `)`) // the inbox may get the question only now
	js[bool](p, `((e) => { e.value = `+quote(value)+`; e.dispatchEvent(new Event("change", {bubbles: true})); return true })(document.querySelector(`+quote(selector)+`))`)
}

// picture writes what the tab shows into the directory PICTURES, if that is set.
func (p *tab) picture(name string) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	var b []byte
	shoot := chromedp.FullScreenshot(&b, 100)
	if strings.HasPrefix(name, "chat-") { // its end, as its reader sees it
		shoot = chromedp.CaptureScreenshot(&b)
	}
	if err := chromedp.Run(p.ctx, shoot); err != nil {
		p.t.Log(err)
		return
	}
	if name == "failed" {
		name = strings.ReplaceAll(p.t.Name(), "/", "-") + "-failed"
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
		p.t.Log(err)
	}
}

func (p *tab) narrow(width int64) { p.t.Helper(); p.do(chromedp.EmulateViewport(width, 640)) }

func (p *tab) dark() { p.scheme("dark") }

func (p *tab) scheme(name string) {
	p.t.Helper()
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}
