package console_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// relay is the network between a browser and a server, which can fail.
type relay struct {
	t    *testing.T
	l    net.Listener
	to   string
	mu   sync.Mutex // protects the fields below
	down bool
	open map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, l: l, to: to, open: map[net.Conn]bool{}}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { r.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.fail(true)
		work.Wait()
	})
	return r
}

// pass carries one connection.
func (r *relay) pass(c net.Conn) {
	defer c.Close()
	there, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer there.Close()
	r.mu.Lock()
	if r.down {
		r.mu.Unlock()
		return
	}
	r.open[c], r.open[there] = true, true
	r.mu.Unlock()
	var one sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{c: there, there: c} {
		one.Go(func() {
			_, _ = io.Copy(to, from)
			to.Close()
		})
	}
	one.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
	delete(r.open, there)
}

// fail cuts every connection, and lets new ones through or not.
func (r *relay) fail(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	for c := range r.open {
		c.Close()
	}
}

// The network of the reader's machine fails in the middle of a stream, and the page
// goes on where it was.
func TestOfflineInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	s := serve(t, counting...)
	r := newRelay(t, s.addr)
	through := *s
	through.link = strings.Replace(s.link, s.addr, r.l.Addr().String(), 1)
	through.addr = r.l.Addr().String()
	p := through.open()
	p.outage()
	p.say("count")
	p.until(chunks + `.startsWith("1 2 3 4 5")`)
	r.fail(false) // for a moment
	p.until(chunks + `.startsWith("1 2 3 4 5 6 7 8 9 10 11 12")`)
	r.fail(true) // until the reader has been told
	p.until(`!document.querySelector("[data-line]").hidden`)
	s.goOn()
	r.fail(false)
	p.state("completed")
	if got := js[string](p, chunks); got != counted(60) {
		t.Errorf("the page shows %s", got)
	}
}

// Two tabs follow the same task, of which one came late.
func TestTwoTabsFollowOneTask(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.say("stream 40 40")
	p.until(chunks + `.startsWith("1 2 3")`)
	late := s.tab()
	late.go_(s.link)
	late.chat()
	late.go_(js[string](p, "location.href"))
	for _, one := range []*tab{p, late} {
		one.state("completed")
		if got := js[string](one, chunks); got != counted(40) {
			t.Errorf("a page shows %s", got)
		}
	}
}

// A message that a server did not take is still in its box, and is sent once.
func TestMessageKeptWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.outage()
	p.say("echo before")
	p.state("completed")
	s.end(kill)
	p.say("echo kept")
	p.shows("Your message is still here")
	if got := js[string](p, `document.querySelector("textarea[name=text]").value`); got != "echo kept" {
		t.Errorf("the box has %q", got)
	}
	s.start()
	p.click("#send")
	p.until(`document.querySelectorAll("#talks > section").length === 2`)
	p.state("completed")
	if list := s.cli("task", "list"); !strings.Contains(list, "2 of 2") {
		t.Errorf("the server has %s", list)
	}
}

// After kill -9 the timeline says that a server was lost, and what the agent wrote on
// each side of it.
func TestTimelineAfterKill(t *testing.T) {
	t.Parallel()
	s := serve(t, counting...)
	p := s.open()
	p.outage()
	p.say("count")
	p.until(chunks + `.startsWith("1 2 3 4 5")`)
	s.end(kill)
	s.goOn()
	s.start()
	p.state("completed")
	p.screen(p.task() + "?view=timeline")
	p.shows("taken over: 1 process was lost")
	if n := p.count(".happening.artifact"); n != 2 {
		t.Errorf("the stream is on %d lines", n)
	}
}

// A question that was asked before the server was killed is answered after it.
func TestQuestionSurvivesAKill(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.outage()
	p.say("ask Which city?")
	p.state("input required")
	s.end(kill)
	s.start()
	p.reload()
	p.state("input required")
	p.say("Paris")
	p.state("completed")
	p.shows("Paris")
}

// A fragment leaves alone what it does not change: a click that has begun on a button is
// not lost when its container is filled between the mouse's down and up, and a button
// that is put there anew keeps the focus.
func TestFragmentsKeepWhatIsTheSame(t *testing.T) {
	t.Parallel()
	p := share(t).open()
	js[bool](p, `import(document.querySelector("script[src*=console]").src.replace("console.js", "live.js")).then(({apply}) => {
		window.put = (how, html) => (apply('<template data-into="#probe" data-how="' + how + '">' + html + "</template>"), true);
		const probe = document.createElement("div");
		probe.id = "probe";
		document.querySelector("main").prepend(probe);
		return put("fill", '<i>working</i> <form><button type="button">Stop</button></form>');
	})`)
	js[bool](p, `(window.stops = 0, window.button = document.querySelector("#probe button"), button.addEventListener("click", () => stops++), button.focus(), true)`)
	at := js[[]float64](p, `((r) => [r.x + r.width / 2, r.y + r.height / 2])(button.getBoundingClientRect())`)
	mouse := func(kind input.MouseType) {
		p.do(input.DispatchMouseEvent(kind, at[0], at[1]).WithButton(input.Left).WithClickCount(1))
	}
	mouse(input.MousePressed)
	js[bool](p, `put("fill", '<i class="x">working</i> <form><button type="button">Stop</button></form>')`)
	js[bool](p, `put("replace", '<div id="probe" class="y"><i>works on</i> <form><button type="button">Stop</button></form></div>')`)
	mouse(input.MouseReleased)
	p.until("stops === 1")
	if got := p.text("#probe"); got != "works on Stop" && got != "works on\nStop" {
		t.Errorf("it says %q", got)
	}
	js[bool](p, `put("fill", '<b>new</b><form><input type="hidden"><button type="button">Stop</button></form>')`)
	if !js[bool](p, `document.activeElement.textContent === "Stop" && document.querySelector("#probe").className === "y"`) {
		t.Error("the button that came again has no focus, or an attribute is lost")
	}
	js[bool](p, `put("fill", "")`)
	if n := p.count("#probe *"); n != 0 {
		t.Errorf("%d elements are left", n)
	}
}
