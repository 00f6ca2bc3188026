package a2aserver

import (
	"crypto/tls"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPagesOfOtherOrigins(t *testing.T) {
	closed := New(agreeable{}, testCard(), nil)
	listed := New(agreeable{}, testCard(), &Options{Origins: []string{"https://console.example.org"}, PublicURL: "https://agent.example.org"})
	const call = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}`
	for _, tt := range []struct {
		s           *Server
		method      string
		path        string
		headers     string // separated by |
		want        int
		allowed     string // origin
		credentials string
	}{
		{closed, "POST", "/", "A2A-Version: 1.0", 200, "", ""}, // no browser
		{closed, "POST", "/", "A2A-Version: 1.0|Origin: https://evil.example", 403, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Origin: null", 403, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Sec-Fetch-Site: cross-site", 403, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Sec-Fetch-Site: same-site|Origin: http://other.example.com", 403, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Sec-Fetch-Site: cross-site|Origin: http://example.com", 403, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Sec-Fetch-Site: same-origin|Origin: http://example.com", 200, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Origin: http://example.com", 200, "", ""},
		{closed, "POST", "/", "A2A-Version: 1.0|Origin: http://example.com:8080", 403, "", ""},
		{closed, "POST", "/message:send", "Origin: https://evil.example", 403, "", ""},
		{closed, "POST", "/tasks/t1:cancel", "Origin: https://evil.example", 403, "", ""},
		{closed, "DELETE", "/tasks/t1/pushNotificationConfigs/p1", "Origin: https://evil.example", 403, "", ""},
		{closed, "GET", "/tasks/t1", "Origin: https://evil.example", 403, "", ""},
		{closed, "GET", "/tasks/t1", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", 200, "", ""}, // a link
		{closed, "GET", "/tasks/t1", "Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: image", 200, "", ""},
		{closed, "GET", "/tasks/t1", "Sec-Fetch-Site: none|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", 200, "", ""},                         // typed
		{closed, "POST", "/message:send", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document|Origin: null", 403, "", ""}, // a form
		{closed, "GET", cardPath, "Origin: https://evil.example", 200, "", ""},
		{closed, "OPTIONS", "/", "Origin: https://evil.example|Access-Control-Request-Method: POST", 403, "", ""},
		{closed, "OPTIONS", "/", "", 405, "", ""},

		{listed, "POST", "/", "A2A-Version: 1.0|Origin: https://console.example.org", 200, "https://console.example.org", "true"},
		{listed, "GET", "/tasks/t1", "Origin: https://console.example.org", 200, "https://console.example.org", "true"},
		{listed, "GET", cardPath, "Origin: https://console.example.org", 200, "https://console.example.org", "true"},
		{listed, "OPTIONS", "/message:send", "Origin: https://console.example.org|Access-Control-Request-Method: POST", 204, "https://console.example.org", "true"},
		{listed, "OPTIONS", "/message:send", "Origin: https://console.example.org.evil.example|Access-Control-Request-Method: POST", 403, "", ""},
		{listed, "GET", "/tasks/t1", "Origin: https://evil.example", 403, "", ""},
		{listed, "POST", "/", "A2A-Version: 1.0|Origin: http://console.example.org", 403, "", ""},
		{listed, "POST", "/", "A2A-Version: 1.0|Origin: https://console.example.org:444", 403, "", ""},
		{listed, "POST", "/", "A2A-Version: 1.0|Origin: https://agent.example.org", 200, "", ""}, // its own, behind a proxy
		{listed, "POST", "/", "A2A-Version: 1.0|Origin: http://agent.example.org", 403, "", ""},
	} {
		var headers []string
		if tt.headers != "" {
			headers = strings.Split(tt.headers, "|")
		}
		body := ""
		if tt.path == "/" && tt.method == "POST" {
			body = call
		}
		w := do(tt.s, tt.method, tt.path, body, headers...)
		h := w.Header()
		if w.Code != tt.want || h.Get("Access-Control-Allow-Origin") != tt.allowed || h.Get("Access-Control-Allow-Credentials") != tt.credentials {
			t.Errorf("%s %s with %s: HTTP %d, %v %s", tt.method, tt.path, tt.headers, w.Code, h, w.Body)
		}
		if vary := strings.Join(h.Values("Vary"), ","); strings.Contains(vary, "Origin") != (tt.s == listed) {
			t.Errorf("%s %s with %s: Vary: %s", tt.method, tt.path, tt.headers, vary)
		}
		if tt.want == 204 {
			for _, name := range []string{"Authorization", "X-API-Key", "Last-Event-ID", "Idempotency-Key", "A2A-Version", "A2A-Extensions", "Content-Type"} {
				if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
					t.Errorf("%s may not be sent: %v", name, h)
				}
			}
		} else if tt.allowed != "" && !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Retry-After") {
			t.Errorf("%s %s: %v", tt.method, tt.path, h)
		}
	}
}

// TestPagesDoNotLearnWhatIsThere: a page that embeds an address learns from the load
// and error events whether the answer was an error. The headers are those of the Fetch
// standard. Chromium 156 was seen to send them to https and to this machine, and none
// of them to http elsewhere.
func TestPagesDoNotLearnWhatIsThere(t *testing.T) {
	s := New(agreeable{}, testCard(), nil)
	for _, tt := range []struct{ mode, dest string }{
		{"navigate", "object"}, {"navigate", "embed"}, {"navigate", "iframe"}, {"navigate", "frame"}, {"no-cors", "script"}, {"no-cors", "image"},
		{"no-cors", "style"}, {"no-cors", "audio"}, {"no-cors", "video"}, {"no-cors", "track"}, {"no-cors", "empty"}, {"cors", "empty"}, {"cors", "manifest"}, {"websocket", "websocket"},
	} {
		for _, site := range []string{"cross-site", "same-site"} {
			for _, method := range []string{"GET", "HEAD"} {
				for _, path := range []string{"/tasks", "/tasks/t1", "/tasks/none", "/v1/tasks/t1", "/tasks/t1:subscribe", "/extendedAgentCard", "/nothing"} {
					w := do(s, method, path, "", "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: "+tt.mode, "Sec-Fetch-Dest: "+tt.dest)
					if w.Code != 403 || w.Header().Get("X-Content-Type-Options") != "nosniff" {
						t.Errorf("%s %s as %s, %s: HTTP %d %v", method, path, tt.dest, site, w.Code, w.Header())
					}
				}
			}
		}
	}
}

func TestHosts(t *testing.T) {
	h := New(agreeable{}, testCard(), &Options{Hosts: []string{"agents.example.org", "127.0.0.1", "::1"}})
	for host, want := range map[string]int{
		"agents.example.org": 200, "AGENTS.example.org:7275": 200, "agents.example.org.": 200, "127.0.0.1:7275": 200, "[::1]:7275": 200, "[::1]": 200,
		"[0:0:0:0:0:0:0:1]": 421, "[::ffff:127.0.0.1]": 421, "[::1%25lo]": 421, "[::]:7275": 421, "0.0.0.0": 421, "127.1": 421, "2130706433": 421, "[::1].evil.example": 421, "[::1]x": 421,
		"evil.example": 421, "evil.example:7275": 421, "agents.example.org.evil.example": 421, "127.0.0.2": 421, "": 421, "localhost": 421,
	} {
		for _, path := range []string{cardPath, "/tasks/t1", "/", "/livez"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if want := map[bool]int{true: 200, false: want}[path == "/livez"]; w.Code != want {
				t.Errorf("%s at %q: HTTP %d", path, host, w.Code)
			}
		}
	}
	addr, _ := limitedPort(t, agreeable{}, &Options{Hosts: []string{"agents.example.org"}})
	if err := getOverGRPC(t, addr, ""); err == nil || !strings.Contains(err.Error(), "does not answer for the host") {
		t.Errorf("over gRPC: %v", err)
	}
	if err := getOverGRPC(t, addr, "agents.example.org:7275"); err != nil {
		t.Errorf("over gRPC: %v", err)
	}
}

func TestHSTS(t *testing.T) {
	h := New(agreeable{}, testCard(), nil)
	for host, want := range map[string]bool{"agents.example.org": true, "agents.example.org:8443": true, "localhost:8443": false, "x.localhost": false, "127.0.0.1": false, "[::1]:8443": false} {
		for _, path := range []string{cardPath, "/tasks/t1", "/", "/livez", "/nothing"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host, r.TLS = host, new(tls.ConnectionState)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Strict-Transport-Security"); (got == "max-age=31536000") != want {
				t.Errorf("%s at %s: %q", path, host, got)
			}
		}
	}
	if got := do(h, "GET", "/livez", "").Header().Get("Strict-Transport-Security"); got != "" {
		t.Errorf("in clear: %q", got)
	}
}
