package a2aserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"golang.org/x/net/http2"
)

// Any client can request the path of callbacks, or name a host that the server does not
// answer for, and leave the answers unread over HTTP/2: these count among the answers
// to strangers, and end in the time of a write.
func TestUnreadAnswersAreLimited(t *testing.T) {
	t.Run("callbacks", func(t *testing.T) { testUnread(t, "/callbacks/a/guess", "404", nil) })
	t.Run("another host", func(t *testing.T) { testUnread(t, "/tasks", "421", []string{"its.name"}) })
}

func testUnread(t *testing.T, path, status string, hosts []string) {
	synctest.Test(t, func(t *testing.T) {
		r := routes("a")
		r[0].Callbacks = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "there is nothing at this address")
		})
		h, err := NewHost(r, &Options{Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "no")}, Hosts: hosts})
		if err != nil {
			t.Fatal(err)
		}
		p := NewPort(h)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(from{l}) }()
		for range 2 {
			c := dialH2(t, l.Dial())
			_ = c.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			for range 240 {
				c.ask("GET", path, "", true)
			}
			synctest.Wait()
		}
		if n := h.strangers.Count(); n != addrStrangers {
			t.Errorf("%d answers are under way", n)
		}
		last := dialH2(t, l.Dial())
		last.ask("GET", path, "", true)
		if got := <-last.last; !strings.Contains(got, ":status: "+status+"\n") {
			t.Errorf("one more: %q", got)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := h.strangers.Count(); n != 0 {
			t.Errorf("%d are left", n)
		}
		_ = p.Close()
		<-ended
	})
}

// The bodies of callbacks count among the large ones for as long as the agent has them,
// even after all of a body has arrived.
func TestLargeCallbacksWaitForRoom(t *testing.T) {
	const size = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		r, taken := routes("a"), make(chan struct{})
		r[0].Callbacks = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err == nil {
				<-taken
			}
			fmt.Fprint(w, len(b), " ", err)
		})
		h, err := NewHost(r, &Options{MaxBody: size, Limits: Limits{Bodies: 4 * bodyCost * size}})
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan string, 3)
		for range 3 { // an address has a quarter of the room
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("POST", "/callbacks/a/x", strings.NewReader(strings.Repeat("x", size))))
				answers <- w.Body.String()
			}()
		}
		synctest.Wait()
		if n := h.front().memory.Used(); n != bodyCost*size {
			t.Errorf("%d bytes are held", n)
		}
		time.Sleep(31 * time.Second)
		for range 2 {
			if got := <-answers; !strings.Contains(got, errFull.Message) {
				t.Errorf("without room: %q", got)
			}
		}
		close(taken)
		if got := <-answers; got != fmt.Sprint(size, " <nil>") {
			t.Errorf("with room: %q", got)
		}
		if n := h.front().memory.Used(); n != 0 {
			t.Errorf("%d bytes are held afterwards", n)
		}
	})
}
