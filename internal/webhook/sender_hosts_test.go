package webhook_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Posts that hang do not block others to the same host: several callers may have
// receivers there, and the engine limits the posts of each.
func TestWebhooksThatHangKeepNoOthersFromTheirHost(t *testing.T) {
	const hanging = 20
	over, begun := make(chan struct{}), make(chan struct{}, hanging)
	in := newInbox(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			begun <- struct{}{}
			<-over
		}
	})
	hooks := localHooks(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(over)
	for range hanging {
		wg.Go(func() { hooks.Notify(t.Context(), noticeOf(t, "1.0", in.URL+"/hangs")) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range hanging {
		select {
		case <-begun:
		case <-ctx.Done():
			t.Fatalf("only %d posts came", n)
		}
	}
	if out := hooks.Notify(ctx, noticeOf(t, "1.0", in.URL+"/answers")); out.Verdict != a2a.Delivered {
		t.Errorf("got %+v", out)
	}
}
