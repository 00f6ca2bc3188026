package a2aserver

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/wire"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// h2client speaks HTTP/2 by hand, so that it can do what no client does.
type h2client struct {
	t     *testing.T
	conn  net.Conn
	f     *http2.Framer
	enc   *hpack.Encoder
	block bytes.Buffer
	next  uint32

	ended chan struct{} // closed with the connection
	data  chan int      // sizes of DATA
	last  chan string   // the trailers, a line each
}

// pending is what a client is about to write: a pipe holds nothing, and both ends
// would wait for each other.
type pending chan []byte

func (q pending) Write(b []byte) (int, error) {
	q <- bytes.Clone(b)
	return len(b), nil
}

// dialH2 begins a connection that answers pings and never opens a window.
func dialH2(t *testing.T, conn net.Conn) *h2client {
	to := make(pending, 1000)
	go func() {
		for b := range to {
			if _, err := conn.Write(b); err != nil {
				return
			}
		}
	}()
	c := &h2client{t: t, conn: conn, f: http2.NewFramer(to, conn), next: 1, data: make(chan int, 1<<16), last: make(chan string, 1000), ended: make(chan struct{})}
	c.enc = hpack.NewEncoder(&c.block)
	t.Cleanup(func() {
		conn.Close()
		<-c.ended // which answers, too
		close(to)
	})
	go func() {
		defer close(c.ended)
		acks := http2.NewFramer(to, nil)
		dec := hpack.NewDecoder(4096, nil)
		for {
			fr, err := c.f.ReadFrame()
			if err != nil {
				return
			}
			switch fr := fr.(type) {
			case *http2.DataFrame:
				c.data <- len(fr.Data())
			case *http2.HeadersFrame:
				fields, _ := dec.DecodeFull(fr.HeaderBlockFragment())
				if fr.StreamEnded() {
					var trailer strings.Builder
					for _, f := range fields {
						trailer.WriteString(f.Name + ": " + f.Value + "\n")
					}
					c.last <- trailer.String()
				}
			case *http2.PingFrame:
				if !fr.IsAck() {
					_ = acks.WritePing(true, fr.Data)
				}
			case *http2.SettingsFrame:
				if !fr.IsAck() {
					_ = acks.WriteSettingsAck()
				}
			}
		}
	}()
	to <- []byte(http2.ClientPreface)
	_ = c.f.WriteSettings()
	return c
}

// ask begins a request and returns its stream.
func (c *h2client) ask(method, path, contentType string, end bool, metadata ...string) uint32 {
	c.block.Reset()
	for _, h := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-type", contentType}, {"te", "trailers"}} {
		if h[1] != "" {
			_ = c.enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
	}
	for i := 0; i < len(metadata); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: metadata[i], Value: metadata[i+1]})
	}
	id := c.next
	c.next += 2
	_ = c.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end})
	return id
}

// call begins a call over gRPC, with names and values of metadata; it sends no request
// if m is nil.
func (c *h2client) call(method string, m proto.Message, metadata ...string) uint32 {
	id := c.ask("POST", "/"+dialect.GRPCService+"/"+method, "application/grpc", false, metadata...)
	if m != nil {
		b, err := proto.Marshal(m)
		if err != nil {
			c.t.Fatal(err)
		}
		_ = c.f.WriteData(id, true, wire.AppendMessage(nil, b))
	}
	return id
}

// grpcPipe runs test in a bubble of fake time, on a Port, for calls on a
// connection of grpc-go's and for calls inside of net/http.
func grpcPipe(t *testing.T, svc func() *fake, test func(t *testing.T, s *Server, f *fake, c *h2client, native bool)) {
	for name, native := range map[string]bool{"native": true, "inside": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := svc()
				s := New(f, testCard(), nil)
				p := NewPort(s)
				l := porttest.NewPipes()
				ended := make(chan error)
				go func() { ended <- p.Serve(l) }()
				c := dialH2(t, l.Dial())
				if !native {
					c.ask("GET", "/livez", "", true)
				}
				test(t, s, f, c, native)
				c.conn.Close()
				s.Drain()
				_ = p.Close()
				<-ended
			})
		})
	}
}

func closed(c *h2client) bool {
	synctest.Wait()
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// endless is a stream that continues as long as its reader reads. It sends the time at
// which it ended to left.
func endless(left chan<- time.Time, size int) *fake {
	ev := &a2a.StreamResponse{Seq: 1, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: "t1", ContextID: "c1", Artifact: &a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", size))}},
	}}
	return streaming(func(ctx context.Context) elements {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			defer func() { left <- time.Now() }()
			for ctx.Err() == nil && yield(ev, nil) {
			}
		}
	})
}

func TestGRPCStreamThatIsNotRead(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "medium": 3000, "large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			left := make(chan time.Time, 1)
			grpcPipe(t, func() *fake { left = make(chan time.Time, 1); return endless(left, size) }, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
				began := time.Now()
				c.call("SubscribeToTask", &pb.SubscribeToTaskRequest{Id: "t1"}) // and no window ever
				if d := (<-left).Sub(began); d < 29*time.Second || d > 61*time.Second {
					t.Errorf("the stream was left after %v", d)
				}
				synctest.Wait()
				if n := s.calls.Load(); n != 0 {
					t.Errorf("%d calls are under way", n)
				}
				if native && !closed(c) {
					t.Error("the connection is open and serves nobody")
				}
			})
		})
	}
}

// A large answer that nobody reads does not stay.
func TestGRPCAnswerThatIsNotRead(t *testing.T) {
	big := &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking},
		Artifacts: []*a2a.Artifact{{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 1<<20))}}}}
	svc := func() *fake {
		return &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return big, nil }}
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		c.call("GetTask", &pb.GetTaskRequest{Id: "t1"})
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := s.calls.Load(); n != 0 {
			t.Errorf("%d calls are under way", n)
		}
		if native && !closed(c) {
			t.Error("the connection is open and serves nobody")
		}
	})
}

// Other calls of the connection are not disturbed, up to a limit.
func TestGRPCStalledCallsBesideOthers(t *testing.T) {
	left := make(chan time.Time, 100)
	quiet := make(chan time.Time, 1)
	svc := func() *fake {
		left, quiet = make(chan time.Time, 100), make(chan time.Time, 1)
		f := endless(left, 1000)
		f.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			<-ctx.Done()
			quiet <- time.Now()
			return nil, ctx.Err()
		}
		return f
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		if !native {
			return // each stream is on its own there
		}
		c.call("SendMessage", &pb.SendMessageRequest{Message: &pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}}}})
		synctest.Wait()
		for i := range maxStalled {
			if closed(c) {
				t.Fatalf("the connection was closed after %d calls that stalled", i)
			}
			c.call("SubscribeToTask", &pb.SubscribeToTaskRequest{Id: "t1"})
			<-left
		}
		if !closed(c) {
			t.Error("the connection is open after so many")
		}
		<-quiet
	})
}

// A slow reader gets all.
func TestGRPCSlowReaderGetsAll(t *testing.T) {
	const size = 2 << 20
	big := &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking},
		Artifacts: []*a2a.Artifact{{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", size))}}}}
	svc := func() *fake {
		return &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return big, nil }}
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		id := c.call("GetTask", &pb.GetTaskRequest{Id: "t1"})
		for got := 0; got < size; {
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if closed(c) {
				t.Fatalf("the connection was closed after %d bytes", got)
			}
			n := 0
			for more := true; more; {
				select {
				case k := <-c.data:
					n += k
				default:
					more = false
				}
			}
			if n == 0 {
				t.Fatalf("nothing more came after %d bytes", got)
			}
			got += n
			// 100 kbit/s
			_ = c.f.WriteWindowUpdate(0, 250_000)
			_ = c.f.WriteWindowUpdate(id, 250_000)
		}
	})
}

// A client that begins a call and never sends its request is not waited for.
func TestGRPCRequestThatDoesNotCome(t *testing.T) {
	svc := func() *fake {
		return &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { panic("called") }}
	}
	for _, part := range [][]byte{nil, {0, 0}, {0, 0, 0, 0, 9, 1, 2}} {
		grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
			for _, method := range []string{"GetTask", "SubscribeToTask"} {
				id := c.call(method, nil)
				_ = c.f.WriteData(id, false, part)
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if n := s.calls.Load(); n != 2 {
				t.Errorf("%d calls are under way", n)
			}
			time.Sleep(31 * time.Second)
			synctest.Wait()
			if n := s.calls.Load(); n != 0 {
				t.Errorf("%d calls are under way", n)
			}
			if closed(c) {
				t.Error("the connection was closed")
			}
		})
	}
}

// Silence is no reason to end a stream.
func TestGRPCSilentStreamGoesOn(t *testing.T) {
	left := make(chan time.Duration, 1)
	svc := func() *fake {
		left = make(chan time.Duration, 1)
		return streaming(waiting(left, taskAt(1)))
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		c.call("SubscribeToTask", &pb.SubscribeToTaskRequest{Id: "t1"})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := s.calls.Load(); n != 1 {
			t.Fatalf("%d calls are under way", n)
		}
		c.conn.Close()
		if d := <-left; d < 5*time.Minute {
			t.Errorf("the stream was left after %v", d)
		}
	})
}
