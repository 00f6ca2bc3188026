package a2aserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// onPortOf serves svc on a Port until the test ends.
func onPortOf(t testing.TB, svc a2a.Service) (addr string) {
	t.Helper()
	return onPort(t, New(svc, testCard(), nil), nil)
}

// onPort serves a Server or a Host on a Port, over TLS if there is a configuration for it,
// until the test ends.
func onPort(t testing.TB, s interface {
	Site
	Drain()
}, secure *tls.Config) (addr string) {
	t.Helper()
	p := NewPort(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(l) }()
	t.Cleanup(func() {
		s.Drain()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return addr
}

func dialGRPC(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Which content types are gRPC's.
func TestIsGRPC(t *testing.T) {
	for contentType, want := range map[string]bool{"application/grpc": true, "application/grpc+proto": true, "application/grpc;a=b": true, "application/json": false, "application/grpc-web": false, "": false} {
		if isGRPC(contentType) != want {
			t.Errorf("%q is taken for gRPC: %v", contentType, !want)
		}
	}
}

// A panic of the service is an internal error, and the next call works.
func TestPanicOverGRPC(t *testing.T) {
	conn := dialGRPC(t, onPortOf(t, &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { panic("boom") }}))
	for range 2 {
		err := conn.Invoke(t.Context(), "/"+dialect.GRPCService+"/GetTask", &pb.GetTaskRequest{Id: "x"}, new(pb.Task))
		if err == nil || bytes.Contains([]byte(err.Error()), []byte("boom")) {
			t.Errorf("got %v", err)
		}
	}
}

// Bytes that are no message are the client's mistake, and the error does not quote the
// decoder.
func TestNoMessageOverGRPC(t *testing.T) {
	conn := dialGRPC(t, onPortOf(t, &fake{}))
	for _, name := range []string{
		dialect.GRPCService + "/GetTask", dialect.GRPCService + "/SendStreamingMessage",
		dialect.GRPCServiceV03 + "/GetTask", dialect.GRPCServiceV03 + "/SendStreamingMessage",
	} {
		// The first field is a text, or a message.
		err := conn.Invoke(t.Context(), "/"+name, wrapperspb.Bytes([]byte{0xff}), new(emptypb.Empty))
		st := status.Convert(err)
		if e := dialect.ErrorFromStatus(st.Proto()); e.Code != a2a.CodeParse || !strings.HasPrefix(e.Message, "the request is no message of ") {
			t.Errorf("%s: %v %q", name, st.Code(), st.Message())
		}
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(stream.CloseSend(), stream.RecvMsg(new(emptypb.Empty))); status.Code(err) == codes.Unknown || err == nil {
			t.Errorf("%s without a request: %v", name, err)
		}
	}
}

// BenchmarkPort measures what sharing the port costs: GetTask of a small task, from
// 16 goroutines, on each way through.
func BenchmarkPort(b *testing.B) {
	svc := &fake{get: func(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
		return &a2a.Task{ID: req.ID, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil
	}}
	http1 := func(b *testing.B, url string, rt http.RoundTripper) {
		c := &http.Client{Transport: rt}
		defer c.CloseIdleConnections()
		run(b, func() error {
			res, err := c.Get(url + "/tasks/t1")
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode != 200 {
				err = fmt.Errorf("HTTP %d", res.StatusCode)
			}
			return err
		})
	}
	rpc := func(b *testing.B, addr string) {
		conn := dialGRPC(b, addr)
		run(b, func() error {
			return conn.Invoke(context.Background(), "/"+dialect.GRPCService+"/GetTask", &pb.GetTaskRequest{Id: "t1"}, new(pb.Task))
		})
	}
	b.Run("HTTP1/net-http alone", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		hs := HTTPServer(New(svc, testCard(), nil))
		go hs.Serve(l)
		defer hs.Close()
		http1(b, "http://"+l.Addr().String(), &http.Transport{MaxIdleConnsPerHost: 64})
	})
	b.Run("HTTP1/port", func(b *testing.B) {
		http1(b, "http://"+onPortOf(b, svc), &http.Transport{MaxIdleConnsPerHost: 64})
	})
	b.Run("h2c/port", func(b *testing.B) {
		rt := &http.Transport{Protocols: new(http.Protocols)}
		rt.Protocols.SetUnencryptedHTTP2(true)
		http1(b, "http://"+onPortOf(b, svc), rt)
	})
	b.Run("gRPC/grpc-go alone", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		g, err := newGRPC(New(svc, testCard(), nil))
		if err != nil {
			b.Fatal(err)
		}
		go g.Serve(l)
		defer g.Stop()
		rpc(b, l.Addr().String())
	})
	b.Run("gRPC/port", func(b *testing.B) { rpc(b, onPortOf(b, svc)) })
	b.Run("gRPC/port, 0.3", func(b *testing.B) {
		conn, name := dialGRPC(b, onPortOf(b, svc)), "/"+dialect.GRPCServiceV03+"/GetTask"
		run(b, func() error {
			return conn.Invoke(context.Background(), name, &v03.GetTaskRequest{Name: "tasks/t1"}, new(v03.Task))
		})
	})
	b.Run("gRPC/TLS port", func(b *testing.B) {
		addr, trust := onTLSPort(b, svc, testCard())
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewTLS(trust)))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		run(b, func() error {
			return conn.Invoke(context.Background(), "/"+dialect.GRPCService+"/GetTask", &pb.GetTaskRequest{Id: "t1"}, new(pb.Task))
		})
	})
	b.Run("gRPC/inside net-http", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		p := NewPort(New(svc, testCard(), nil))
		inside := HTTPServer(p.handler()) // without the check of connections
		inside.Protocols = new(http.Protocols)
		inside.Protocols.SetUnencryptedHTTP2(true)
		go inside.Serve(l)
		defer inside.Close()
		rpc(b, l.Addr().String())
	})
}

// run makes calls from 16 goroutines.
func run(b *testing.B, call func() error) {
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
