package a2aserver

import (
	"encoding/json"
	"io"
	"mime"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/wire"
)

// FuzzHTTPHandler sends anything anywhere: every answer must be well formed.
func FuzzHTTPHandler(f *testing.F) {
	f.Add("POST", "/", getTask("1"), "application/json", "1.0", "urn:x")
	f.Add("POST", "/", rpcSubscribe, "", "", "")
	f.Add("GET", "/tasks/t1?historyLength=5", "", "", "1.0.3", "a,b")
	f.Add("POST", "/a/tasks/x%2Fy:cancel", `{"metadata":{}}`, "application/a2a+json", "", "")
	f.Add("GET", "/tasks/x:subscribe", "", "", "", "")
	f.Add("DELETE", "/tasks/x/pushNotificationConfigs/y", "", "", "", "")
	f.Add("HEAD", "/.well-known/agent-card.json", "", "", "", "")
	f.Fuzz(func(t *testing.T, method, target, body, media, version, extensions string) {
		r := httptest.NewRequest("GET", "http://h/", strings.NewReader(body))
		u, err := r.URL.Parse(target)
		if err != nil {
			return
		}
		r.Method, r.URL, r.RequestURI = method, u, target
		r.Header.Set("Content-Type", media)
		r.Header.Set("A2A-Version", version)
		r.Header.Set("A2A-Extensions", extensions)
		r.Header.Set("Last-Event-ID", version)
		w := httptest.NewRecorder()
		New(&recorder{}, testCard(), nil).ServeHTTP(w, r)

		got := w.Body.Bytes()
		ct, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
		switch ct {
		case mediaJSON, mediaA2A:
			if len(got) > 0 && !json.Valid(got) {
				t.Errorf("%s %s: not JSON: %s", method, target, got)
			}
			if ct == mediaJSON && method == "POST" && u.EscapedPath() == "/" {
				if _, err := wire.ParseResponse(got); err != nil {
					t.Errorf("%v: %s", err, got)
				}
			}
		case "text/event-stream":
			sse := wire.NewReader(w.Body, 1<<20)
			for {
				ev, err := sse.Next()
				if err == io.EOF {
					break
				}
				if err != nil || !json.Valid(ev.Data) {
					t.Fatalf("%v: %s", err, ev.Data)
				}
			}
		case "":
			if w.Code != 304 {
				t.Errorf("%s %s: %d without a type", method, target, w.Code)
			}
		default:
			if w.Code == 200 || w.Code >= 500 {
				t.Errorf("%s %s: %d %s", method, target, w.Code, ct)
			}
		}
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", method, target, w.Code, got)
		}
	})
}
