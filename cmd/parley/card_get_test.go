package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
)

// card get says whether signatures hold, as far as keys at the host of the card tell.
func TestCardGetJudgesSignatures(t *testing.T) {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		t.Fatal(err)
	}
	jwks, err := auth.KeySet{key.Public()}.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/keys.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(jwks)
	}))
	defer srv.Close()
	signed := func(jku string) []byte {
		doc, _, err := auth.SignJSON([]byte(`{"name":"Signed","description":"d"}`), key, &auth.SignOptions{JKU: jku})
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	good := signed(srv.URL + "/keys.json")
	for name, c := range map[string]struct {
		at   string
		doc  []byte
		want string
	}{
		"good":              {srv.URL, good, "hold, by a key at " + strings.TrimPrefix(srv.URL, "https://")},
		"changed":           {srv.URL, bytes.Replace(good, []byte("Signed"), []byte("Forged"), 1), "do not hold: "},
		"no key is named":   {srv.URL, signed(""), "not verified: they name no key at "},
		"keys elsewhere":    {srv.URL, signed("https://keys.example/keys.json"), "not verified: they name no key at "},
		"no keys there":     {srv.URL, signed(srv.URL + "/none.json"), "not verified: "},
		"the card's a file": {"./card.json", nil, "not verified: there is no key to verify with"},
	} {
		a := &app{}
		a.flags.agentCard, a.flags.insecure = c.at, true
		if got := a.judge(t.Context(), c.doc); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
