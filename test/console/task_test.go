package console_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// streamed opens the page of a task that wrote n chunks and has ended.
func streamed(t *testing.T, n int) *tab {
	t.Helper()
	p := share(t).open()
	p.say(fmt.Sprintf("stream %d 0", n))
	p.state("completed")
	p.screen(p.task())
	return p
}

// The scrubber shows a task as it was: by the keyboard here, where each key moves it
// by one entry.
func TestScrubber(t *testing.T) {
	t.Parallel()
	p := streamed(t, 12)
	last := js[int](p, `Number(document.querySelector("#at").max)`)
	p.do(chromedp.Focus("#at", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowLeft+kb.ArrowLeft))
	p.until(fmt.Sprintf(`location.search.includes("at=%d")`, last-2))
	p.shows(fmt.Sprintf("as of entry %d", last-2))
	if p.says("chunk 12") || !p.says("chunk 11") {
		t.Error("two entries before its end the task had eleven chunks, which is not what the page shows")
	}
	if p.count("[data-live]") != 0 {
		t.Error("the past goes on")
	}
	p.press("Back to the end")
	p.until(`!location.search && document.readyState === "complete"`)
	p.shows("chunk 12")
}

// Each position of the log can be linked to, and each view keeps it.
func TestEveryViewAsOfAPosition(t *testing.T) {
	t.Parallel()
	p := streamed(t, 8)
	at := js[string](p, "location.pathname")
	for _, view := range []string{"timeline", "wire", "log"} {
		p.screen(p.origin + at + "?at=6&view=" + view)
		if p.says("chunk 8") {
			t.Errorf("%s shows what was written later", view)
		}
		if got := js[string](p, `document.querySelector("#at").value`); got != "6" {
			t.Errorf("in %s the scrubber stands at %s", view, got)
		}
	}
	p.press("Conversation")
	p.until(`new URLSearchParams(location.search).get("at") === "6"`)
}

// Chunks that came one after another are one line with their count and bytes.
func TestTimelineMergesChunks(t *testing.T) {
	t.Parallel()
	p := streamed(t, 60)
	p.press("Timeline")
	p.shows("60 chunks, ")
	if n := p.count(".happening.artifact"); n != 1 {
		t.Errorf("the chunks are %d lines", n)
	}
	if n := p.count(".happening"); n > 10 {
		t.Errorf("the timeline has %d lines", n)
	}
}

// The command that the wire view offers to copy runs in a shell.
func TestCopiedCommandsRun(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("echo it's \"quoted\" $HOME `id`")
	p.state("completed")
	p.screen(p.task() + "?view=wire")
	const said = "it's \"quoted\" $HOME `id`"
	for name, command := range map[string]string{"curl": "As a curl command", "parley": "On the command line"} {
		line := js[string](p, `[...document.querySelectorAll("details")].find((d) => d.querySelector("summary").textContent === `+quote(command)+`).querySelector("pre").textContent`)
		line = strings.Replace(line, "parley send", parley+" send", 1)
		out, err := exec.Command("sh", "-c", line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
		if name == "curl" {
			out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte(`\"`), []byte(`"`)), []byte(`\u0026`), []byte("&"))
		}
		if !strings.Contains(string(out), said) {
			t.Errorf("%s answered %s", line, out)
		}
	}
}

// The events of the wire view are those of a stream of version 1.0.
func TestWireShowsEventsAsSent(t *testing.T) {
	t.Parallel()
	p := streamed(t, 3)
	p.press("Wire")
	p.until(`location.search.includes("view=wire") && document.readyState === "complete"`)
	for _, want := range []string{`"method": "SendMessage"`, `"artifactUpdate"`, `"statusUpdate"`, `"TASK_STATE_COMPLETED"`, `"chunk 3\n"`} {
		if !p.says(want) {
			t.Errorf("the wire view lacks %s", want)
		}
	}
}

// A request of the wire view is edited as it was sent, and sent again.
func TestEditAndSendAgain(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("echo frist")
	p.state("completed")
	first := p.task()
	p.screen(first + "?view=wire")
	p.press("Edit and send again")
	p.until(`document.querySelector("textarea[name=params]").value.includes("echo frist")`)
	p.fill("textarea[name=params]", strings.Replace(js[string](p, `document.querySelector("textarea[name=params]").value`), "frist", "first", 1))
	p.press("Send")
	p.until(`!location.href.startsWith(` + quote(first) + `) && location.pathname.includes("/tasks/") && document.readyState === "complete"`)
	p.press("Conversation")
	p.until(`!location.search.includes("wire") && document.querySelector(".said.user")?.innerText === "echo first"`)
	p.shows("completed")
}

// A long log is read in pages, each entry once.
func TestLogInPages(t *testing.T) {
	t.Parallel()
	p := streamed(t, 450)
	p.press("Log")
	p.until(`location.search.includes("view=log") && document.readyState === "complete"`)
	var seen []string
	for {
		seen = append(seen, js[[]string](p, `[...document.querySelectorAll(".entry > p")].map((s) => s.textContent.match(/\d+/)[0])`)...)
		if !js[bool](p, `[...document.querySelectorAll("a.button")].some((a) => a.textContent === "Further entries")`) {
			break
		}
		p.press("Further entries")
		p.until(fmt.Sprintf(`document.readyState === "complete" && new URLSearchParams(location.search).get("after") === "%d"`, len(seen)))
	}
	for i, seq := range seen {
		if seq != fmt.Sprint(i+1) {
			t.Fatalf("entry %s stands where %d should", seq, i+1)
		}
	}
	if len(seen) < 450 {
		t.Errorf("there are %d entries", len(seen))
	}

	// A link to an entry leads to a page that has it, and so do the scrubber and the pages of the end.
	shows := func(first, last int) {
		t.Helper()
		p.until(fmt.Sprintf(`document.readyState === "complete" && ((e) => e.at(0) === "%d" && e.at(-1) === "%d")([...document.querySelectorAll(".entry > p a")].map((a) => a.textContent))`, first, last))
	}
	p.press("401")
	shows(202, 401)
	p.press("Earlier entries")
	shows(2, 201)
	p.do(chromedp.Focus("#at", chromedp.ByQuery), chromedp.KeyEvent(kb.End))
	shows(len(seen)-199, len(seen))
	p.press("Wire")
	p.press("Last entries")
	shows(len(seen)-199, len(seen))
}

// Artifacts are saved unchanged, one or all of them.
func TestDownloads(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	p.say("file")
	p.state("completed")
	p.screen(p.task())
	// The browser's own saving goes to a disk; its request is the same.
	fetched := func(href string) []byte {
		t.Helper()
		text := js[string](p, `fetch(`+quote(href)+`).then((r) => r.bytes ? r.bytes() : r.arrayBuffer().then((b) => new Uint8Array(b))).then((b) => btoa(String.fromCharCode(...b)))`)
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	p.until(`document.querySelector("#content img.media").naturalWidth === 32`)
	picture, err := os.ReadFile("../../agent/pixel.png")
	if err != nil {
		t.Fatal(err)
	}
	if b := fetched(js[string](p, `((part) => part.getAttribute("src") ?? part.href)([...document.querySelectorAll("#content .media, #content a[download]")].find((e) => !e.textContent.includes("Download all")))`)); !bytes.Equal(b, picture) {
		t.Errorf("the artifact is %q", b)
	}
	all := fetched(js[string](p, `[...document.querySelectorAll("a")].find((a) => a.textContent.includes("Download all")).href`))
	z, err := zip.NewReader(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "pixel.png" {
		t.Fatalf("the archive has %v", z.File)
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || !bytes.Equal(b, picture) {
		t.Errorf("in the archive it is %q, %v", b, err)
	}
}

// A task is deleted once its operator says twice that it should be.
func TestDelete(t *testing.T) {
	t.Parallel()
	p := streamed(t, 2)
	address := js[string](p, "location.href")
	p.press("Delete…")
	p.press("Delete")
	if js[bool](p, `document.querySelector("input[name=sure]").checkValidity()`) {
		t.Error("the form may be sent without a tick")
	}
	p.click("input[name=sure]")
	p.press("Delete")
	p.until(`location.pathname.endsWith("/tasks")`)
	p.allow("status of 404")
	p.go_(address)
	p.shows("There is no such task")
}

// A task that works is cancelled from its page.
func TestCancelFromTheTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.send("/", "sleep 600")
	p := s.open()
	p.screen(s.at("/tasks/-/" + id))
	p.press("Cancel…")
	p.press("Cancel the task")
	p.until(`document.querySelector(".head .state").textContent === "canceled"`)
	p.screen(s.at("/tasks/-/" + id + "?view=timeline"))
	p.shows("Cancel requested")
}

// A question is answered at the task's page, which goes on by itself.
func TestReplyAtTheTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.send("/", "ask Which size?")
	p := s.open()
	p.screen(s.at("/tasks/-/" + id))
	p.fill("main form textarea[name=text]", "large")
	p.press("Answer")
	p.shows("large")
	p.shows("completed")
}

// A page of a task that is at work follows it: what stands above the conversation, the
// scrubber, and the field below it once the task asks.
func TestTaskPageFollowsTheTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.send("/", "stream 40 50")
	p := s.open()
	p.screen(s.at("/tasks/-/" + id))
	p.until(`document.querySelector("#about .state").textContent === "completed" && document.querySelector("#about").innerText.includes("Download all")`)
	p.until(`document.querySelector("#at").max === "44" && document.querySelector("#at").value === "44" && document.querySelector("output").textContent === "44 of 44"`)
	if p.says("Cancel") {
		t.Error("a task that has ended can be canceled")
	}

	id = s.send("/", "sleep 600")
	p.screen(s.at("/tasks/-/" + id))
	js[bool](p, `document.querySelector("#about details.confirm").open = true`)
	s.cli("task", "cancel", id)
	p.until(`document.querySelector("#as-of [id$=state] .state").textContent === "canceled"`)
	if !js[bool](p, `document.querySelector("#about details.confirm").open`) {
		t.Error("what somebody has opened is gone")
	}
	p.do(chromedp.KeyEvent("\x1b"))
	p.until(`document.querySelector("#about .state").textContent === "canceled"`)
}

// The views that are no conversation go on, too, until the task ends, unless the past is
// shown or something is open.
func TestEveryViewFollowsTheTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.send("/", "ask Which size?")
	at := s.at("/tasks/-/" + id + "?view=")
	timeline, wire, past := s.open(), s.open(), s.open()
	timeline.screen(at + "timeline")
	wire.screen(at + "wire")
	wire.press("As a curl command")
	past.screen(at + "timeline&at=2")
	s.cli("task", "cancel", id)
	const state = `document.querySelector("#about .state").textContent === "canceled"`
	timeline.until(state + ` && document.querySelector("#view").innerText.includes("Cancel requested") && document.querySelector("#at").max === "5"`)
	timeline.until(`!document.querySelector("[data-polled]")`)
	wire.until(state)
	if wire.says("TASK_STATE_CANCELED") {
		t.Error("a page is changed under the eyes of somebody who has opened a part of it")
	}
	wire.press("As a curl command")
	wire.until(`document.querySelector("#view > .event:last-child").textContent.includes("TASK_STATE_CANCELED")`)
	if n := wire.count(".copied > button"); n != wire.count("pre[data-copy]") {
		t.Errorf("%d documents have a button to copy them", n)
	}
	if past.says("canceled") || past.says("Cancel requested") {
		t.Error("the past goes on")
	}
}

// While a page shows the past, what the task does now does not come into it.
func TestThePastStandsStill(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.send("/", "stream 20000 50")
	defer s.cli("task", "cancel", id)
	p := s.open()
	p.before(`window.sources = []; window.EventSource = class extends EventSource { constructor(url) { super(url); sources.push(this) } }`)
	p.screen(s.at("/tasks/-/" + id))
	p.shows("chunk 8")
	p.until(`Number(document.querySelector("#at").max) > 10`)
	move := func(to string) {
		js[bool](p, `((e) => { e.value = `+to+`; e.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("#at"))`)
	}
	move(`"6"`)
	p.shows("as of entry 6")
	if got := js[string](p, `sources.map((s) => s.readyState === EventSource.CLOSED).join()`); got != "true" { // no chunk can come
		t.Errorf("in the past, that each stream is closed is %q", got)
	}
	if text := strings.Join(strings.Fields(p.text("#as-of .said:not(.user)")), " "); text != "stream chunk 1 chunk 2 chunk 3" {
		t.Errorf("as of entry 6 the page says %q", text)
	}
	move("e.max")
	p.until(`document.querySelector("#as-of [data-live]")`)
	at := js[int](p, `document.querySelector("#as-of .said:not(.user)").innerText.match(/\d+/g).length`)
	p.shows(fmt.Sprintf("chunk %d\n", at+2))
	numbers := js[[]int](p, `document.querySelector("#as-of .said:not(.user)").innerText.match(/\d+/g).map(Number)`)
	for i, n := range numbers {
		if n != i+1 {
			t.Fatalf("chunk %d stands where %d should", n, i+1)
		}
	}
}

// The timeline has a question, its answer and the outcome, in order.
func TestTimelineOfAQuestion(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.say("ask Which city?")
	p.state("input required")
	p.say("Paris")
	p.state("completed")
	p.screen(p.task() + "?view=timeline")
	if text := p.text("main"); !regexp.MustCompile(`(?s)Turn 1.*Question.*Which city\?.*Answer.*Paris.*Completed`).MatchString(text) {
		t.Errorf("the timeline says %s", text)
	}
}
