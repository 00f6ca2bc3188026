package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A person opens the printed link, writes, and reads the answer.
func TestFirstAnswer(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("echo hello")
	p.state("completed")
	p.shows("hello")
	if here := js[string](p, "location.search"); !strings.HasPrefix(here, "?context=") {
		t.Errorf("the context is not in the address, which can be opened again: %q", here)
	}
	p.reload()
	p.state("completed")
	p.shows("hello")
}

// chunks are the numbers that the page shows of a stream.
const chunks = `([...document.querySelectorAll("#talks section.said")].map((e) => e.innerText).join(" ").match(/\d+/g) ?? []).join(" ")`

func counted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i+1)
	}
	return strings.TrimSpace(b.String())
}

// counting is an agent that counts to 60, and waits at 30 for what goOn makes: what a test
// does before is in the middle of a stream, however slow the browser is.
var counting = []string{"--", "sh", "-c", `for n in $(seq 60); do echo chunk $n; test $n != 30 || until test -e go; do sleep 0.05; done; sleep 0.02; done`}

func (s *server) goOn() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Nobody's console does this: the server is killed in the middle of a stream, and the
// page goes on by itself, with each chunk once.
func TestKilledInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	s := serve(t, counting...)
	p := s.open()
	p.outage()
	p.say("count")
	p.until(chunks + `.startsWith("1 2 3 4 5 6 7 8")`)
	s.end(kill)
	p.until(`!document.querySelector("[data-line]").hidden`)
	s.goOn()
	s.start()
	p.state("completed")
	p.until(`document.querySelector("[data-line]").hidden`)
	if got := js[string](p, chunks); got != counted(60) {
		t.Errorf("the page shows %s", got)
	}
	p.reload()
	p.state("completed")
	if got := js[string](p, chunks); got != counted(60) {
		t.Errorf("loaded again it shows %s", got)
	}
}

// A question is answered where it is asked.
func TestAskAndAnswer(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("ask Which city?")
	p.state("input required")
	p.shows("Which city?")
	p.shows("Your answer goes to task")
	p.say("Paris")
	p.state("completed")
	p.shows("Paris")
	if n := js[int](p, `document.querySelectorAll("#talks > section").length`); n != 1 {
		t.Errorf("there are %d tasks", n)
	}
	if js[bool](p, `document.body.innerText.includes("Your answer goes to task")`) {
		t.Error("the next message would still be an answer")
	}
}

// The keyboard of a touch screen has no Shift and Enter: Enter is a new line, and the
// button sends.
func TestTwoLinesOnATouchScreen(t *testing.T) {
	t.Parallel()
	p := share(t).tab()
	p.do(emulation.SetTouchEmulationEnabled(true), emulation.SetDeviceMetricsOverride(390, 844, 2, true))
	p.go_(share(t).link)
	p.chat()
	p.until(`matchMedia("(pointer: coarse)").matches`)
	p.say("echo one")
	p.do(input.InsertText("two"))
	if got := js[string](p, `document.querySelector("textarea[name=text]").value`); got != "echo one\ntwo" {
		t.Errorf("Enter made %q", got)
	}
	p.press("Send")
	p.state("completed")
	p.shows("one\ntwo")
}

func TestFailureWithRetry(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("fail out of paper")
	p.state("failed")
	p.shows("out of paper")
	js[bool](p, `(document.querySelector("#talks .failed form button").focus(), true)`)
	p.enter()
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	p.state("failed")
	p.until(`document.activeElement === document.querySelector("#talks .failed form button")`)
	if n := js[int](p, `document.querySelectorAll("#talks .user").length`); n != 2 {
		t.Errorf("it was said %d times", n)
	}
}

// On paper a conversation is what was said.
func TestPrint(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("echo # Rivers")
	p.state("completed")
	p.do(emulation.SetEmulatedMedia().WithMedia("print"))
	if p.says("Send") || p.says("Inbox") || p.says("New context") || !p.says("Rivers") {
		t.Errorf("printed is %q", p.text("body"))
	}
}

func TestStopCancels(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("sleep 600")
	p.state("working")
	p.until(`[...document.querySelectorAll("#talks form button")].some((b) => b.textContent === "Stop")`)
	p.click("#talks form button")
	p.state("canceled")
}

func TestClosingTheTabDoesNotCancel(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.say("sleep 600")
	p.state("working")
	p.do(chromedp.Navigate("about:blank"))
	if list := s.cli("task", "list", "--status", "working"); !strings.Contains(list, "1 of 1") {
		t.Errorf("the task does not go on: %s", list)
	}
}

func TestContextGoesOnAndANewOneBegins(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("echo one")
	p.state("completed")
	context := js[string](p, `document.querySelector("input[name=context]").value`)
	p.say("echo two")
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	p.state("completed")
	if got := js[string](p, `document.querySelector("input[name=context]").value`); got != context {
		t.Errorf("the context was %s and is %s", context, got)
	}
	p.click(`[data-key="n"]`)
	p.until(`document.querySelectorAll("#talks > section").length === 0 && !location.search`)
	p.say("echo three")
	p.state("completed")
	if got := js[string](p, `document.querySelector("input[name=context]").value`); got == context {
		t.Error("the new context is the old one")
	}
}

// No key leaves a page with a message that was not sent.
func TestKeysKeepADraft(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.fill("textarea[name=text]", "echo not yet sent")
	for _, keys := range []string{"n", "gt"} {
		p.do(chromedp.KeyEvent("\x1b"))
		p.until(`document.activeElement === document.body`)
		for _, c := range keys {
			p.letter(c)
		}
		p.until(`document.activeElement.name === "text"`) // where the draft is
	}
	if got := js[string](p, `location.pathname + " " + document.querySelector("textarea[name=text]").value`); !strings.HasSuffix(got, "/chat/- echo not yet sent") {
		t.Errorf("the draft is %s", got)
	}
	p.enter()
	p.state("completed")
	p.until(`document.querySelector("#send:not(:disabled)") && document.activeElement.name === "text"`)
	p.do(chromedp.KeyEvent("\x1bgt"))
	p.until(`location.pathname.endsWith("/tasks")`)

	// One that is folded away is shown.
	p.screen(share(t).at("/tasks/-/" + share(t).send("/", "echo hello") + "?view=wire"))
	js[string](p, `document.querySelector("textarea").value = "{}"`)
	p.letter('g')
	p.letter('t')
	p.until(`document.activeElement.tagName === "TEXTAREA" && document.activeElement.checkVisibility()`)
}

// Files come by choice, drop and paste, and go back as downloads.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	name := filepath.Join(t.TempDir(), "notes.bin")
	if err := os.WriteFile(name, []byte("chosen"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles("#composer input[type=file]", []string{name}, chromedp.ByQuery))
	p.until(`document.querySelectorAll("#attached li").length === 1`)
	for kind, at := range map[string]string{"drop": "document.body", "paste": `document.querySelector("textarea")`} {
		js[bool](p, `(() => { const d = new DataTransfer(); d.items.add(new File(["`+kind+`"], "`+kind+`.txt", {type: "text/plain"}));
			`+at+`.dispatchEvent(`+map[string]string{
			"drop":  `new DragEvent("drop", {dataTransfer: d, bubbles: true, cancelable: true})`,
			"paste": `new ClipboardEvent("paste", {clipboardData: d, bubbles: true, cancelable: true})`,
		}[kind]+`); return true })()`)
		p.shows(kind + ".txt")
	}
	p.say("echo with files")
	p.state("completed")
	p.until(`document.querySelectorAll("#talks .user a.file").length === 3`)
	if n := js[int](p, `document.querySelectorAll("#attached li").length`); n != 0 {
		t.Errorf("%d files are still attached", n)
	}
	got := js[string](p, `fetch([...document.querySelectorAll("#talks .user a.file")].find((a) => a.download === "notes.bin").href).then((r) => r.headers.get("content-disposition") + " " + r.headers.get("content-type"))`+`.then((s) => { document.title = s; return s }) && ""`)
	_ = got
	p.until(`document.title.includes("attachment") && document.title.includes("application/octet-stream")`)
}

func TestRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	p := serveFile(t, "version: 1\nagents:\n  reader: {builtin: demo, card: {input_modes: [text/plain, 'image/*']}}\nlimits: {body: 64KiB}\n").open()
	drop := func(size int, name, kind string) {
		t.Helper()
		js[bool](p, fmt.Sprintf(`(() => { const d = new DataTransfer(); d.items.add(new File([new Uint8Array(%d)], %q, {type: %q}));
			document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: d, bubbles: true, cancelable: true})); return true })()`, size, name, kind))
	}
	drop(100000, "large.png", "image/png")
	p.shows("large.png is too large")
	drop(1, "song.mp3", "audio/mpeg")
	p.shows("song.mp3: the agent does not accept audio/mpeg. It accepts text/plain, image/*.")
	if n := js[int](p, `document.querySelectorAll("#attached li").length`); n != 0 {
		t.Errorf("%d files are attached", n)
	}
	drop(1, "notes.txt", "text/plain")
	drop(1, "small.png", "image/png")
	p.until(`document.querySelectorAll("#attached li").length === 2`)
}

func TestKindsOfParts(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("file")
	p.state("completed")
	p.until(`document.querySelector("#talks a.file[rel~=noopener]")`)
	p.say("data")
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	p.state("completed")
	p.until(`document.querySelector("#talks .tree details")`)
	p.say("echo # Title\n\n* one **two**")
	p.until(`document.querySelectorAll("#talks > section").length === 3`)
	p.state("completed")
	p.until(`document.querySelector("#talks .rich h2")?.textContent === "Title"`)
}

// The same page is written twice in one go: while it is followed, and when it is
// loaded.
func TestAFollowedPageLooksLikeALoadedOne(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("stream 10 20")
	p.state("completed")
	p.say("ask Which?")
	p.state("input required")
	const look = `[...document.querySelectorAll("#talks > section")].map((s) => s.innerText.replace(/\s+/g, " ")).join("|")`
	before := js[string](p, look)
	p.reload()
	p.state("input required")
	if after := js[string](p, look); after != before {
		t.Errorf("followed: %s\nloaded:   %s", before, after)
	}
}

// On the page of the task itself there is no place for another one: its conversation opens.
func TestRetryFromTheTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.screen(s.at("/tasks/-/" + s.send("/", "fail out of paper")))
	p.press("Try again")
	p.until(`location.pathname.endsWith("/chat/-") && document.querySelectorAll("#talks > section").length === 2`)
}

// Whatever leaves a page asks before an unsent message is lost with it.
func TestADraftIsNotLostByALink(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	asked := make(chan page.DialogType, 8)
	chromedp.ListenTarget(p.ctx, func(ev any) {
		if d, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			asked <- d.Type
		}
	})
	p.fill("textarea[name=text]", "echo not yet sent")
	js[bool](p, `(window.send = window.fetch, window.fetch = () => Promise.reject(), true)`)
	p.enter()
	p.shows("The server did not answer")
	p.do(chromedp.Evaluate(`setTimeout(() => document.querySelector(".places a[href$=tasks]").click())`, nil))
	select {
	case kind := <-asked:
		if kind != page.DialogTypeBeforeunload {
			t.Errorf("it asks %s", kind)
		}
	case <-time.After(patience):
		t.Fatal("the page goes without a word")
	}
	p.do(page.HandleJavaScriptDialog(false))
	if got := js[string](p, `document.querySelector("textarea[name=text]").value`); got != "echo not yet sent" {
		t.Errorf("the draft is %q", got)
	}
	js[bool](p, `(window.fetch = window.send, true)`)
	p.enter()
	p.state("completed")
	p.screen(share(t).at("/operate?view=settings"))
	p.fill("textarea[name=draft]", "version: 1")
	p.press("Check") // the form sends the draft, so the browser does not ask
	p.until(`location.pathname.endsWith("/operate/draft") && document.readyState === "complete"`)
	if len(asked) > 0 {
		t.Error("it asks although nothing is lost")
	}
}

// Keys of one letter can be turned off (WCAG 2.1.4), and stay so on the next page.
func TestKeysCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	slash := func(want string) {
		t.Helper()
		js[bool](p, `(document.activeElement.blur(), true)`)
		p.letter('/')
		if got := js[string](p, `document.activeElement.tagName`); got != want {
			t.Errorf("the key moves the focus to %s, want %s", got, want)
		}
	}
	slash("TEXTAREA")
	p.press("Single-letter keys")
	slash("BODY")
	p.reload()
	p.chat()
	slash("BODY")
	p.press("Single-letter keys")
	slash("TEXTAREA")
}

// An answer without a task is with nobody but the tab, which has it where it was said when
// the page is loaded again or come back to, for as long as its session.
func TestAnswersWithoutATaskStayInTheirTab(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("message one")
	p.shows("Only this tab shows it")
	p.say("ask Which city?")
	p.state("input required")
	p.say("Paris")
	p.state("completed")
	p.say("message three")
	p.until(`document.querySelectorAll("#talks > section").length === 3 && document.querySelector("#send:not(:disabled)")`)
	const look = `[...document.querySelectorAll("#talks > section")].map((s) => s.innerText.replace(/\s+/g, " ")).join("|")`
	before := js[string](p, look)
	address := js[string](p, "location.href")
	p.reload()
	p.until(look + " === " + quote(before))
	p.screen(share(t).at("/tasks"))
	p.do(chromedp.NavigateBack())
	p.until(look + " === " + quote(before))

	// Another tab has the task, and in a context without one is told why it has nothing.
	other := share(t).open()
	other.screen(address)
	if n := other.count("#talks > section"); n != 1 {
		t.Errorf("another tab shows %d of them", n)
	}
	other.screen(share(t).at("/chat/-?context=of-messages"))
	other.shows("only the tab that got the answer shows it")

	// What another session kept is not shown.
	js[bool](p, `(history.replaceState({...history.state, session: "another"}, ""), true)`)
	p.reload()
	p.until(`document.readyState === "complete" && document.querySelectorAll("#talks > section").length === 1`)
}

// A tab shows the tasks that begin in another tab of its context, once each, and follows them.
func TestTasksOfAnotherTab(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("ask Which city?")
	p.state("input required")
	other := share(t).open()
	other.screen(js[string](p, "location.href"))
	p.say("Paris")
	p.state("completed")
	p.say("ask Which size?")
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	other.until(`document.querySelectorAll("#talks > section").length === 2`)
	other.shows("Which size?")
	other.shows("Your answer goes to task")
	other.say("Large")
	p.state("completed")
	other.state("completed")
	p.say("echo the last one")
	other.until(`document.querySelector("#talks").innerText.includes("the last one")`)
	for _, tab := range []*tab{p, other} {
		if n := tab.count("#talks > section"); n != 3 {
			t.Errorf("a tab shows %d tasks, want 3", n)
		}
	}
}

// Of two questions in a context, the one that was chosen gets the answer: what comes
// meanwhile changes nothing, and then the other one waits.
func TestTwoQuestionsInAContext(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.say("ask Which city?")
	p.state("input required")
	p.fill("textarea[name=text]", "Par")
	context := js[string](p, `new URL(location.href).searchParams.get("context")`)
	s.cli("send", "--context-id", context, "ask Which size?")
	const chosen = `document.querySelector("#answering label:has(:checked)").textContent`
	p.until(`document.querySelectorAll("#answering label").length === 2`)
	if got := js[string](p, chosen); !strings.Contains(got, "Which city?") {
		t.Errorf("while an answer to the first question is written, %q", got)
	}
	s.cli("send", "--context-id", context, "echo something else")
	p.until(`document.querySelector("#talks").innerText.includes("something else")`)
	p.say("Paris")
	p.until(`document.querySelectorAll("#answering label").length === 1`)
	if got := js[string](p, chosen); !strings.Contains(got, "Which size?") {
		t.Errorf("once the first question is answered, %q", got)
	}
	p.say("Large")
	p.until(`!document.querySelector("#answering label")`)
	p.reload()
	p.chat()
	said := js[[]string](p, `[...document.querySelectorAll("#talks > section")].map((e) => [...e.querySelectorAll(".user")].map((e) => e.textContent).join())`)
	slices.Sort(said)
	if want := []string{"ask Which city?,Paris", "ask Which size?,Large", "echo something else"}; !slices.Equal(said, want) {
		t.Errorf("the tasks have %q, want %q", said, want)
	}
}
