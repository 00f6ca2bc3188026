package conformance

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

func cardKey(t *testing.T, alg string) *auth.Key {
	t.Helper()
	k, err := auth.GenerateKey(alg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const public = "https://agents.example.org"

func TestCardKeysThatCannotSign(t *testing.T) {
	key := cardKey(t, "ES256")
	own := a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{{URL: public, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}}
	odd := own
	odd.SecuritySchemes = map[string]*a2a.SecurityScheme{"o": {OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{
		Implicit: &a2a.OAuthFlow{AuthorizationURL: "https://id.example.org", TokenURL: "https://id.example.org"},
	}}}}
	bare := a2a.AgentCard{Name: "x"}
	done := own
	if err := auth.SignCard(&done, key, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		card a2a.AgentCard
		o    *parley.Options
		want string // in the error; "" for none
	}{
		{"no address", bare, &parley.Options{CardKeys: []*auth.Key{key}}, "PublicURL"},
		{"an address", bare, &parley.Options{CardKeys: []*auth.Key{key}, PublicURL: public}, ""},
		{"interfaces", own, &parley.Options{CardKeys: []*auth.Key{key}}, ""},
		{"a public key", own, &parley.Options{CardKeys: []*auth.Key{key.Public()}}, "is public"},
		{"a key that has ended", own, &parley.Options{CardKeys: []*auth.Key{key, key.Until(time.Now().Add(-time.Minute))}}, "ended"},
		{"too many keys", own, &parley.Options{CardKeys: make([]*auth.Key, 9)}, "more than 8"},
		{"what no signature covers", odd, &parley.Options{CardKeys: []*auth.Key{key}}, "the protocol knows no"},
		{"an extended card that no signature covers", func() a2a.AgentCard {
			c := own
			c.Capabilities.ExtendedAgentCard = new(true)
			return c
		}(), &parley.Options{CardKeys: []*auth.Key{key}, ExtendedCard: &odd}, "extended card: "},
		{"signed before, as another card", done, nil, "have it signed here"},
		{"signed before and here, as another card", done, &parley.Options{CardKeys: []*auth.Key{key}}, "have it signed here"},
	} {
		_, err := parley.New(c.card, agent.Demo(), c.o)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A card that its author signed is published as it is.
func TestCardsThatWereSignedBefore(t *testing.T) {
	key := cardKey(t, "EdDSA")
	given := a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{{URL: public, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}}
	s, err := parley.New(given, agent.Demo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var full a2a.AgentCard
	if err := json.Unmarshal(served(s, "/.well-known/agent-card.json"), &full); err != nil {
		t.Fatal(err)
	}
	if err := auth.SignCard(&full, key, nil); err != nil {
		t.Fatal(err)
	}
	s, err = parley.New(full, agent.Demo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	verified(t, served(s, "/.well-known/agent-card.json"), key)
}

func served(s *parley.Server, path string) []byte {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://evil.example.org"+path, nil))
	return w.Body.Bytes()
}

func verified(t *testing.T, doc []byte, keys ...*auth.Key) *auth.Verification {
	t.Helper()
	v, err := auth.VerifyJSON(t.Context(), doc, auth.KeySet(keys), nil)
	if err == nil {
		err = v.Err()
	}
	if err != nil || bytes.Contains(doc, []byte("evil")) {
		t.Fatalf("%v: %s", err, doc)
	}
	return v
}

// A card's signatures say where its keys are, and the server has them there.
func TestCardKeysAreWhereTheCardSays(t *testing.T) {
	old, next := cardKey(t, "ES256"), cardKey(t, "RS256").Until(time.Now().Add(60*24*time.Hour))
	s, err := parley.New(a2a.AgentCard{Name: "x"}, agent.Demo(), &parley.Options{CardKeys: []*auth.Key{old, next}, PublicURL: public + "/"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := auth.ParseKeySet(served(s, a2aserver.CardKeysPath))
	if err != nil || len(set) != 2 || set[0].Private() || set[1].Expires() != next.Expires() {
		t.Fatalf("%v %v", set, err)
	}
	v := verified(t, served(s, "/.well-known/agent-card.json"), set...)
	for i, k := range []*auth.Key{old, next} {
		if r := v.Results[i]; r.Err != nil || r.KeyID != k.ID() || r.JKU != public+a2aserver.CardKeysPath {
			t.Errorf("%+v", r)
		}
	}
	// Those of webhooks sign nothing else.
	if hooks := served(s, "/.well-known/jwks.json"); bytes.Contains(hooks, []byte(old.ID())) {
		t.Errorf("%s", hooks)
	}
	s, err = parley.New(a2a.AgentCard{Name: "x"}, agent.Demo(), &parley.Options{CardKeys: []*auth.Key{old}, PublicURL: public, CardKeysURL: "https://keys.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if r := verified(t, served(s, "/.well-known/agent-card.json"), old).Results[0]; r.JKU != "https://keys.example.org" {
		t.Errorf("%+v", r)
	}
}

// A key that ends is told of before, and signs nothing afterwards.
func TestCardKeysThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		end := time.Now().Add(29 * 24 * time.Hour)
		st := store.NewMemory()
		defer st.Close()
		s, err := parley.New(a2a.AgentCard{Name: "x"}, agent.Demo(), &parley.Options{
			Store: st, CardKeys: []*auth.Key{cardKey(t, "EdDSA").Until(end)}, PublicURL: public, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil || !strings.Contains(log.String(), "ends soon") {
			t.Fatalf("%v: %s", err, &log)
		}
		time.Sleep(time.Until(end))
		log.Reset()
		for range 2 {
			if doc := served(s, "/.well-known/agent-card.json"); bytes.Contains(doc, []byte("signatures")) {
				t.Errorf("%s", doc)
			}
		}
		if n := strings.Count(log.String(), "have ended"); n != 1 {
			t.Errorf("it is told %d times: %s", n, &log)
		}
	})
}
