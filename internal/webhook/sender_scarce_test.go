package webhook_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

// It is not the receiver's failure if this server has no descriptor for a connection:
// the attempt continues when there is one, and if there is none in its time, the
// outcome says that the cause is here.
func TestWebhookWaitsForDescriptors(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	receiver.Config.SetKeepAlivesEnabled(false) // each attempt dials
	var left atomic.Int64
	policy := &egress.Policy{
		Loopback: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if left.Add(-1) >= 0 {
				return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)), Err: os.NewSyscallError("socket", syscall.EMFILE)}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	w := webhook.NewSender(policy, "test", "")
	left.Store(3)
	if out := w.Notify(t.Context(), noticeOf(t, "1.0", receiver.URL)); out.Verdict != a2a.Delivered {
		t.Errorf("after three tries: %+v", out)
	}
	synctest.Test(t, func(t *testing.T) { // in real time the limit could pass during a try, which is another error
		left.Store(1 << 40)
		w := webhook.NewSender(policy, "test", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if out := w.Notify(ctx, noticeOf(t, "1.0", receiver.URL)); out.Verdict != a2a.DeliverAgain || out.Down || out.Reason != "this server had no room for a connection" {
			t.Errorf("in the end: %+v", out)
		}
	})
}
