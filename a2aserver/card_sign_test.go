package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
)

// seal signs the cards of a test's server.
type seal struct {
	key  *auth.Key
	made atomic.Int32
}

func newSeal(t *testing.T) *seal {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		t.Fatal(err)
	}
	return &seal{key: key}
}

func (s *seal) sign(doc []byte) ([]*a2a.AgentCardSignature, error) {
	s.made.Add(1)
	return auth.Signatures(doc, []*auth.Key{s.key}, nil)
}

// broken returns why a document's signature does not hold for it in a form.
func (s *seal) broken(doc []byte, form auth.Form) error {
	v, err := auth.VerifyJSON(context.Background(), doc, auth.KeySet{s.key.Public()}, nil)
	if err == nil {
		err = v.Err()
	}
	if err == nil && v.Good().Payload.Form != form {
		err = fmt.Errorf("it is signed as %s", v.Good().Payload.Form)
	}
	return err
}

// fullCard has members that older versions have in other places.
func fullCard() *a2a.AgentCard {
	card := testCard()
	card.SecuritySchemes = map[string]*a2a.SecurityScheme{
		"key": {APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"}},
		"o": {OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{ClientCredentials: &a2a.OAuthFlow{
			TokenURL: "https://id.example.org/token", Scopes: map[string]string{"s": ""},
		}}}},
	}
	card.SecurityRequirements = []a2a.SecurityRequirement{{"key": {}}, {"o": {"s"}}}
	card.Capabilities.ExtendedAgentCard = new(true)
	card.Skills = []*a2a.AgentSkill{{ID: "s", Name: "S", Description: "Sings.", SecurityRequirements: []a2a.SecurityRequirement{{"key": {}}}}}
	return card
}

// extendedCards has an extended card that does not list its interfaces.
type extendedCards struct{ a2a.Unimplemented }

func (*extendedCards) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	card := fullCard()
	card.Name = "More"
	return card, nil
}

// The only thing that a client decides about a signed card is its version, and one
// signature is for all versions.
func TestSignedCardsDoNotComeFromRequests(t *testing.T) {
	s := newSeal(t)
	h := New(&fake{}, fullCard(), &Options{
		Sign: s.sign, PublicURL: "https://agents.example.org/", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
	})
	docs := map[string]string{}
	for _, path := range []string{cardPath, oldCardPath} {
		for _, version := range []string{"", "0.1", "0.3", "1.0"} {
			for _, said := range []string{"", "X-Forwarded-Host: evil.example.org", "X-Forwarded-Prefix: /evil", "Forwarded: host=evil.example.org;proto=http", "X-Forwarded-Host: a/b"} {
				for _, host := range []string{"example.org", "evil.example.org:1", "", "a b"} {
					r := httptest.NewRequest("GET", path, nil)
					r.Host = host
					r.Header.Set("A2A-Version", version)
					if name, value, ok := strings.Cut(said, ": "); ok {
						r.Header.Set(name, value)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					doc := w.Body.String()
					if w.Code != 200 || strings.Contains(doc, "evil") {
						t.Fatalf("%s, %s, %s: %d %s", path, host, said, w.Code, doc)
					}
					kind := fmt.Sprint(version == "1.0")
					if was, ok := docs[kind]; ok && was != doc {
						t.Errorf("%s in %q from %q, %q: another document", path, version, host, said)
					}
					docs[kind] = doc
				}
			}
		}
	}
	if n := s.made.Load(); n != 1 {
		t.Errorf("the card was signed %d times", n)
	}
	// The document of 1.0 has only what is signed; the other has more.
	for kind, form := range map[string]auth.Form{"true": auth.FormWhole, "false": auth.FormProtocol} {
		if err := s.broken([]byte(docs[kind]), form); err != nil {
			t.Errorf("%v: %s", err, docs[kind])
		}
	}

	// On a Port the card has other interfaces, so it is another card.
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", cardPath, nil)
	h.ServeHTTP(w, r.WithContext(port.With(r.Context())))
	if err := s.broken(w.Body.Bytes(), auth.FormProtocol); err != nil || s.made.Load() != 2 {
		t.Errorf("on a port: %v, signed %d times", err, s.made.Load())
	}

	// The author's own interfaces also fix the address, for extended cards too.
	own := fullCard()
	own.SupportedInterfaces = cannedCard().SupportedInterfaces
	h = New(new(extendedCards), own, &Options{Sign: s.sign})
	for _, path := range []string{cardPath, "/extendedAgentCard"} {
		w := do(h, "GET", "http://evil.example.org"+path, "", "A2A-Version: 1.0")
		if err := s.broken(w.Body.Bytes(), auth.FormWhole); err != nil || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%s: %v %s", path, err, w.Body)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a signed card may come from requests")
		}
	}()
	New(&fake{}, fullCard(), &Options{Sign: s.sign})
}

// Each binding and version has its own document of the extended card, and the signature
// is of that document.
func TestExtendedCardsAreSignedAsTheyGoOut(t *testing.T) {
	s := newSeal(t)
	h := New(new(extendedCards), fullCard(), &Options{Sign: s.sign, PublicURL: "https://agents.example.org"})
	for _, c := range []struct{ name, method, path, body, version string }{
		{"JSON-RPC 1.0", "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, ""},
		{"JSON-RPC 0.3", "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`, ""},
		{"HTTP+JSON 1.0", "GET", "/extendedAgentCard", "", "1.0"},
		{"HTTP+JSON 0.3", "GET", "/v1/card", "", "0.3"},
		{"0.2", "GET", extendedPath, "", ""},
	} {
		for range 2 {
			w := do(h, c.method, c.path, c.body, "A2A-Version: "+c.version, "X-Forwarded-Host: evil.example.org")
			doc := w.Body.Bytes()
			var answer struct{ Result json.RawMessage }
			if err := json.Unmarshal(doc, &answer); err == nil && answer.Result != nil {
				doc = answer.Result
			}
			if err := s.broken(doc, auth.FormWhole); err != nil || w.Code != 200 {
				t.Errorf("%s: %v, %d %s", c.name, err, w.Code, doc)
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", c.name, w.Header())
			}
		}
	}
	if n := s.made.Load(); n != 3 { // 1.0, and 0.3 in its two forms
		t.Errorf("extended cards were signed %d times", n)
	}

	p := NewPort(h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(l) }()
	defer func() {
		p.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	g := dialect.GRPCOf(dialect.V10)
	req, err := g.Request(dialect.GetExtendedAgentCard, new(a2a.GetExtendedAgentCardRequest))
	if err != nil {
		t.Fatal(err)
	}
	res := g.NewResult(dialect.GetExtendedAgentCard)
	if err := dialGRPC(t, l.Addr().String()).Invoke(t.Context(), "/"+g.Service()+"/GetExtendedAgentCard", req, res); err != nil {
		t.Fatal(err)
	}
	got, err := g.DecodeResult(dialect.GetExtendedAgentCard, nil, res)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.broken(got.(*a2a.AgentCard).AppendJSON(nil), auth.FormWhole); err != nil {
		t.Errorf("gRPC: %v", err)
	}
}

// If a card cannot be signed, no unsigned card is served in its place, and the reason
// is not told to clients.
func TestCardsThatCannotBeSignedAreNotServed(t *testing.T) {
	h := New(new(extendedCards), fullCard(), &Options{
		PublicURL: "https://agents.example.org",
		Sign:      func([]byte) ([]*a2a.AgentCardSignature, error) { return nil, errors.New("hsm 7 is gone") },
	})
	for _, path := range []string{cardPath, "/extendedAgentCard"} {
		if w := do(h, "GET", path, ""); w.Code != 500 || strings.Contains(w.Body.String(), "hsm") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Documents without end do not fill the memory.
func TestSignersForget(t *testing.T) {
	var s signer
	signed := 0
	sign := func([]byte) ([]*a2a.AgentCardSignature, error) { signed++; return nil, nil }
	for i := range 3 * maxSigned {
		for range 2 {
			if _, err := s.signatures(fmt.Append(nil, i), sign); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(s.made) > maxSigned || signed != 3*maxSigned {
		t.Errorf("%d are remembered, %d were signed", len(s.made), signed)
	}
}

func TestCardKeysAreServed(t *testing.T) {
	if w := do(New(&fake{}, testCard(), nil), "GET", CardKeysPath, ""); w.Code != 404 {
		t.Errorf("without keys: %d %s", w.Code, w.Body)
	}
	doc := `{"keys":[]}`
	h := New(&fake{}, testCard(), &Options{CardKeys: []byte(doc)})
	w := do(h, "GET", CardKeysPath, "")
	if w.Code != 200 || w.Body.String() != doc || w.Header().Get("Content-Type") != "application/jwk-set+json" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(h, "GET", CardKeysPath, "", "If-None-Match: "+w.Header().Get("ETag")); w.Code != 304 {
		t.Errorf("again: %d", w.Code)
	}
	if w := do(h, "POST", CardKeysPath, ""); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
}
