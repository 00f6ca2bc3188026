package conformance

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
)

// A function that makes cards and fails, or panics, tells callers nothing of why, on
// any wire; and no condition of a request gets less than the credentials' own card.
func TestExtendedCardsFailQuietly(t *testing.T) {
	h := guarded(t, &parley.Options{ExtendedCardFor: func(_ context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
		switch c.Subject {
		case "badge:panics":
			panic("secret-7f3a")
		case "badge:fails":
			return nil, errors.New("dial postgres://u:secret-7f3a@192.0.2.1")
		}
		return &a2a.AgentCard{Name: "card of " + c.Subject}, nil
	}}, false)
	for _, who := range []string{"panics", "fails"} {
		extendedBy(t, h, who, func(name string, w *httptest.ResponseRecorder, doc []byte) {
			if body := w.Body.String(); strings.Contains(body, "secret-7f3a") || strings.Contains(body, "192.0.2.1") || strings.Contains(body, "card of") {
				t.Errorf("%s %s: %d %s", who, name, w.Code, body)
			}
		})
	}
	for _, path := range []string{"/agent/authenticatedExtendedCard", "/extendedAgentCard", "/v1/card"} {
		for who, status := range map[string]int{"ann": 200, "bob": 200, "": 401} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("If-None-Match", "*")
			r.Header.Set("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT")
			r.Header.Set("Range", "bytes=0-3")
			if who != "" {
				r.Header.Set("Authorization", "Bearer "+who)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != status || w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" || who != "" && !strings.Contains(w.Body.String(), "card of badge:"+who) {
				t.Errorf("%s of %q: %d %v %.100s", path, who, w.Code, w.Header(), w.Body)
			}
		}
	}
}
