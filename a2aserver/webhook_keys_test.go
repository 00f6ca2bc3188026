package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// hookKeys are made once: an RSA key takes its time.
var hookKeys = sync.OnceValue(func() *WebhookKeys {
	k, err := NewWebhookKeys()
	if err != nil {
		panic(err)
	}
	return k
})

func TestKeysAreServed(t *testing.T) {
	w := NewWebhooks(nil, "Parley", "")
	s := New(canned{}, cannedCard(), &Options{Keys: w.JWKS})
	if res := do(s, "GET", keysPath, ""); res.Code != 404 {
		t.Errorf("without keys: %d", res.Code)
	}
	w.SetKeys(hookKeys())
	for _, path := range []string{keysPath, "/" + keysPath} { // as cards are
		res := do(s, "GET", path, "")
		var doc struct{ Keys []map[string]any }
		if err := json.Unmarshal(res.Body.Bytes(), &doc); err != nil || res.Code != 200 || len(doc.Keys) != 2 {
			t.Fatalf("%d %s", res.Code, res.Body)
		}
		for _, k := range doc.Keys {
			for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
				if k[private] != nil {
					t.Errorf("a private key: %v", k)
				}
			}
		}
		if h := res.Header(); h.Get("Content-Type") != "application/jwk-set+json" || h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" {
			t.Errorf("%v", h)
		}
		etag := res.Header().Get("ETag")
		if res := do(s, "GET", path, "", "If-None-Match: "+etag); res.Code != 304 || res.Body.Len() != 0 {
			t.Errorf("asked again: %d %s", res.Code, res.Body)
		}
		if res := do(s, "HEAD", path, ""); res.Code != 200 || res.Body.Len() != 0 || res.Header().Get("ETag") != etag {
			t.Errorf("HEAD: %d %v", res.Code, res.Header())
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if res := do(s, method, keysPath, "{}"); res.Code != 405 || res.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, res.Code, res.Header())
		}
	}
	if res := do(http.StripPrefix("/agents/a", s), "GET", "/agents/a"+keysPath, ""); res.Code != 200 {
		t.Errorf("below a path: %d", res.Code)
	}
}

func TestKeysThatCannotBeRead(t *testing.T) {
	var log bytes.Buffer
	s := New(canned{}, cannedCard(), &Options{
		Keys:   func(context.Context) ([]byte, error) { return nil, errors.New("SELECT s3cret") },
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	left, leave := context.WithCancel(t.Context())
	leave()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(left, "GET", keysPath, nil))
	if log.Len() > 0 {
		t.Errorf("a client that left is no error of the server: %s", &log)
	}
	res := do(s, "GET", keysPath, "")
	if !strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log: %s", &log)
	}
	if res.Code != 503 || strings.Contains(res.Body.String(), "s3cret") {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := do(New(canned{}, cannedCard(), nil), "GET", keysPath, ""); res.Code != 404 {
		t.Errorf("without options: %d", res.Code)
	}
	if doc, err := (*Webhooks)(nil).JWKS(t.Context()); doc != nil || err != nil {
		t.Errorf("of no sender: %s, %v", doc, err)
	}
}

func TestKeysAreKept(t *testing.T) {
	k, err := NewWebhookKeys()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseWebhookKeys(k.Marshal())
	if err != nil || again.PublicKey() != k.PublicKey() || string(again.JWKS()) != string(k.JWKS()) {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := ParseWebhookKeys([]byte("s3cret")); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

func TestKeysRotate(t *testing.T) {
	w := NewWebhooks(nil, "Parley", "")
	w.SetKeys(hookKeys())
	s := New(canned{}, cannedCard(), &Options{Keys: w.JWKS})
	before := do(s, "GET", keysPath, "")
	next, err := hookKeys().Rotate(hookKeys().Made().AddDate(0, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	w.SetKeys(next)
	after := do(s, "GET", keysPath, "", "If-None-Match: "+before.Header().Get("ETag"))
	if after.Code != 200 || after.Header().Get("ETag") == before.Header().Get("ETag") {
		t.Errorf("%d %v", after.Code, after.Header())
	}
	var old, both struct{ Keys []struct{ Kid string } }
	_ = json.Unmarshal(before.Body.Bytes(), &old)
	_ = json.Unmarshal(after.Body.Bytes(), &both)
	if len(both.Keys) != 4 || both.Keys[2] != old.Keys[0] || both.Keys[3] != old.Keys[1] {
		t.Errorf("%v and then %v", old, both)
	}
}
