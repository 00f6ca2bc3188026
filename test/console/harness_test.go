// Package console_test judges the web console as people meet it: the binary, and a
// real browser. Each journey has a server and a tab of its own; the browser is one.
//
// It is a module of its own, so that what drives the browser is no dependency of the
// product.
package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// patience is for what has to happen. It is no measure of speed.
const patience = 45 * time.Second

var (
	parley string          // the program
	chrome context.Context // the browser; nil: there is none here
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-console-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if parley = os.Getenv("PARLEY"); parley == "" {
		parley = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-o", parley, "./cmd/parley")
		build.Dir = "../.."
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build parley:", err)
			return 1
		}
	}
	at := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil && at == "" {
			at = path
		}
	}
	if at == "" {
		fmt.Fprintln(os.Stderr, "there is no Chromium here: .ci/install installs it")
		if os.Getenv("CI") == "true" {
			return 1
		}
		return m.Run() // each journey says that it is skipped
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(at), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.WSURLReadTimeout(time.Minute))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
		return 1
	}
	chrome = ctx
	return m.Run()
}

// server is a parley serve.
type server struct {
	t    *testing.T
	args []string
	dir  string
	addr string
	link string // that opens the console
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

var consoleLine = regexp.MustCompile(`Console\s+(\S+)`)

// serve starts a server with the demo agent, or what args say.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	if chrome == nil {
		t.Skip("there is no Chromium here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, args: args, dir: t.TempDir(), addr: l.Addr().String()}
	l.Close()
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	return s
}

// output is what a process prints.
type output struct {
	mu      sync.Mutex
	said    strings.Builder
	changed chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said.Write(b)
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(parley, append([]string{"serve", "--listen", s.addr}, s.args...)...)
	s.cmd.Dir = s.dir
	stdout, stderr := &output{changed: make(chan struct{}, 1)}, &output{changed: make(chan struct{}, 1)}
	s.cmd.Stdout, s.cmd.Stderr = stdout, stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	late := time.After(patience)
	for {
		if m := consoleLine.FindStringSubmatch(stdout.String()); m != nil && strings.Contains(stdout.String(), "Stop ") {
			s.link = m[1]
			break
		}
		select {
		case <-stdout.changed:
		case <-s.done:
			s.t.Fatalf("the server ended: %s%s", stdout, stderr)
		case <-late:
			s.t.Fatalf("the server does not come up: %s%s", stdout, stderr)
		}
	}
}

// end ends the server and waits for it.
func (s *server) end(by os.Signal) {
	_ = s.cmd.Process.Signal(by)
	<-s.done
}

// cli runs parley against the server's files.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(parley, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "A2ACLI_AGENT_CARD=http://"+s.addr)
	b, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			s.t.Fatalf("parley %q: %v %s%s", args, err, b, exit.Stderr)
		}
		s.t.Fatalf("parley %q: %v", args, err)
	}
	return strings.TrimSpace(string(b))
}

func (s *server) at(path string) string { return "http://" + s.addr + "/console" + path }

// tab is a tab of the browser, with cookies of its own.
type tab struct {
	t      *testing.T
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
	p.until(`location.pathname.includes("/chat/") && document.querySelector("#composer") && document.readyState === "complete"`)
	return p
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
	if err := chromedp.Run(ctx, cdplog.Enable(), runtime.Enable(), network.Enable()); err != nil {
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
		if ev.Entry.Level == cdplog.LevelError || ev.Entry.Source == cdplog.SourceSecurity || ev.Entry.Source == cdplog.SourceViolation && ev.Entry.Level == cdplog.LevelError {
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

// js evaluates an expression.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	var v T
	if err := chromedp.Run(p.ctx, chromedp.Evaluate(expression, &v)); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
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

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// say sends a message in a chat, by the keyboard.
func (p *tab) say(text string) {
	p.t.Helper()
	p.until(`document.querySelector("#send:not(:disabled)")`)
	p.do(chromedp.SetValue("textarea[name=text]", text, chromedp.ByQuery), chromedp.Focus("textarea[name=text]", chromedp.ByQuery), chromedp.KeyEvent("\r"))
}

// state waits for the newest task of a chat to be in a state.
func (p *tab) state(label string) {
	p.t.Helper()
	p.until(`[...document.querySelectorAll("#talks .state")].at(-1)?.textContent === ` + quote(label))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.ByQuery))
}

// picture writes what the tab shows into the directory PICTURES, if that is set.
func (p *tab) picture(name string) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	var b []byte
	if err := chromedp.Run(p.ctx, chromedp.FullScreenshot(&b, 90)); err != nil {
		p.t.Log(err)
		return
	}
	name = strings.NewReplacer("/", "-").Replace(p.t.Name()) + "-" + name + ".jpg"
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		p.t.Log(err)
	}
}

func (p *tab) narrow(width int64) { p.t.Helper(); p.do(chromedp.EmulateViewport(width, 640)) }

func (p *tab) dark() {
	p.t.Helper()
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
}

var kill = os.Signal(syscall.SIGKILL)
