package conformance

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/parley-a2a/parley/agent"
)

// A listener of crypto/tls makes the port speak TLS, for all bindings.
func TestConformanceTLS(t *testing.T) {
	t.Parallel()
	borrowed := httptest.NewTLSServer(nil) // for its certificate
	borrowed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := plain.Addr().String()
	startOn(t, tls.NewListener(plain, &tls.Config{
		Certificates: borrowed.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"},
	}), agent.DemoCard(), agent.Demo(), nil)

	t.Run("R-178 R-179 all that is HTTP, by TLS 1.3", func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		defer client.CloseIdleConnections()
		for name, ask := range map[string]func() (*http.Response, error){
			"JSON-RPC": func() (*http.Response, error) {
				return client.Post("https://"+addr, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`))
			},
			"HTTP+JSON": func() (*http.Response, error) { return client.Get("https://" + addr + "/tasks") },
			"card":      func() (*http.Response, error) { return client.Get("https://" + addr + cardPath) },
		} {
			res, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != 200 || strings.Contains(string(body), `"error"`) || res.TLS.Version != tls.VersionTLS13 {
				t.Errorf("%s: HTTP %d, TLS %x: %s", name, res.StatusCode, res.TLS.Version, body)
			}
			if name == "card" && !strings.Contains(string(body), `"https://`+addr) {
				t.Errorf("the card names other addresses: %s", body)
			}
		}
	})
	t.Run("R-229 gRPC", func(t *testing.T) {
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "")))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Invoke(t.Context(), "/lf.a2a.v1.A2AService/ListTasks", new(emptypb.Empty), new(emptypb.Empty)); err != nil {
			t.Error(err)
		}
	})
	t.Run("TLS 1.1 is refused", func(t *testing.T) {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
		if err == nil {
			conn.Close()
			t.Error("it is spoken")
		}
	})
}
