package a2aserver_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

// A large body of little content does not stay in memory while its call waits for the
// agent: neither as the request nor through the message, whose parts are slices of the
// body unless they are copied.
func TestWaitingCallsDoNotHoldTheirBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills some memory")
	}
	const calls, size = 8, 1 << 20
	padding := strings.Repeat(" ", size)
	for _, to := range []struct{ name, path, before, after string }{
		{"REST stream", "/message:stream", "", ""},
		{"REST", "/message:send", "", ""},
		{"JSON-RPC stream", "/", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`, "}"},
	} {
		t.Run(to.name, func(t *testing.T) {
			at := make(chan struct{}, calls)
			url := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				if err := t.Status("working"); err != nil {
					return err
				}
				at <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}))
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			heap := func() int64 {
				var m runtime.MemStats
				for range 3 {
					runtime.GC()
				}
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			message := `{"message":{"messageId":"m#","role":"ROLE_USER","parts":[{"text":"hello"},{"data":{"a":[1,2]}}],"metadata":{"k":"v"}}}`
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var clients sync.WaitGroup
			defer clients.Wait()
			ask := func(id string) {
				clients.Go(func() {
					body := io.MultiReader(
						strings.NewReader(to.before+strings.Replace(message, "m#", id, 1)[:1]),
						strings.NewReader(padding),
						strings.NewReader(strings.Replace(message, "m#", id, 1)[1:]+to.after))
					req, err := http.NewRequestWithContext(ctx, "POST", url+to.path, body)
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("A2A-Version", "1.0")
					res, err := client.Do(req)
					if err != nil {
						return // we left
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				})
				<-at
			}
			ask("warm")
			before := heap()
			for i := range calls {
				ask(string(rune('a' + i)))
			}
			if grown := heap() - before; grown > calls/2*size { // other tests leave things behind, and collect them
				t.Errorf("%d calls that wait hold %d KiB more than before", calls, grown>>10)
			}
			cancel()
		})
	}
}
