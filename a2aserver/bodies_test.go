package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/wire"
	"google.golang.org/protobuf/proto"
)

// namedCaller is an Identity that believes a header.
type namedCaller struct{}

func (namedCaller) Authenticate(r *http.Request) (a2a.Caller, error) {
	return a2a.Caller{Subject: r.Header.Get("Name")}, nil
}

func (namedCaller) Challenges(*a2a.Error) []string { return nil }

// sender sends one message with a body whose pieces arrive when the test says so.
type sender struct {
	w   *io.PipeWriter
	rec *httptest.ResponseRecorder
	end chan struct{} // closed with the answer
}

func send(s *Server, name string, announced int64) *sender {
	pr, pw := io.Pipe()
	r := httptest.NewRequest("POST", "/message:send", pr)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Name", name)
	r.ContentLength = announced
	c := &sender{pw, httptest.NewRecorder(), make(chan struct{})}
	go func() {
		defer close(c.end)
		s.ServeHTTP(c.rec, r)
		pr.Close()
	}()
	return c
}

// say sends the next n bytes of the body. All are spaces; only the last call ends with
// the message, and ends the body.
func (c *sender) say(n int, last bool) {
	go func() {
		text := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`
		if !last {
			text = ""
		}
		_, _ = io.WriteString(c.w, strings.Repeat(" ", n-len(text))+text)
		if last {
			c.w.Close()
		}
	}()
	synctest.Wait()
}

func (c *sender) answered() bool {
	select {
	case <-c.end:
		return true
	default:
		return false
	}
}

func bodyServer(o *Options) *Server {
	return New(&fake{send: func(_ context.Context, q *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "a", Role: a2a.RoleAgent, Parts: q.Message.Parts}}, nil
	}}, testCard(), o)
}

// Large bodies wait for memory, both for their caller's share and for the total; small
// ones do not, nor do large ones of which little has arrived.
func TestLargeBodiesWaitForRoom(t *testing.T) {
	const size = 1 << 20
	for name, announced := range map[string]int64{"announced": size, "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := bodyServer(&Options{Identity: namedCaller{}, MaxBody: size, Limits: Limits{Bodies: 4 * bodyCost * size}})
				var held []*sender
				for i := range 4 { // a share each, so that nothing is left
					c := send(s, fmt.Sprint("caller ", i), announced)
					c.say(size/2, false)
					held = append(held, c)
				}
				if s.memory.Open("else").Try(large + 1) {
					t.Fatal("there is room")
				}
				waits := send(s, "another", announced)
				waits.say(size/2, false)
				little := send(s, "one more", announced)
				little.say(large/2, false)
				again := send(s, "caller 0", announced)
				again.say(size/2, false)
				small := send(s, "caller 0", -1)
				small.say(100, true)
				if !small.answered() || small.rec.Code != http.StatusOK {
					t.Errorf("a small body: %d %s", small.rec.Code, small.rec.Body)
				}
				if waits.answered() || again.answered() {
					t.Error("answered without room")
				}
				// Each frees its memory for the next of all calls, and for the next of
				// its caller.
				held[1].say(size/2, true)
				if !held[1].answered() || held[1].rec.Code != http.StatusOK {
					t.Errorf("%d %s", held[1].rec.Code, held[1].rec.Body)
				}
				waits.say(size/2, true)
				if !waits.answered() || waits.rec.Code != http.StatusOK {
					t.Errorf("the call that waited: %d %s", waits.rec.Code, waits.rec.Body)
				}
				held[0].say(size/2, true)
				again.say(size/2, true)
				if !again.answered() || again.rec.Code != http.StatusOK {
					t.Errorf("the call that waited for its caller's other call: %d %s", again.rec.Code, again.rec.Body)
				}
				little.say(size-large/2, true)
				if !little.answered() || little.rec.Code != http.StatusOK {
					t.Errorf("the call whose body began small: %d %s", little.rec.Code, little.rec.Body)
				}
				for _, c := range held[2:] {
					c.w.CloseWithError(errors.New("gone"))
					<-c.end
				}
				if n := s.memory.Used(); n != 0 {
					t.Errorf("%d bytes are held when all are gone", n)
				}
			})
		})
	}
}

func TestLargeBodiesDoNotWaitForEver(t *testing.T) {
	const size = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		s := bodyServer(&Options{Identity: namedCaller{}, MaxBody: size, Limits: Limits{Bodies: size}})
		held := send(s, "one", size)
		held.say(size/2, false)
		c := send(s, "x", size)
		c.say(size/2, false)
		time.Sleep(budget.Wait - 1)
		synctest.Wait()
		if c.answered() {
			t.Fatalf("answered too soon: %d %s", c.rec.Code, c.rec.Body)
		}
		time.Sleep(time.Nanosecond)
		<-c.end
		if c.rec.Code != http.StatusServiceUnavailable || c.rec.Header().Get("Retry-After") != "5" || !strings.Contains(c.rec.Body.String(), "try again") {
			t.Errorf("%d %v %s", c.rec.Code, c.rec.Header(), c.rec.Body)
		}
		held.w.CloseWithError(errors.New("gone"))
		<-held.end
	})
}

// Few large bodies are decoded at a time, and all of them in the end.
func TestLargeBodiesAreDecodedInTurn(t *testing.T) {
	s := bodyServer(&Options{Limits: Limits{Bodies: 1 << 30}})
	most, now := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			var h holding
			defer h.letGo()
			k := callerKey{subject: fmt.Sprint(i % 3)}
			h.hold = &h.own
			s.memory.Init(h.hold, k)
			if err := h.hold.Ensure(t.Context(), 1<<20); err != nil {
				t.Error(err)
			}
			if err := h.decodes(t.Context(), s, func() callerKey { return k }); err != nil {
				t.Error(err)
			}
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			now--
			mu.Unlock()
		})
	}
	all.Wait()
	if want := max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2); most > want {
		t.Errorf("%d were decoded at a time, not %d", most, want)
	}
	if s.memory.Used() != 0 {
		t.Error("memory is held when all are gone")
	}
}

func TestNoLimitOfLargeBodies(t *testing.T) {
	s := bodyServer(&Options{Limits: Limits{Bodies: -1}})
	r := httptest.NewRequest("POST", "/message:send", strings.NewReader(
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`+strings.Repeat("x", 1<<20)+`"}]}}`))
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	if s.memory != nil || rec.Code != http.StatusOK {
		t.Errorf("%d %.200s", rec.Code, rec.Body)
	}
}

// A request over gRPC of which much has arrived needs memory after a while.
func TestLargeBodiesOverGRPC(t *testing.T) {
	svc := func() *fake {
		return &fake{send: func(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "a", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("y")}}}, nil
		}}
	}
	message, err := proto.Marshal(&pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: strings.Repeat("x", 2*large)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	body := append([]byte{0, byte(len(message) >> 24), byte(len(message) >> 16), byte(len(message) >> 8), byte(len(message))}, message...)
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		say := func(id uint32, b []byte, last bool) {
			for len(b) > 0 {
				n := min(len(b), 16<<10)
				_ = c.f.WriteData(id, last && n == len(b), b[:n])
				b = b[n:]
				synctest.Wait()
			}
		}
		id := c.call("SendMessage", nil)
		say(id, body[:large+large/2], false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := s.memory.Used(); n < s.opts.maxBody() {
			t.Errorf("%d bytes are held", n)
		}
		others := s.memory.Open("all the others")
		others.Set(1 << 40)
		say(id, body[large+large/2:], true)
		if got := <-c.last; !strings.Contains(got, "grpc-status: 0") {
			t.Errorf("the answer is %s", got)
		}
		synctest.Wait()
		if n := s.memory.Used(); n != 1<<40 {
			t.Errorf("%d bytes are held when all but the others are gone", n)
		}
		id = c.call("SendMessage", nil)
		say(id, body[:large+large/2], false)
		if !native { // these can wait for memory
			time.Sleep(budget.Wait + time.Second)
			synctest.Wait()
		}
		if got := <-c.last; !strings.Contains(got, "grpc-status: 14") || !strings.Contains(got, "try again") {
			t.Errorf("the answer without room is %s", got)
		}
		others.Close()
	})
}

// A body that waited for memory gets its full time again, because its client could not
// send meanwhile. Over HTTP/2 that holds even if its first time ended while it waited.
func TestBodiesThatWaitedHaveTheirTime(t *testing.T) {
	const text = 2 * large
	message, err := proto.Marshal(&pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: strings.Repeat("x", text)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct{ path, media, body string }{
		{"/" + dialect.GRPCService + "/SendMessage", "application/grpc", string(wire.AppendMessage(nil, message))},
		{"/message:send", "application/json", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", text) + `"}]}}`},
	} {
		t.Run(way.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent int
				s := New(&fake{send: func(_ context.Context, q *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
					sent = len(q.Message.Parts[0].Text)
					return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "a", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("y")}}}, nil
				}}, testCard(), nil)
				p := NewPort(s)
				l := porttest.NewPipes()
				ended := make(chan error)
				go func() { ended <- p.Serve(l) }()
				c := dialH2(t, l.Dial())
				c.ask("GET", "/livez", "", true) // the connection is net/http's
				others := s.memory.Open("all the others")
				others.Set(1 << 40)
				id := c.ask("POST", way.path, way.media, false)
				say := func(b string, last bool) {
					for len(b) > 0 {
						n := min(len(b), 16<<10)
						_ = c.f.WriteData(id, last && n == len(b), []byte(b[:n]))
						b = b[n:]
						synctest.Wait()
					}
				}
				say(way.body[:large/2], false)
				time.Sleep(bodyTimeout - 10*time.Second)
				say(way.body[large/2:large+large/2], false)
				time.Sleep(20 * time.Second)
				others.Close()
				synctest.Wait()
				time.Sleep(bodyTimeout - time.Second)
				say(way.body[large+large/2:], true)
				synctest.Wait()
				if sent != text {
					t.Errorf("%d bytes arrived", sent)
				}
				if n := s.memory.Used(); n != 0 {
					t.Errorf("%d bytes are held afterwards", n)
				}
				c.conn.Close()
				_ = p.Close()
				<-ended
			})
		})
	}
}

// A body of unknown size arrives whole, wherever its pieces end, and stays when its pieces
// are used for the next one.
func TestBodyOfUnknownSize(t *testing.T) {
	var kept []string
	s := New(&fake{send: func(_ context.Context, q *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		kept = append(kept, q.Message.Text())
		return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "a", Role: a2a.RoleAgent}}, nil
	}}, testCard(), nil)
	var texts []string
	for _, size := range []int{0, minBody, large - 1, large, large + 1, 3*large - 100, 3 * large, 5*large + 7} {
		head, tail := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`, `"}]}}`
		var text strings.Builder
		for i := 0; text.Len()+len(head)+len(tail)+8 <= size; i++ {
			fmt.Fprintf(&text, "%07d ", i+size)
		}
		text.WriteString(strings.Repeat(".", max(size-text.Len()-len(head)-len(tail), 0)))
		texts = append(texts, text.String())
		for _, slowly := range []bool{false, true} {
			var body io.Reader = strings.NewReader(head + text.String() + tail)
			if slowly {
				body = iotest.HalfReader(body)
			}
			r := httptest.NewRequest("POST", "/message:send", body)
			r.ContentLength = -1
			r.Header.Set("A2A-Version", "1.0")
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%d bytes: %d %s", size, w.Code, w.Body)
			}
		}
	}
	for i, text := range kept {
		if text != texts[i/2] {
			t.Errorf("a text of %d bytes is not what was sent, but has %d", len(texts[i/2]), len(text))
		}
	}
}
