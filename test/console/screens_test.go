package console_test

import "testing"

// Every screen opens, in both schemes; with PICTURES each is written as a picture.
func TestScreens(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.say("ask Which city?")
	p.state("input required")
	p.say("Paris")
	p.state("completed")
	p.say("stream 20 5")
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	p.state("completed")
	task := js[string](p, `document.querySelector("#talks .line a").getAttribute("href")`)
	p.say("ask Which size?")
	p.state("input required")
	chat := js[string](p, "location.pathname + location.search")
	for name, path := range map[string]string{
		"chat": chat, "inbox": "/console/inbox", "tasks": "/console/tasks", "agents": "/console/agents", "agent": "/console/agents/-", "operate": "/console/operate", "webhooks": "/console/webhooks",
		"task": task, "timeline": task + "?view=timeline", "wire": task + "?view=wire", "log": task + "?view=log",
	} {
		p.go_("http://" + s.addr + path)
		p.until(`document.readyState === "complete" && document.querySelector("main h1")`)
		p.picture(name)
	}
	p.dark()
	p.go_("http://" + s.addr + chat)
	p.until(`document.querySelector("#composer")`)
	p.picture("chat-dark")
}
