package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shownTasks are the tasks that a list shows, by their addresses.
const shownTasks = `[...document.querySelectorAll("#rows a.row")].map((a) => a.pathname)`

// The words of a task stay legible where the other columns leave little room.
func TestWordsOnATablet(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send("/", "echo "+strings.Repeat("a few words ", 6))
	p := s.open()
	p.screen(s.at("/tasks?live=off"))
	for _, width := range []int64{360, 768, 1024, 1280} {
		p.narrow(width)
		if lines := js[int](p, `document.querySelector("#rows a.row").getClientRects().length`); lines > 3 {
			t.Errorf("at %d pixels 77 letters are %d lines", width, lines)
		}
	}
}

// Filters are in the address, so that they are there after a reload and can be sent to
// somebody.
func TestFilterAndReload(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send("/", "fail out of paper")
	s.send("/", "echo fine")
	p := s.open()
	p.screen(s.at("/tasks"))
	p.until(`document.querySelectorAll("#rows .state.completed, #rows .state.failed").length === 2`)
	p.choose("select[name=state]", "failed")
	p.press("Filter")
	p.until(`location.search.includes("state=failed") && document.readyState === "complete"`)
	for range 2 {
		if n := len(js[[]string](p, shownTasks)); n != 1 || !p.says("fail out of paper") || p.says("echo fine") {
			t.Errorf("the list of failed tasks has %d rows: %s", n, p.text("#rows"))
		}
		if got := js[string](p, `document.querySelector("select[name=state]").value`); got != "failed" {
			t.Errorf("the filter says %q", got)
		}
		p.reload()
	}
	p.press("Show all")
	p.until(`!location.search.includes("state=failed") && document.readyState === "complete"`)
	p.shows("echo fine")
}

// A list goes on page by page, and each task is on one of them.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := serve(t)
	want := map[string]bool{}
	for i := range 120 {
		want["/console/tasks/-/"+s.send("/", fmt.Sprintf("echo %d", i))] = true
	}
	p := s.open()
	p.screen(s.at("/tasks?live=off"))
	seen := map[string]bool{}
	for pages := 1; ; pages++ {
		shown := js[[]string](p, shownTasks)
		for _, at := range shown {
			if seen[at] {
				t.Fatalf("%s is on two pages", at)
			}
			seen[at] = true
		}
		if !js[bool](p, `[...document.querySelectorAll("a")].some((a) => a.textContent === "Older tasks")`) {
			if pages < 3 {
				t.Errorf("there are %d pages", pages)
			}
			break
		}
		p.press("Older tasks")
		p.until(fmt.Sprintf(`document.readyState === "complete" && !(%s).includes(%q)`, shownTasks, shown[0]))
	}
	for at := range want {
		if !seen[at] {
			t.Errorf("%s is on no page", at)
		}
	}
}

// Ages go by the server's clock: that of a telephone may be wrong.
func TestAgesGoByTheServersClock(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send("/", "echo hello")
	p := s.open()
	p.before(`Date.now = ((now) => () => now() - 3600000)(Date.now)`)
	p.screen(s.at("/tasks"))
	p.until(`document.querySelector("#rows time")`)
	if got := js[string](p, `new Promise((done) => new MutationObserver(() => done(document.querySelector("#rows time").textContent)).observe(document.querySelector("#rows"), {childList: true, subtree: true}))`); got == "0 s" {
		t.Errorf("the age becomes %s", got)
	}
}

// A list shows what happens, and stands still while somebody reads it.
func TestListIsLiveAndPauses(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.screen(s.at("/tasks"))
	p.shows("There are no tasks yet.")
	waits := s.send("/", "ask Which one?")
	p.until(`!document.querySelector(".empty").checkVisibility()`)
	p.until(`document.querySelector("#rows .state")?.textContent === "input required"`)
	s.cli("send", "--task-id", waits, "this one")
	p.until(`document.querySelector("#rows .state")?.textContent === "completed"`)
	if n := p.count("#rows tr"); n != 1 {
		t.Errorf("one task has %d rows", n)
	}
	p.until(`!["0 s", "1 s"].includes(document.querySelector("#rows time").textContent)`) // its age goes on
	p.press("Pause")
	p.until(`location.search.includes("live=off") && document.readyState === "complete"`)
	s.send("/", "echo unseen")
	watch := s.open() // what a live page shows, a paused one would have got, too
	watch.screen(s.at("/tasks"))
	watch.shows("echo unseen")
	if p.says("echo unseen") {
		t.Error("a list that pauses goes on")
	}
	p.press("Resume")
	p.until(`!location.search.includes("live=off") && document.readyState === "complete"`)
	p.shows("echo unseen")
}

// A task's summary is shown as text, whoever wrote it.
func TestHostileWordsInLists(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send("/", `ask <img src=x onerror=alert(1)><script>document.title="ran"</script>`)
	p := s.open()
	for _, path := range []string{"/tasks", "/inbox", "/operate"} {
		p.screen(s.at(path))
		if p.count("main script, main img") != 0 {
			t.Errorf("%s has elements that a client made", path)
		}
		if path != "/operate" {
			p.shows("<script>")
		}
	}
}

// Ten thousand events are one page, which a browser has soon: the bound is for a hang,
// docs/console.md has what was measured.
func TestTaskOfTenThousandEvents(t *testing.T) {
	t.Parallel()
	s := serve(t)
	id := s.send("/", "stream 10000 0")
	p := s.open()
	p.screen(s.at("/tasks/-/" + id))
	p.until(`document.querySelector(".talk .state, section .state") && document.body.innerText.includes("chunk 10000")`)
	p.until(`[...document.querySelectorAll(".state")].some((s) => s.textContent === "completed")`)
	numbers := js[[]int](p, `document.querySelector("section.said").innerText.match(/\d+/g).map(Number)`)
	if !slices.IsSorted(numbers) || len(numbers) != 10_000 {
		t.Errorf("the page shows %d chunks", len(numbers))
	}
	p.screen(s.at("/tasks/-/" + id + "?view=timeline"))
	p.shows("10000 chunks")
	if ms := js[float64](p, `performance.getEntriesByType("navigation")[0].duration`); ms > 20_000 {
		t.Errorf("the timeline took %v ms", ms)
	}
}

// A list that is open for days keeps the newest tasks, and says where the others are.
func TestALiveListHasAnEnd(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.screen(s.at("/tasks"))
	js[bool](p, `import(document.querySelector("script[src*=console]").src.replace("console.js", "live.js")).then(({apply}) => {
		for (let i = 0; i < 300; i++) apply('<template data-into="#rows" data-how="prepend"><tr id="probe' + i + '"><td>task ' + i + "</td></tr></template>");
		return true;
	})`)
	if n, last := p.count("#rows tr"), js[string](p, `document.querySelector("#rows").lastElementChild.id`); n != 200 || last != "probe100" {
		t.Errorf("there are %d rows, the last one is %s", n, last)
	}
	p.press("Older tasks")
	p.until(`location.search === "?live=off" && document.readyState === "complete"`)
}
