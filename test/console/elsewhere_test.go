package console_test

import "testing"

// An agent of another server is looked at and talked to by its address alone.
func TestAgentOfAnotherServer(t *testing.T) {
	t.Parallel()
	there := share(t)
	s := serve(t, "--egress-allow", "http://127.0.0.1")
	p := s.open()
	p.screen(s.at("/elsewhere"))
	p.fill("input[name=agent]", "http://"+there.addr)
	p.press("Look")
	p.until(`location.search.includes("agent=") && document.readyState === "complete" && document.querySelector("table.matrix")`)
	p.shows("Parley demo")
	if n := p.count("table.matrix .yes"); n < 3 {
		t.Errorf("%d bindings and versions answer: %s", n, p.text("table.matrix"))
	}
	p.press("Chat")
	p.chat()
	p.say("echo from afar")
	p.state("completed")
	p.shows("from afar")
}

// An address that is not allowed is not called, and the page says so.
func TestForeignAddressThatIsRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.screen(s.at("/elsewhere"))
	p.allow("status of 502")
	p.fill("input[name=agent]", "http://169.254.169.254/latest")
	p.press("Look")
	p.shows("It cannot be called")
}
