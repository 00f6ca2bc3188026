package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

const plainCard = `{"name":"Grüßer 🎈","description":"Greets.","version":"1","capabilities":{"streaming":false,"extensions":[]},` +
	`"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` +
	`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}`

func generate(t *testing.T, alg string) *Key {
	t.Helper()
	k, err := GenerateKey(alg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// verify returns why the card's signatures do not hold.
func verify(doc []byte, keys KeySource, o *VerifyOptions) error {
	v, err := VerifyJSON(context.Background(), doc, keys, o)
	if err != nil {
		return err
	}
	return v.Err()
}

func TestSignedCardsVerify(t *testing.T) {
	card := fullCard()
	var set KeySet
	doc := []byte(plainCard)
	for _, alg := range Algorithms {
		k := generate(t, alg)
		set = append(set, k.Public())
		if err := SignCard(card, k, &SignOptions{JKU: "https://a.example/jwks.json"}); err != nil {
			t.Fatal(err)
		}
		var err error
		if doc, _, err = SignJSON(doc, k, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string][]byte{"card": card.AppendJSON(nil), "document": doc} {
		v, err := VerifyJSON(t.Context(), c, set, nil)
		if err != nil || v.Err() != nil || len(v.Results) != 3 {
			t.Fatal(name, v, err)
		}
		for i, r := range v.Results {
			if r.Err != nil || r.Algorithm != Algorithms[i] || r.KeyID != set[i].ID() || r.Key != set[i] || len(r.Payload.Uncovered) > 0 {
				t.Errorf("%s: signature %d: %+v", name, i, r)
			}
		}
	}
	if v, err := VerifyCard(t.Context(), card, set[1:2], nil); err != nil || v.Err() != nil || v.Good().Algorithm != "EdDSA" || !errors.Is(v.Results[0].Err, ErrUnknownKey) {
		t.Errorf("with one key of three: %+v, %v", v, err)
	}
	header, _ := base64.RawURLEncoding.DecodeString(card.Signatures[0].Protected)
	if want := fmt.Sprintf(`{"alg":"ES256","jku":"https://a.example/jwks.json","kid":"%s","typ":"JOSE"}`, set[0].ID()); string(header) != want {
		t.Errorf("the header is %s, want %s", header, want)
	}
}

// A signature is over the meaning of a card, not over its spelling.
func TestVerifyOtherSpellings(t *testing.T) {
	k := generate(t, "EdDSA")
	doc, _, err := SignJSON([]byte(plainCard), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"escapes":           {"Grüßer 🎈", `Gr\u00fc\u00dfer \ud83c\udf88`},
		"a default":         {`"extensions":[],`, ``},
		"a null":            {`"version":`, `"iconUrl":null,"version":`},
		"another default":   {`"protocolBinding"`, `"tenant":"","protocolBinding"`},
		"another spelling":  {`"supportedInterfaces"`, `"supported_interfaces"`},
		"white space":       {`,"`, " ,\n\""},
		"an unknown member": {`"version":`, `"later":{"a":1},"version":`},
	} {
		changed := []byte(strings.ReplaceAll(string(doc), change[0], change[1]))
		if bytes.Equal(changed, doc) {
			t.Fatal(name, "changes nothing")
		}
		v, err := VerifyJSON(t.Context(), changed, KeySet{k}, nil)
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if left := v.Good().Payload.Uncovered; (name == "an unknown member") != slices.Equal(left, []string{"later"}) {
			t.Errorf("%s: it leaves out %v", name, left)
		}
		if bytes.Contains(v.Good().Payload.JSON, []byte("later")) {
			t.Errorf("%s: an unsigned member is in the payload", name)
		}
	}
}

func TestVerifyRefusesChanges(t *testing.T) {
	k := generate(t, "ES256")
	doc, _, err := SignJSON([]byte(plainCard), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"an address":    {"https://a.example/", "https://b.example/"},
		"a character":   {"Grüßer", "Grüsser"},
		"optional gone": {`"streaming":false`, `"pushNotifications":false`},
		"optional new":  {`"version":`, `"iconUrl":"","version":`},
		"required gone": {`"skills":[],`, ``},
		"new":           {`"version":`, `"securitySchemes":{"a":{}},"version":`},
		"a map's entry": {`"version":`, `"securityRequirements":[{}],"version":`},
	} {
		changed := []byte(strings.Replace(string(doc), change[0], change[1], 1))
		if bytes.Equal(changed, doc) {
			t.Fatal(name, "changes nothing")
		}
		if err := verify(changed, KeySet{k}, nil); !errors.Is(err, ErrTampered) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// before version 1.0 the address is in a member that 1.0 does not know
func TestOlderCardsAreCoveredWhole(t *testing.T) {
	k := generate(t, "ES256")
	doc, p, err := SignJSON([]byte(`{"name":"old","url":"https://a.example/","protocolVersion":"0.3.0","preferredTransport":""}`), k, nil)
	if err != nil || p.Form != FormWhole || len(p.Uncovered) > 0 {
		t.Fatal(p, err)
	}
	if err := verify(doc, KeySet{k}, nil); err != nil {
		t.Error(err)
	}
	if err := verify(bytes.Replace(doc, []byte("a.example"), []byte("b.example"), 1), KeySet{k}, nil); !errors.Is(err, ErrTampered) {
		t.Error("another address:", err)
	}
}

func TestVerifyStripped(t *testing.T) {
	k := generate(t, "ES256")
	p, err := Reduce([]byte(plainCard), FormStripped)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sign(p.JSON, k, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := with(t, s)
	if err := verify(doc, KeySet{k}, nil); !errors.Is(err, ErrTampered) {
		t.Error("without being asked for:", err)
	}
	if err := verify(doc, KeySet{k}, &VerifyOptions{Stripped: true}); err != nil {
		t.Error(err)
	}
}

// with returns the card with a signature.
func with(t *testing.T, signatures ...any) []byte {
	t.Helper()
	list, err := json.Marshal(signatures)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(plainCard, "}") + `,"signatures":` + string(list) + `}`)
}

func TestVerifyErrors(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	es, rs := generate(t, "ES256"), generate(t, "RS256")
	p, err := Reduce([]byte(plainCard), FormProtocol)
	if err != nil {
		t.Fatal(err)
	}
	good, err := sign(p.JSON, es, nil)
	if err != nil {
		t.Fatal(err)
	}
	head := func(h string, args ...any) *a2a.AgentCardSignature {
		return &a2a.AgentCardSignature{Protected: base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, h, args...)), Signature: good.Signature}
	}
	der, _ := es.Public().PEM()
	mac, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: der}, new(jose.SignerOptions).WithHeader("kid", es.ID()))
	if err != nil {
		t.Fatal(err)
	}
	macced, _ := mac.Sign(p.JSON)
	compact, _ := macced.DetachedCompactSerialize()
	macHead, macBody, _ := strings.Cut(compact, "..")

	for _, c := range []struct {
		name string
		doc  []byte
		keys KeySource
		want error
	}{
		{"in order", with(t, good), KeySet{es}, nil},
		{"one of three in order", with(t, 7, head(`{}`), good), KeySet{es}, nil},
		{"no signature", []byte(plainCard), KeySet{es}, ErrNotSigned},
		{"an empty list", with(t), KeySet{es}, ErrNotSigned},
		{"no keys", with(t, good), KeySet{}, ErrUnknownKey},
		{"another's key", with(t, good), KeySet{rs}, ErrUnknownKey},
		{"another's key under its id", with(t, good), KeySet{{id: es.id, alg: es.alg, public: generate(t, "ES256").public}}, ErrTampered},
		{"a key of another kind under its id", with(t, good), KeySet{{id: es.id, alg: rs.alg, public: rs.public}}, ErrAlgorithm},
		{"the key has ended", with(t, good), KeySet{es.Until(now)}, ErrKeyExpired},
		{"the key ends in a second", with(t, good), KeySet{es.Until(now.Add(time.Second))}, nil},
		{"none", with(t, head(`{"alg":"none","kid":%q}`, es.ID())), KeySet{es}, ErrAlgorithm},
		{"none without a signature", with(t, map[string]any{"protected": head(`{"alg":"none","kid":%q}`, es.ID()).Protected}), KeySet{es}, ErrAlgorithm},
		{"HMAC with the public key", with(t, &a2a.AgentCardSignature{Protected: macHead, Signature: macBody}), KeySet{es}, ErrAlgorithm},
		{"another algorithm than the key's", with(t, head(`{"alg":"RS256","kid":%q}`, es.ID())), KeySet{es}, ErrAlgorithm},
		{"another header", with(t, head(`{"alg":"ES256","kid":%q}`, es.ID())), KeySet{es}, ErrTampered},
		{"no kid", with(t, head(`{"alg":"ES256"}`)), KeySet{es}, ErrMalformed},
		{"no alg", with(t, head(`{"kid":"a"}`)), KeySet{es}, ErrMalformed},
		{"alg twice", with(t, head(`{"alg":"none","alg":"ES256","kid":%q}`, es.ID())), KeySet{es}, ErrMalformed},
		{"critical extensions", with(t, head(`{"alg":"ES256","kid":%q,"b64":false,"crit":["b64"]}`, es.ID())), KeySet{es}, ErrMalformed},
		{"no header", with(t, map[string]any{"signature": good.Signature}), KeySet{es}, ErrMalformed},
		{"a header in padded base64", with(t, map[string]any{"protected": good.Protected + "=", "signature": good.Signature}), KeySet{es}, ErrMalformed},
		{"a signature with dots", with(t, map[string]any{"protected": good.Protected, "signature": "a.b"}), KeySet{es}, ErrMalformed},
		{"too many", with(t, slices.Repeat([]any{good}, 17)...), KeySet{es}, ErrMalformed},
		{"no list", []byte(`{"signatures":{}}`), KeySet{es}, ErrMalformed},
		{"a key in the header", with(t, head(`{"alg":"ES256","kid":"mine","jwk":{}}`)), KeySet{es}, ErrUnknownKey},
	} {
		o := &VerifyOptions{Now: func() time.Time { return now }, Stripped: true}
		if err := verify(c.doc, c.keys, o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := sign(p.JSON, es.Until(now), &SignOptions{Now: func() time.Time { return now }}); !errors.Is(err, ErrKeyExpired) {
		t.Error("a key that has ended signed:", err)
	}
	if _, err := sign(p.JSON, es.Public(), nil); err == nil {
		t.Error("a public key signed")
	}
}

// jku is set by the card's author, who may be anyone: nothing is fetched from there
// unless the caller has named the same address.
func TestJKUIsFollowedOnlyWhereAllowed(t *testing.T) {
	k := generate(t, "ES256")
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/jwks.json":
			doc, _ := KeySet{k}.JWKS()
			_, _ = w.Write(doc)
		case "/away":
			http.Redirect(w, r, "/jwks.json", http.StatusFound)
		case "/long":
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxKeys+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for _, c := range []struct {
		jku   string
		allow string // "": the same
		fetch int
		want  error
	}{
		{srv.URL + "/jwks.json", "", 1, nil},
		{srv.URL + "/jwks.json", srv.URL + "/", 0, ErrUnknownKey},
		{srv.URL + "/jwks.json?", srv.URL + "/jwks.json", 0, ErrUnknownKey},
		{"", srv.URL + "/jwks.json", 0, ErrUnknownKey},
		{srv.URL + "/away", "", 1, ErrUnknownKey},
		{srv.URL + "/long", "", 1, ErrUnknownKey},
		{srv.URL + "/none", "", 1, ErrUnknownKey},
		{"http://keys.example/jwks.json", "", 0, ErrUnknownKey},
		{"file:///etc/passwd", "", 0, ErrUnknownKey},
	} {
		doc, _, err := SignJSON([]byte(plainCard), k, &SignOptions{JKU: c.jku})
		if err != nil {
			t.Fatal(err)
		}
		asked = 0
		if c.allow == "" {
			c.allow = c.jku
		}
		if err := verify(doc, &Remote{Allow: []string{c.allow}, HTTPClient: srv.Client()}, nil); !errors.Is(err, c.want) || asked != c.fetch {
			t.Errorf("%s, allowed %s: %v after %d requests; want %v after %d", c.jku, c.allow, err, asked, c.want, c.fetch)
		}
	}
}

func FuzzVerify(f *testing.F) {
	// The key is the same in every process that fuzzes, or no card of the corpus would
	// verify.
	k, err := newKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		f.Fatal(err)
	}
	doc, p, err := SignJSON([]byte(plainCard), k, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add([]byte(`{"signatures":[{"protected":"e30","signature":""}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := VerifyJSON(t.Context(), doc, KeySet{k}, nil)
		if err == nil && v.Err() == nil && !bytes.Equal(v.Good().Payload.JSON, p.JSON) {
			t.Fatalf("a card that was never signed holds: %s", doc)
		}
	})
}
