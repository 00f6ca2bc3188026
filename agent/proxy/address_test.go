package proxy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/internal/egress"
)

// An agent on the internet does not lead the server to one of its own network,
// and is not waited for; the operator may allow it.
func TestCardsDoNotLeadInside(t *testing.T) {
	t.Parallel()
	inside := serve(t, agent.DemoCard(), agent.Demo(), nil)
	for _, redirects := range []bool{false, true} {
		leads(t, inside.url(), redirects, false)
		leads(t, inside.url(), redirects, true)
	}
}

// An address that this server's own rules forbid is not tried again.
func TestForbiddenAgent(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: new(egress.Policy).Transport()}
	a, err := proxy.New("http://127.0.0.1:9", &proxy.Options{Client: client, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p := serve(t, agent.DemoCard(), a, nil)
	want(t, send(t, dial(t, p, nil), say("hello")), a2a.TaskStateFailed, "is at an address that this server may not call")
}

// leads has a card, or a redirect of a call, lead to where an agent is.
func leads(t *testing.T, inside string, redirects, any bool) {
	t.Helper()
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := inside
		if redirects {
			at = "http://8.8.8.8"
		}
		if r.Method == http.MethodPost {
			http.Redirect(w, r, inside, http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprintf(w, `{"name":"a","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{}}`, at)
	}))
	defer outside.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "8.8.8.8:80" {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		c, err := new(net.Dialer).DialContext(ctx, network, outside.Listener.Addr().String())
		return faraway{c}, err
	}}
	defer transport.CloseIdleConnections()
	a, err := proxy.New("http://8.8.8.8", &proxy.Options{Client: &http.Client{Transport: transport}, AnyAddress: any})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p := serve(t, agent.DemoCard(), a, nil)
	task := send(t, dial(t, p, nil), say("hello"))
	if any {
		want(t, task, a2a.TaskStateCompleted, "")
		return
	}
	want(t, task, a2a.TaskStateFailed, "is at an address that this server may not call")
}

// faraway is a connection to 8.8.8.8, as it seems.
type faraway struct{ net.Conn }

func (faraway) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 8, 8), Port: 80} }
