package console_test

import (
	"strings"
	"testing"
)

const twoAgents = `version: 1
agents:
  first:
    default: true
    builtin: demo
    card: {name: First}
  second:
    builtin: demo
    card: {name: Second}
`

// What waits is in one place, whichever agent asks, the oldest first, and is answered
// there.
func TestInboxOfTwoAgents(t *testing.T) {
	t.Parallel()
	s := serveFile(t, twoAgents)
	s.send("/", "ask Older question?")
	s.send("/agents/second", "auth")
	s.send("/agents/second", "ask Newer question?")
	p := s.open()
	p.screen(s.at("/inbox"))
	p.until(`document.title.startsWith("(3) ")`)
	if text := p.text("#inbox"); strings.Index(text, "Older question?") > strings.Index(text, "Newer question?") || !strings.Contains(text, "First") || !strings.Contains(text, "Second") || !strings.Contains(text, "Authorization needed") {
		t.Errorf("the inbox says %s", text)
	}
	p.fill("#inbox > section:first-child textarea", "an answer")
	p.press("Answer")
	p.until(`document.title.startsWith("(2) ") && !document.querySelector("#inbox").innerText.includes("Older question?")`)
	p.until(`document.querySelector("#waiting").innerText.includes("2")`)
}

// The count is in the title of each page, and follows what happens elsewhere.
func TestWaitingIsCountedInTheTitle(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.screen(s.at("/agents"))
	id := s.send("/", "ask Which one?")
	p.until(`document.title.startsWith("(1) ")`)
	s.cli("send", "--task-id", id, "this one")
	p.until(`!document.title.startsWith("(")`)
}

// A question that comes while the inbox is open appears, unless somebody is writing.
func TestInboxIsLive(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.screen(s.at("/inbox"))
	p.shows("Nothing waits for you")
	s.send("/", "ask First question?")
	p.shows("First question?")
	p.fill("#inbox textarea", "half an ans")
	s.send("/", "ask Second question?")
	p.until(`document.title.startsWith("(2) ")`)
	if got := js[string](p, `document.querySelector("#inbox textarea").value`); got != "half an ans" {
		t.Errorf("what was being written is %q", got)
	}
}

// Each agent has a chat of its own, and its tasks are told apart.
func TestChatsOfTwoAgents(t *testing.T) {
	t.Parallel()
	s := serveFile(t, twoAgents)
	p := s.open()
	p.press("Other agents")
	p.press("Second")
	p.until(`location.pathname.endsWith("/chat/second") && document.querySelector("#composer") && document.readyState === "complete"`)
	p.say("echo to the second")
	p.state("completed")
	p.screen(s.at("/tasks"))
	p.choose("select[name=agent]", "second")
	p.press("Filter")
	p.until(`location.search.includes("agent=second") && document.readyState === "complete"`)
	p.shows("echo to the second")
	p.choose("select[name=agent]", js[string](p, `document.querySelector("select[name=agent] option:nth-child(2)").value`))
	p.press("Filter")
	p.until(`!location.search.includes("agent=second") && document.readyState === "complete"`)
	if p.says("echo to the second") {
		t.Error("the task is in the list of the other agent")
	}
}
