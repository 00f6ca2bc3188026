package a2aserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// onTLSPort serves svc on a Port over TLS until the test ends.
func onTLSPort(t testing.TB, svc a2a.Service, card *a2a.AgentCard) (addr string, trust *tls.Config) {
	t.Helper()
	any := httptest.NewTLSServer(nil) // for its certificate
	certs, pool := any.TLS.Certificates, x509.NewCertPool()
	pool.AddCert(any.Certificate())
	any.Close()

	secure := &tls.Config{Certificates: certs, NextProtos: []string{"h2", "http/1.1"}}
	return onPort(t, New(svc, card, nil), secure), &tls.Config{RootCAs: pool}
}

// echoes answers GetTask with the id, and streams one task. The task's context
// says whether the call came through net/http.
func echoes() *fake {
	task := func(ctx context.Context, id string) *a2a.Task {
		way := "native"
		if ctx.Value(http.ServerContextKey) != nil {
			way = "net/http"
		}
		return &a2a.Task{ID: id, ContextID: way, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
	}
	return &fake{
		get: func(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) { return task(ctx, req.ID), nil },
		subscribe: func(ctx context.Context, _ *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				yield(&a2a.StreamResponse{Task: task(ctx, "streamed"), Seq: 1}, nil)
			}
		},
	}
}

func TestTLSPort(t *testing.T) {
	card := testCard()
	card.Capabilities.Streaming = new(true)
	addr, trust := onTLSPort(t, echoes(), card)
	transport := func(h2 bool) *http.Transport {
		rt := &http.Transport{TLSClientConfig: trust.Clone(), Protocols: new(http.Protocols)}
		rt.Protocols.SetHTTP1(!h2)
		rt.Protocols.SetHTTP2(h2)
		t.Cleanup(rt.CloseIdleConnections)
		return rt
	}

	t.Run("grpc-go", func(t *testing.T) {
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewTLS(trust)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, d := range dialect.GRPCServices {
			g := dialect.GRPCOf(d)
			req, err := g.Request(dialect.GetTask, &a2a.GetTaskRequest{ID: "t1"})
			if err != nil {
				t.Fatal(err)
			}
			res := g.NewResult(dialect.GetTask)
			if err := conn.Invoke(t.Context(), "/"+g.Service()+"/GetTask", req, res); err != nil {
				t.Fatal(err)
			}
			if got, err := g.DecodeResult(dialect.GetTask, &a2a.GetTaskRequest{}, res); err != nil || got.(*a2a.Task).ID != "t1" || got.(*a2a.Task).ContextID != "native" {
				t.Errorf("%v %v", got, err)
			}
		}
		err = conn.Invoke(t.Context(), "/"+dialect.GRPCService+"/Nothing", &pb.GetTaskRequest{}, new(pb.Task))
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v", err)
		}
	})
	for _, h2 := range []bool{false, true} {
		name := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]
		t.Run(name, func(t *testing.T) {
			c := &http.Client{Transport: transport(h2)}
			get := func(method, path, body string) string {
				req, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil || res.Proto != name || res.StatusCode != 200 {
					t.Errorf("%s: %s %s %v %s", path, res.Proto, res.Status, err, b)
				}
				return string(b)
			}
			if got := get("GET", "/tasks/t1", ""); !strings.Contains(got, `"id":"t1"`) {
				t.Errorf("HTTP+JSON: %s", got)
			}
			if got := get("POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t2"}}`); !strings.Contains(got, `"id":"t2"`) {
				t.Errorf("JSON-RPC: %s", got)
			}
			if got := get("POST", "/tasks/x:subscribe", "{}"); !strings.Contains(got, "streamed") {
				t.Errorf("a stream: %s", got)
			}
			// The server must know that it is TLS, or the card sends clients to http.
			if got := get("GET", cardPath, ""); !strings.Contains(got, `"https://`+addr+`"`) || strings.Contains(got, `"http://`) {
				t.Errorf("the card: %s", got)
			}
		})
	}
	t.Run("our client", func(t *testing.T) {
		for _, url := range []string{"https://" + addr, addr} {
			for _, version := range []string{"1.0", "0.3"} {
				c, err := a2aclient.New(&a2a.AgentCard{
					Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
					SupportedInterfaces: []*a2a.AgentInterface{
						{URL: url, ProtocolBinding: a2a.BindingGRPC, ProtocolVersion: version},
						{URL: "https://" + addr, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}, // says that it is TLS
					},
				}, &a2aclient.Options{HTTPClient: &http.Client{Transport: transport(false)}, Bindings: []string{a2a.BindingGRPC}})
				if err != nil {
					t.Fatal(err)
				}
				if task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t3"}); err != nil || task.ID != "t3" {
					t.Errorf("%s %s: %v %v", version, url, task, err)
				}
				n := 0
				for el, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "x"}) {
					if err != nil || el.TaskID() != "streamed" {
						t.Errorf("%s %s: %v %v", version, url, el, err)
					}
					n++
				}
				if n != 1 {
					t.Errorf("%s %s: %d elements", version, url, n)
				}
			}
		}
	})
	t.Run("gRPC behind something else", func(t *testing.T) {
		c := &http.Client{Transport: transport(true)}
		res, err := c.Get("https://" + addr + "/tasks/t1")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://"+addr+"/"+dialect.GRPCService+"/GetTask", strings.NewReader("\x00\x00\x00\x00\x03\x12\x01x"))
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("TE", "trailers")
		res, err = c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err != nil || res.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("%v %v", res.Trailer, err)
		}
	})
	t.Run("in clear", func(t *testing.T) {
		res, err := http.Get("http://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if b, _ := io.ReadAll(res.Body); res.StatusCode != 400 || !strings.Contains(string(b), "https") {
			t.Errorf("%s %s", res.Status, b)
		}
	})
}
