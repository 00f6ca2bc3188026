package console_test

import (
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// Two servers share a database: a task of one is followed, answered and counted at the
// other, with the session that the first began.
func TestSecondReplica(t *testing.T) {
	t.Parallel()
	if chrome == nil {
		t.Skip("there is no Chromium here")
	}
	cluster := pgtest.New(t, nil)
	store := "PARLEY_STORE=" + cluster.Database(t)
	var replicas [2]*server
	for i := range replicas {
		s := newServer(t)
		s.env = []string{store}
		s.start()
		t.Cleanup(func() { s.end(os.Kill) })
		replicas[i] = s
	}
	one, two := replicas[0], replicas[1]
	p := one.open()
	p.say("stream 60 40")
	p.until(chunks + `.startsWith("1 2 3")`)
	q := two.open()
	q.go_(strings.Replace(js[string](p, "location.href"), one.addr, two.addr, 1))
	q.until(chunks + `.startsWith("1 2 3")`)
	for _, tab := range []*tab{p, q} {
		tab.state("completed")
		if got := js[string](tab, chunks); got != counted(60) {
			t.Errorf("a page shows %s", got)
		}
	}
	p.say("ask Which city?")
	p.state("input required")
	q.screen(two.at("/inbox"))
	q.fill("#inbox textarea", "Paris")
	q.press("Answer")
	p.state("completed")
	p.shows("Paris")
	q.until(`!document.querySelector("#inbox textarea")`) // before that the browser asks whether to leave
	q.screen(two.at("/operate"))
	if n := js[int](q, `[...document.querySelectorAll("td .state")].filter((s) => s.textContent === "alive").length`); n != 2 {
		t.Errorf("%d servers are alive", n)
	}
}
