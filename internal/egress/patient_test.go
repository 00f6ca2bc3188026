package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/internal/scarce"
)

// A patient client waits for a descriptor; any other returns at once that there is
// none.
func TestPatientClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, patient := range []bool{true, false} {
		var left atomic.Int64
		left.Store(3)
		p := &Policy{Loopback: true, Patient: patient, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if left.Add(-1) >= 0 {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.EMFILE}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
		res, err := p.Client().Get(server.URL)
		if err == nil {
			res.Body.Close()
		}
		if (err == nil) != patient || err != nil && !scarce.Is(err) {
			t.Errorf("patient %v: %v", patient, err)
		}
	}
}
