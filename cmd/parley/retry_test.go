//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestServerDiesBeforeItAnswers kills the server while a message is on its way:
// before it arrives, or when it is stored and the first word of the answer is
// lost. The command sends it again by itself, and the work is done once.
func TestServerDiesBeforeItAnswers(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprintf("message arrives %t", arrives), func(t *testing.T) {
			t.Parallel()
			k := newTools(t)
			between := newBetween(t, k, arrives, "--retry-anonymous")
			out, errs, code := k.run(t, "send", "-a", between.url, "--stream", "stream 20 20")
			if code != 0 || !strings.Contains(out, "TASK_STATE_COMPLETED") {
				t.Errorf("%d:\n%s%s", code, out, errs)
			}
			wantChunks(t, "the caller", out, 20)
			wantTasks(t, between, 1)
		})
	}
	t.Run("without the promise", func(t *testing.T) {
		t.Parallel()
		k := newTools(t)
		between := newBetween(t, k, true)
		out, errs, code := k.run(t, "send", "-a", between.url, "--stream", "stream 20 20")
		if code == 0 || !strings.Contains(errs, "Error: ") {
			t.Errorf("%d:\n%s%s", code, out, errs)
		}
		wantTasks(t, between, 1) // it is not known whether it was taken, and it is not sent again
	})
}

func wantTasks(t *testing.T, b *between, n int) {
	t.Helper()
	out, _, _ := b.k.run(t, "task", "list", "-a", b.url)
	if !strings.Contains(out, fmt.Sprintf("\nTasks: %d of %d\n", n, n)) {
		t.Errorf("there are other tasks than %d:\n%s", n, out)
	}
}

// between is a proxy that sees the first message, kills the server and lets
// another one take its place.
type between struct {
	k   tools
	url string

	mu     sync.Mutex // protects the field below
	server *process
}

func newBetween(t *testing.T, k tools, arrives bool, args ...string) *between {
	b := &between{k: k, server: k.serve(t, "", args...)}
	var first sync.Once
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			first.Do(func() {
				if arrives {
					out := r.Clone(t.Context())
					out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", b.server.addr
					resp, err := http.DefaultClient.Do(out)
					if err == nil {
						_, err = resp.Body.Read(make([]byte, 1)) // so it is stored
						resp.Body.Close()
					}
					if err != nil {
						t.Error(err)
					}
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				b.server.tell(syscall.SIGKILL)
				b.server.exit()
				b.server = k.serve(t, "", args...)
				panic(http.ErrAbortHandler)
			})
		}
		b.mu.Lock()
		addr := b.server.addr
		b.mu.Unlock()
		(&httputil.ReverseProxy{
			Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: addr}); p.Out.Host = p.In.Host },
			FlushInterval: -1,
		}).ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	b.url = proxy.URL
	return b
}
