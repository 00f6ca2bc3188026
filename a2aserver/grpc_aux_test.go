package a2aserver

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/wire"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	watchMethod      = "/grpc.health.v1.Health/Watch"
	checkMethod      = "/grpc.health.v1.Health/Check"
	listMethod       = "/grpc.health.v1.Health/List"
	reflectionMethod = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
)

// bothWays runs test in a bubble of fake time, on a connection of grpc-go's and on one
// of net/http. The client gives no window, so that it only gets headers.
func bothWays(t *testing.T, o *Options, test func(t *testing.T, s *Server, p *Port, c *h2client)) {
	for name, native := range map[string]bool{"native": true, "inside": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(agreeable{}, testCard(), o)
				p := NewPort(s)
				l := porttest.NewPipes()
				ended := make(chan error)
				go func() { ended <- p.Serve(l) }()
				c := dialH2(t, l.Dial())
				_ = c.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				if !native {
					c.ask("GET", "/readyz", "", true)
					time.Sleep(40 * time.Second)
				}
				test(t, s, p, c)
				c.conn.Close()
				s.Drain()
				_ = p.Close()
				<-ended
			})
		})
	}
}

// Streams of health and reflection end in a known time, those of reflection that are
// not read sooner.
func TestStreamsBesideEnd(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, s *Server, _ *Port, c *h2client) {
		for range 3 {
			id := c.ask("POST", watchMethod, "application/grpc", false)
			_ = c.f.WriteData(id, true, make([]byte, 5))
			c.ask("POST", reflectionMethod, "application/grpc", false)
		}
		synctest.Wait()
		if n := s.strangers.Count(); n != 6 {
			t.Errorf("%d streams are open", n)
		}
		time.Sleep(reflectionTime)
		synctest.Wait()
		if n := s.strangers.Count(); n > 3 {
			t.Errorf("%d streams are open after the time of reflection", n)
		}
		time.Sleep(watchTime)
		synctest.Wait()
		if n := s.strangers.Count(); n != 0 {
			t.Errorf("%d streams are open after the time of a watch", n)
		}
	})
}

// A watch whose client reads lives for its time, and says why it ends.
func TestWatchLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(agreeable{}, testCard(), nil)
		p := NewPort(s)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(l) }()
		c := dialH2(t, l.Dial())
		id := c.ask("POST", watchMethod, "application/grpc", false)
		_ = c.f.WriteData(id, true, make([]byte, 5))
		time.Sleep(watchTime - time.Minute)
		if closed(c) || s.strangers.Count() != 1 {
			t.Error("a watch ended early")
		}
		time.Sleep(2 * time.Minute)
		if last := <-c.last; !strings.Contains(last, "grpc-status: 14\n") {
			t.Errorf("it ended with %q", last)
		}
		c.conn.Close()
		_ = p.Close()
		<-ended
	})
}

// An address has a number of streams without a caller, over all its connections.
func TestStreamsBesideAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(agreeable{}, testCard(), nil)
		p := NewPort(s)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(from{l}) }()
		var list []*h2client
		for range 5 {
			c := dialH2(t, l.Dial())
			list = append(list, c)
			for i := range 100 {
				if i%2 == 0 {
					c.ask("POST", reflectionMethod, "application/grpc", false)
					continue
				}
				id := c.ask("POST", watchMethod, "application/grpc", false)
				_ = c.f.WriteData(id, true, make([]byte, 5))
			}
			synctest.Wait()
		}
		if n := s.strangers.Count(); n != addrStrangers {
			t.Errorf("%d streams are open", n)
		}
		if last := <-list[4].last; !strings.Contains(last, "grpc-status: 8\n") {
			t.Errorf("one too many ended with %q", last)
		}
		for _, c := range list {
			c.conn.Close()
		}
		time.Sleep(time.Second) // a connection that is read slowly notices it later
		synctest.Wait()
		if n := s.strangers.Count(); n != 0 {
			t.Errorf("%d are left", n)
		}
		_ = p.Close()
		<-ended
	})
}

// from is a listener whose connections come from an address.
type from struct{ net.Listener }

type fromConn struct{ net.Conn }

func (fromConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (l from) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{c}, nil
}

// secret lets in those who know it.
type secret string

func (s secret) Authenticate(r *http.Request) (a2a.Caller, error) {
	if r.Header.Get("Authorization") != string(s) {
		return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "wrong")
	}
	return a2a.Caller{Subject: "somebody"}, nil
}
func (secret) Challenges(*a2a.Error) []string { return nil }

// Reflection is only for callers who are let in, health is for everybody.
func TestReflectionIsForCallers(t *testing.T) {
	let := secret("let me in")
	addr, _ := limitedPort(t, agreeable{}, &Options{Identity: let})
	conn := dialGRPC(t, addr)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ask := func(ctx context.Context) error {
		stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		_, err = stream.Recv()
		return err
	}
	if err := ask(ctx); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stranger: %v", err)
	}
	if err := ask(metadata.AppendToOutgoingContext(ctx, "authorization", string(let))); err != nil {
		t.Errorf("a caller: %v", err)
	}
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

// Connections without calls are closed, even if pings keep them busy.
func TestIdleConnections(t *testing.T) {
	busy := map[string]func(c *h2client, i int){
		"nothing": func(*h2client, int) {},
		"pings":   func(c *h2client, _ int) { _ = c.f.WritePing(false, [8]byte{}) },
	}
	for name, do := range busy {
		bothWays(t, nil, func(t *testing.T, _ *Server, p *Port, c *h2client) {
			// Answers that are not read, and which grpc-go keeps.
			for range 10 {
				id := c.ask("POST", checkMethod, "application/grpc", false)
				_ = c.f.WriteData(id, true, make([]byte, 5))
			}
			began := time.Now()
			for i := 0; !closed(c) && i < 60; i++ {
				time.Sleep(6 * time.Second)
				do(c, i)
			}
			if d := time.Since(began); !closed(c) || d > port.IdleTimeout+30*time.Second+new(Options).writeTimeout()+10*time.Second {
				t.Errorf("%s: the connection was closed after %v", name, d)
			}
			synctest.Wait()
			if open := p.port.Open(); open.HTTP+open.Native != 0 {
				t.Errorf("%s: connections are open: %+v", name, open)
			}
		})
	}
}

// A connection that calls now and then is not idle.
func TestConnectionsThatAreChecked(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, _ *Server, _ *Port, c *h2client) {
		_ = c.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
		for range 20 {
			id := c.ask("POST", checkMethod, "application/grpc", false)
			_ = c.f.WriteData(id, true, make([]byte, 5))
			if last := <-c.last; !strings.Contains(last, "grpc-status: 0\n") {
				t.Fatalf("answered with %q", last)
			}
			time.Sleep(port.IdleTimeout - 10*time.Second)
			if closed(c) {
				t.Fatal("the connection was closed")
			}
		}
	})
}

// healthStream is a call of the health service.
type healthStream struct {
	grpc.ServerStream
	ctx     context.Context
	service string
	sent    []proto.Message
}

func (s *healthStream) Context() context.Context { return s.ctx }

func (s *healthStream) RecvMsg(m any) error {
	m.(*healthpb.HealthCheckRequest).Service = s.service
	return nil
}

func (s *healthStream) SendMsg(m any) error {
	s.sent = append(s.sent, m.(*outgoing).message)
	return nil
}

// The health service says what the readiness probe says, in each of its methods, and a
// watch says so again when it changes.
func TestHealthIsReadiness(t *testing.T) {
	const serving, not, unknown = healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_SERVICE_UNKNOWN
	synctest.Test(t, func(t *testing.T) {
		var why atomic.Pointer[error]
		why.Store(new(error))
		s := New(agreeable{}, testCard(), &Options{Ready: func() error { return *why.Load() }})
		h := health{s}
		ask := func(answer func(*auxStream, string) error, service string) (proto.Message, error) {
			stream := &healthStream{ctx: t.Context(), service: service}
			if err := h.handler(bodyTimeout, false, answer)(nil, stream); err != nil {
				return nil, err
			}
			return stream.sent[0], nil
		}
		names := []string{"", dialect.GRPCService, dialect.GRPCServiceV03}
		look := func(want healthpb.HealthCheckResponse_ServingStatus) {
			list, err := ask(h.list, "")
			if err != nil || len(list.(*healthpb.HealthListResponse).Statuses) != len(names) {
				t.Fatalf("%v, %v", list, err)
			}
			for _, name := range names {
				one, err := ask(h.check, name)
				if err != nil || one.(*healthpb.HealthCheckResponse).Status != want || list.(*healthpb.HealthListResponse).Statuses[name].GetStatus() != want {
					t.Errorf("%q is %v by itself and in the list %v, want %v", name, one, list, want)
				}
			}
			if _, err := ask(h.check, "x"); status.Code(err) != codes.NotFound {
				t.Errorf("an unknown service: %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		watched := map[string]*healthStream{}
		for _, name := range append(names, "x") {
			watched[name] = &healthStream{ctx: ctx, service: name}
			go func() { _ = h.handler(watchTime, true, h.watch)(nil, watched[name]) }()
			synctest.Wait()
		}
		look(serving)
		for _, err := range []error{errClosing, nil} {
			why.Store(&err)
			look(map[bool]healthpb.HealthCheckResponse_ServingStatus{true: serving, false: not}[err == nil])
			time.Sleep(2 * watchTick)
		}
		cancel()
		synctest.Wait()
		s.Drain()
		look(not)
		for name, stream := range watched {
			var got []healthpb.HealthCheckResponse_ServingStatus
			for _, m := range stream.sent {
				got = append(got, m.(*healthpb.HealthCheckResponse).Status)
			}
			want := []healthpb.HealthCheckResponse_ServingStatus{serving, not, serving}
			if name == "x" {
				want = []healthpb.HealthCheckResponse_ServingStatus{unknown}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the watch of %q saw %v", name, got)
			}
		}
	})
}

// A request to health or reflection has the limits of one to an agent: its time, and
// memory if it is large. Until it has arrived its stream counts.
func TestRequestsBesideHaveLimits(t *testing.T) {
	grpcPipe(t, func() *fake { return new(fake) }, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		all := []string{checkMethod, listMethod, watchMethod, reflectionMethod}
		for _, method := range all {
			c.ask("POST", method, "application/grpc", false)
		}
		synctest.Wait()
		if n := s.strangers.Count(); n != len(all) {
			t.Errorf("%d streams are open", n)
		}
		time.Sleep(bodyTimeout + requestTick)
		synctest.Wait()
		if n := s.strangers.Count(); n != 0 {
			t.Errorf("%d streams are open after their time", n)
		}
		for range all {
			<-c.last
		}
		others := s.memory.Open("all the others")
		others.Set(1 << 40)
		for _, method := range all {
			id := c.ask("POST", method, "application/grpc", false)
			_ = c.f.WriteData(id, false, []byte{0, 0, 0x10, 0, 0})
			for range (large + large/2) >> 14 {
				_ = c.f.WriteData(id, false, make([]byte, 16<<10))
				synctest.Wait()
			}
			time.Sleep(3 * time.Second)
			if !native { // these can wait for memory
				time.Sleep(budget.Wait)
			}
			if got := <-c.last; !strings.Contains(got, "grpc-status: 14") {
				t.Errorf("the answer of %s without room is %s", method, got)
			}
		}
		if n := s.memory.Used(); n != 1<<40 {
			t.Errorf("%d bytes are held", n-1<<40)
		}
		others.Close()
	})
}

// When an address has the most answers under way that it may have, further requests are
// answered with headers alone, which no client can hold up: probes with their status.
func TestStrangersOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(agreeable{}, testCard(), &Options{Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "no")}})
		p := NewPort(s)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(from{l}) }()
		paths := []string{cardPath, "/tasks", "/nothing", "/"}
		for range 2 {
			c := dialH2(t, l.Dial())
			_ = c.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			for i := range 240 {
				c.ask("GET", paths[i%len(paths)], "", true)
			}
			synctest.Wait()
		}
		if n := s.strangers.Count(); n != addrStrangers {
			t.Errorf("%d answers are under way", n)
		}
		last := dialH2(t, l.Dial())
		for path, want := range map[string]string{"/livez": "200", "/readyz": "200", cardPath: "503", "/tasks": "401"} {
			last.ask("GET", path, "", true)
			if got := <-last.last; !strings.Contains(got, ":status: "+want+"\n") || strings.Contains(got, "content-length: 3") {
				t.Errorf("%s: %q", path, got)
			}
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := s.strangers.Count(); n != 0 {
			t.Errorf("%d are left", n)
		}
		_ = p.Close()
		<-ended
	})
}

// repeated is a body that goes on until so many bytes were read.
type repeated struct {
	ctx  context.Context
	what []byte
	most int64
	read atomic.Int64
}

func (b *repeated) Read(p []byte) (int, error) {
	if b.read.Load() >= b.most {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	for n := range p {
		p[n] = b.what[(b.read.Load()+int64(n))%int64(len(b.what))]
	}
	b.read.Add(int64(len(p)))
	return len(p), nil
}

func (b *repeated) Close() error { return nil }

// stuck is the writer of a client that reads nothing until it leaves.
type stuck struct {
	*httptest.ResponseRecorder
	ctx context.Context
}

func (w stuck) Write([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

// Inside of net/http the requests of a call over gRPC do not fill the memory while its
// client takes no answers.
func TestGRPCBodiesHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		s := New(&fake{}, testCard(), &Options{MaxBody: most})
		p := NewPort(s)
		defer p.Close()
		ctx, cancel := context.WithCancel(t.Context())
		b := &repeated{ctx: ctx, what: wire.AppendMessage(nil, []byte("\x3a\x00")), most: 8 * most}
		r := httptest.NewRequest("POST", reflectionMethod, nil).WithContext(ctx)
		r.ProtoMajor, r.Proto, r.Body, r.ContentLength = 2, "HTTP/2.0", b, -1
		r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
		over := make(chan struct{})
		go func() {
			defer close(over)
			p.handler().ServeHTTP(stuck{httptest.NewRecorder(), ctx}, r)
		}()
		synctest.Wait()
		if n := b.read.Load(); n > 2*most {
			t.Errorf("%d bytes of requests are in memory for a client that does not read", n)
		}
		cancel()
		<-over
	})
}

// Calls over gRPC have the limit that was set when the Port was made, as the server's
// reference says, also inside of net/http and if a Host has got a lower one since.
func TestGRPCBodiesKeepTheirLimit(t *testing.T) {
	agents := []Route{{Default: true, Service: &fake{}, Card: testCard()}}
	h, err := NewHost(agents, &Options{MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPort(h)
	defer p.Close()
	handler := p.handler()
	if err := h.Set(agents, &Options{MaxBody: 1 << 10}); err != nil {
		t.Fatal(err)
	}
	doc, err := proto.Marshal(&pb.GetTaskRequest{Id: "t", Tenant: strings.Repeat("x", 1<<16)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/"+dialect.GRPCService+"/GetTask", bytes.NewReader(wire.AppendMessage(nil, doc)))
	r.ProtoMajor, r.Proto = 2, "HTTP/2.0"
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "A2a-Version": {"1.0"}}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if is := w.Result().Trailer; is.Get("Grpc-Status") != "0" {
		t.Errorf("it is refused: %v", is)
	}
}

// Inside of net/http a request that comes byte by byte takes no more memory than one that
// comes at once.
func TestGRPCBodiesInSmallPieces(t *testing.T) {
	p := NewPort(New(&fake{}, testCard(), nil))
	defer p.Close()
	doc, err := proto.Marshal(&pb.GetTaskRequest{Id: "t", Tenant: strings.Repeat("x", 16<<10)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/"+dialect.GRPCService+"/GetTask", iotest.OneByteReader(bytes.NewReader(wire.AppendMessage(nil, doc))))
	r.ProtoMajor, r.Proto = 2, "HTTP/2.0"
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "A2a-Version": {"1.0"}}
	w := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.handler().ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if is := w.Result().Trailer; is.Get("Grpc-Status") != "0" {
		t.Errorf("it is refused: %v", is)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 { // of the 256 MiB that grpc-go would take
		t.Errorf("%d MiB were taken", n>>20)
	}
}
