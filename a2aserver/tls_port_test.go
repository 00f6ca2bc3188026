package a2aserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// certified is an Identity by client certificates.
type certified struct{}

func (certified) Authenticate(r *http.Request) (a2a.Caller, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "a certificate is needed")
	}
	return a2a.Caller{Subject: "cert:" + r.TLS.VerifiedChains[0][0].Subject.CommonName}, nil
}
func (certified) Challenges(*a2a.Error) []string { return nil }

// callers answers GetTask with the caller's name and which server the call came
// through.
func callers() *fake {
	return &fake{get: func(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
		way := "native"
		if ctx.Value(http.ServerContextKey) != nil {
			way = "net/http"
		}
		return &a2a.Task{ID: a2a.CallerFrom(ctx).Subject, ContextID: way, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, nil
	}}
}

// records are what is logged, line by line.
type records chan string

func (r records) Write(p []byte) (int, error) {
	r <- string(p)
	return len(p), nil
}

// A client certificate says who calls over HTTP/1.1, HTTP/2 and gRPC, and a
// handshake that fails is logged.
func TestClientCertificatesOnAPort(t *testing.T) {
	clients := porttest.NewAuthority(t)
	a, dir := porttest.NewAuthority(t), t.TempDir()
	files := TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	cert, key := a.Issue(t, "one")
	for name, doc := range map[string][]byte{files.Cert: cert, files.Key: key, files.ClientCA: clients.PEM()} {
		if err := os.WriteFile(name, doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, err := LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	log := make(records, 100)
	s := New(callers(), testCard(), &Options{Identity: certified{}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	p := NewPort(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(x.Listener(l)) }()
	defer func() {
		p.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	trust := func(with *porttest.Authority) *tls.Config {
		c := &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test"}
		if with != nil {
			c.Certificates = []tls.Certificate{with.Pair(t, "alice")}
		}
		return c
	}
	g := dialect.GRPCOf(dialect.V10)
	ask := func(invoke func(req, res any) error) (*a2a.Task, error) {
		req, err := g.Request(dialect.GetTask, &a2a.GetTaskRequest{ID: "t"})
		if err != nil {
			t.Fatal(err)
		}
		res := g.NewResult(dialect.GetTask)
		if err := invoke(req, res); err != nil {
			return nil, err
		}
		got, err := g.DecodeResult(dialect.GetTask, new(a2a.GetTaskRequest), res)
		if err != nil {
			t.Fatal(err)
		}
		return got.(*a2a.Task), nil
	}
	native := func(with *porttest.Authority) (*a2a.Task, error) {
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(trust(with))))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return ask(func(req, res any) error { return conn.Invoke(t.Context(), "/"+g.Service()+"/GetTask", req, res) })
	}
	if got, err := native(clients); err != nil || got.ID != "cert:alice" || got.ContextID != "native" {
		t.Errorf("gRPC: %v, %v", got, err)
	}
	if _, err := native(nil); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without a certificate: %v", err)
	}

	for _, h2 := range []bool{false, true} {
		rt := &http.Transport{TLSClientConfig: trust(clients), Protocols: new(http.Protocols)}
		rt.Protocols.SetHTTP1(!h2)
		rt.Protocols.SetHTTP2(h2)
		for range 2 {
			res, err := (&http.Client{Transport: rt}).Get("https://" + l.Addr().String() + "/tasks/t")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(body), `"id":"cert:alice"`) {
				t.Errorf("%s: %s", res.Proto, body)
			}
		}
		rt.CloseIdleConnections()
	}

	// A refused handshake is logged, gRPC or not.
	other := porttest.NewAuthority(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(trust(other))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := ask(func(req, res any) error { return conn.Invoke(ctx, "/"+g.Service()+"/GetTask", req, res) }); status.Code(err) != codes.Unavailable {
		t.Errorf("with the certificate of another authority: %v", err)
	}
	for {
		select {
		case line := <-log:
			if strings.Contains(line, "TLS handshake failed") {
				if !strings.Contains(line, "unknown authority") {
					t.Error(line)
				}
				return
			}
		case <-ctx.Done():
			t.Fatal("a handshake that failed was not logged")
		}
	}
}
