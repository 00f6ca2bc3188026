package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/test/fixtures"
)

// brokenList is a store that cannot list.
type brokenList struct{ store.Store }

func (brokenList) List(context.Context, store.Query) (*store.Page, error) {
	return nil, errors.New("no such table: secret_table in /var/lib/secret.db")
}

func TestConformanceFaults(t *testing.T) {
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			log := new(fixtures.Buffer)
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() }) // after Serve, which start ends first
			w := dial(t, binding, start(t, agent.DemoCard(), agent.Demo(), &parley.Options{
				Store:  brokenList{st},
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}))
			t.Run("R-082 R-083 R-227 an internal failure is logged, and its text stays inside", func(t *testing.T) {
				a := w.call(t, "ListTasks", obj{}, "Authorization", "Bearer s3cr3t-t0ken", "X-API-Key", "s3cr3t-k3y")
				want := map[string]string{jsonrpc: "-32603", rest: "500", grpcBinding: "Internal"}[binding]
				if a.fault == nil || a.fault.code != want {
					t.Fatalf("want code %s: %d %s", want, a.status, a.body)
				}
				if s := string(a.body); strings.Contains(s, "secret") {
					t.Errorf("the cause goes out: %s", s)
				}
				if !strings.Contains(log.String(), "secret_table") {
					t.Errorf("the cause is not in the log: %s", log)
				}
			})
			t.Run("R-275 the log holds no credentials", func(t *testing.T) {
				w.refused(t, "TASK_NOT_FOUND", "GetTask", obj{"id": "x"}, "Authorization", "Bearer s3cr3t-t0ken", "Cookie", "session=s3cr3t")
				w.ok(t, "SendMessage", obj{"message": say("echo my s3cr3t")}, "Authorization", "Bearer s3cr3t-t0ken")
				if strings.Contains(log.String(), "s3cr3t") {
					t.Errorf("%s", log)
				}
			})
		})
	}
}

func TestConformanceLimits(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		if w.binding == grpcBinding {
			return // TestConformanceGRPC has its limits
		}
		t.Run("R-271 a body that is too large", func(t *testing.T) {
			req := w.request(t.Context(), "SendMessage", obj{"message": say(strings.Repeat("x", 9<<20))}, nil)
			a := w.do(t, req, nil) // refused before its id is read
			if a.status != http.StatusRequestEntityTooLarge || a.fault == nil || a.fault.message == "" {
				t.Errorf("%d %.300s", a.status, a.body)
			}
			w.ok(t, "ListTasks", obj{}) // the server goes on
		})
		t.Run("R-271 a body of large size that is not too large", func(t *testing.T) {
			long := strings.Repeat("héllo ", 1<<19)
			equal(t, "length of the echo", len(text(w.send(t, say("echo "+long)), "artifacts.0.parts.0.text")), len(long))
		})
		t.Run("R-271 too many parts, too deep", func(t *testing.T) {
			parts := make([]any, 5000)
			for i := range parts {
				parts[i] = obj{"text": "x"}
			}
			w.refused(t, invalid, "SendMessage", obj{"message": say("", "parts", parts)})
			deep := decode(t, []byte(`[]`))
			for range 9000 {
				deep = []any{deep}
			}
			a := w.call(t, "SendMessage", obj{"message": say("", "parts", []any{obj{"data": deep}})})
			if a.fault == nil || a.status >= 500 {
				t.Errorf("9000 levels: %d %.300s", a.status, a.body)
			}
		})
		t.Run("R-278 what is not UTF-8 is refused", func(t *testing.T) {
			req := w.request(t.Context(), "SendMessage", obj{"message": say("echo BYTE")}, nil)
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.Replace(body, []byte("BYTE"), []byte{0xff}, 1)
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp, err := w.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if !has(decode(t, answer), "error") {
				t.Errorf("%s", answer)
			}
		})
		t.Run("R-278 the server does not fetch what a message refers to", func(t *testing.T) {
			var hits atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
			defer site.Close()
			w.send(t, say("", "parts", []any{obj{"text": "echo x"}, obj{"url": site.URL + "/file", "mediaType": "text/plain"}}))
			equal(t, "fetches", hits.Load(), 0)
		})
	})
}
