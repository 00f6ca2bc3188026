package a2aclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// nowhere returns the address of a host at which nobody listens.
func nowhere(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// atFaces returns a client of a card that lists these interfaces, as pairs of
// binding and address.
func atFaces(t *testing.T, o *Options, pairs ...string) *Client {
	t.Helper()
	card := cardAt("")
	for i := 0; i < len(pairs); i += 2 {
		card.SupportedInterfaces = append(card.SupportedInterfaces,
			&a2a.AgentInterface{ProtocolBinding: pairs[i], URL: pairs[i+1], ProtocolVersion: "1.0"})
	}
	c, err := New(card, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

const (
	rpcBinding  = a2a.BindingJSONRPC
	restBinding = a2a.BindingHTTPJSON
)

// listening starts a server of f.
func listening(t *testing.T, f http.Handler) (url string) {
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL
}

func answering() *fake {
	life := counting(1)
	return &fake{handle: func(x *exchange) {
		switch x.op {
		case dialect.SendMessage:
			x.json(&a2a.SendMessageResponse{Task: life.at(len(life))})
		case dialect.SendStreamingMessage, dialect.SubscribeToTask:
			x.stream()
			for i, el := range life {
				x.write(x.event(strconv.Itoa(i+1), el))
			}
		default:
			x.json(life.at(len(life)))
		}
	}}
}

//
func TestAnotherInterfaceWhereNobodyListens(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *Client) error{
		"SendMessage": func(ctx context.Context, c *Client) error { _, err := c.SendMessage(ctx, hello()); return err },
		"GetTask": func(ctx context.Context, c *Client) error {
			_, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "t1"})
			return err
		},
		"SendStreamingMessage": func(ctx context.Context, c *Client) error {
			els, err := collect(c.SendStreamingMessage(ctx, hello()))
			if len(els) != 4 && err == nil {
				err = errors.New(brief(els))
			}
			return err
		},
		"SubscribeToTask": func(ctx context.Context, c *Client) error {
			_, err := collect(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "t1"}))
			return err
		},
	}
	for name, do := range calls {
		t.Run(name, func(t *testing.T) {
			f := answering()
			url := listening(t, f)
			c := atFaces(t, nil, rpcBinding, "http://"+nowhere(t), restBinding, url+"/rest", rpcBinding, url+"/rpc")
			for range 2 {
				if err := do(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range f.seen() {
				if !strings.HasPrefix(s.uri, "/rest/") || s.header.Get("A2A-Version") != "1.0" {
					t.Errorf("%s %s", s.method, s.uri)
				}
			}
			if n := len(f.seen()); n != 2 || c.Interface().URL != url+"/rest" {
				t.Errorf("%d requests; the interface is %s", n, c.Interface().URL)
			}
		})
	}
}

func TestBackToTheFirstInterface(t *testing.T) {
	first, second := answering(), answering()
	firstURL := listening(t, first)
	srv := httptest.NewServer(second)
	c := atFaces(t, nil, rpcBinding, firstURL+"/rpc", restBinding, srv.URL+"/rest")
	c.face.Store(c.faces[1])
	srv.Close()
	if _, err := c.SendMessage(t.Context(), hello()); err != nil || len(first.seen()) != 1 {
		t.Errorf("%v, %d requests", err, len(first.seen()))
	}
}

// A request that may have been sent, or that was answered, is not sent to
// another address.
func TestNoOtherInterfaceForWhatWasSent(t *testing.T) {
	for name, handle := range map[string]func(*exchange){
		"a connection that breaks":       func(x *exchange) { x.cut() },
		"an error":                       func(x *exchange) { x.fail(a2a.ErrTaskNotFound) },
		"a server that is not available": func(x *exchange) { x.raw(503, "text/plain", "later") },
		"an answer that makes no sense":  func(x *exchange) { x.raw(200, "text/html", "<html>") },
		"a redirect to where nobody is":  func(x *exchange) { x.w.Header().Set("Location", "http://"+nowhere(t)); x.raw(307, "text/plain", "") },
	} {
		t.Run(name, func(t *testing.T) {
			first, second := &fake{handle: handle}, answering()
			c := atFaces(t, &Options{Retries: -1}, rpcBinding, listening(t, first)+"/rpc", restBinding, listening(t, second)+"/rest")
			if _, err := c.SendMessage(t.Context(), hello()); err == nil {
				t.Error("no error")
			}
			if _, err := collect(c.SendStreamingMessage(t.Context(), hello())); err == nil {
				t.Error("no error of the stream")
			}
			if a, b := len(first.seen()), len(second.seen()); a != 2 || b != 0 {
				t.Errorf("%d and %d requests", a, b)
			}
		})
	}
}

func TestInterfacesThatDoNotStandIn(t *testing.T) {
	f := answering()
	url := listening(t, f)
	plain, secure := "http://"+nowhere(t), "https://"+nowhere(t)
	tenants := cardAt("")
	tenants.SupportedInterfaces = []*a2a.AgentInterface{
		{ProtocolBinding: rpcBinding, URL: plain, ProtocolVersion: "1.0", Tenant: "mine"},
		{ProtocolBinding: rpcBinding, URL: url + "/rpc", ProtocolVersion: "1.0", Tenant: "yours"},
		{ProtocolBinding: rpcBinding, URL: url + "/rpc", ProtocolVersion: "1.0"},
	}
	other, err := New(tenants, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Client{
		"another tenant":          other,
		"another host, no TLS":    atFaces(t, nil, rpcBinding, plain, rpcBinding, strings.Replace(url, "127.0.0.1", "localhost", 1)+"/rpc"),
		"no TLS":                  atFaces(t, nil, rpcBinding, secure, rpcBinding, url+"/rpc"),
		"a binding not asked for": atFaces(t, &Options{Bindings: []string{rpcBinding}}, rpcBinding, plain, restBinding, url+"/rest"),
		"a binding not spoken":    atFaces(t, nil, rpcBinding, plain, "https://example.org/pigeon", url),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.SendMessage(t.Context(), hello())
			var e *TransportError
			if !errors.As(err, &e) || !e.Unreachable || e.Host != hostOf(c.faces[0]) {
				t.Errorf("%v", err)
			}
			if n := len(f.seen()); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestAllInterfacesUnreachable(t *testing.T) {
	first := nowhere(t)
	c := atFaces(t, &Options{Retries: -1}, rpcBinding, "http://"+first, restBinding, "http://"+nowhere(t))
	_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
	var e *TransportError
	if !errors.As(err, &e) || !e.Unreachable || e.Host != first {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "t1"}); !errors.Is(err, gone) {
		t.Errorf("after the context's end: %v", err)
	}
}

// An address at which nobody listens is not tried again in another version.
func TestNobodyIsThereInAnyVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{down: true}
		var offers []*a2a.AgentInterface
		for _, v := range []string{"1.0", "0.3", "0.1", "1.1"} {
			for _, b := range []string{"JSONRPC", "HTTP+JSON"} {
				offers = append(offers, &a2a.AgentInterface{URL: "http://agent.test", ProtocolBinding: b, ProtocolVersion: v})
			}
		}
		c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: offers},
			&Options{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: p.dial}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.SendMessage(t.Context(), hello())
		if !unreachable(err) || p.dials != 2 {
			t.Errorf("%v after %d dials", err, p.dials)
		}
	})
}
