package a2aclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2aclient"
)

// A server that answers http on its port for TLS is asked once, and the error says why.
func TestDialHTTPToTLSPort(t *testing.T) {
	for server, said := range map[string]string{
		"Go":     "Client sent an HTTP request to an HTTPS server.\n",
		"Parley": "This port takes https only.\n",
		"nginx":  "<center>The plain HTTP request was sent to HTTPS port</center>",
		"Apache": "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
	} {
		t.Run(server, func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				http.Error(w, said, http.StatusBadRequest)
			}))
			defer srv.Close()
			_, err := a2aclient.Dial(t.Context(), srv.URL, nil)
			var card *a2aclient.CardError
			if !errors.As(err, &card) || card.Kind != a2aclient.CardUnreachable || !strings.HasSuffix(err.Error(), ": its port takes https, not http") {
				t.Errorf("got %v", err)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
