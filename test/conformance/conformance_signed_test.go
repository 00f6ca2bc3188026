package conformance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
)

// untouched fails the test if anything is asked of the network.
type untouched struct{ t *testing.T }

func (u untouched) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("%s was asked", r.URL)
	return nil, errors.New("no network")
}

// sorted is the canonical form of a document whose numbers and strings have only
// one: RFC 8785 without what is hard about it.
func sorted(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

func members(t *testing.T, doc []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	return m
}

// Cards are signed and verified as §8.4 has it.
func TestConformanceSignedCards(t *testing.T) {
	t.Parallel()
	key, err := auth.GenerateKey("EdDSA")
	if err != nil {
		t.Fatal(err)
	}
	url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{CardKeys: []*auth.Key{key}, PublicURL: "https://agents.example.org"})
	req, err := http.NewRequest("GET", url+cardPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	card := members(t, doc)
	first, _ := card["signatures"].([]any)[0].(map[string]any)
	protected, _ := first["protected"].(string)
	signature, err := base64.RawURLEncoding.DecodeString(first["signature"].(string))
	if err != nil {
		t.Fatal(err)
	}
	var public struct{ X string }
	jwk, err := key.Public().MarshalJSON()
	if err == nil {
		err = json.Unmarshal(jwk, &public)
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := base64.RawURLEncoding.DecodeString(public.X)
	if err != nil {
		t.Fatal(err)
	}
	delete(card, "signatures")

	t.Run("R-199 R-202 the signature is over the canonical JSON without signatures", func(t *testing.T) {
		signed := protected + "." + base64.RawURLEncoding.EncodeToString(sorted(t, card))
		if !ed25519.Verify(x, []byte(signed), signature) {
			t.Errorf("%s", doc)
		}
	})
	t.Run("R-203 R-204 the protected header", func(t *testing.T) {
		h, err := base64.RawURLEncoding.DecodeString(protected)
		if err != nil {
			t.Fatal(err)
		}
		if m := members(t, h); m["alg"] != "EdDSA" || m["kid"] != key.ID() || m["typ"] != "JOSE" {
			t.Errorf("%s", h)
		}
	})
	// with returns the document with a member changed, or taken away.
	with := func(name string, value any) []byte {
		m := members(t, doc)
		if m[name] = value; value == nil {
			delete(m, name)
		}
		return sorted(t, m)
	}
	judge := func(doc []byte, keys auth.KeySource, o *auth.VerifyOptions) error {
		v, err := auth.VerifyJSON(t.Context(), doc, keys, o)
		if err != nil {
			return err
		}
		return v.Err()
	}
	set := auth.KeySet{key.Public()}
	t.Run("R-201 R-205 defaults count for nothing, REQUIRED members for something", func(t *testing.T) {
		for _, same := range [][]byte{doc, with("securityRequirements", []any{}), with("securitySchemes", map[string]any{}), sorted(t, members(t, doc))} {
			if err := judge(same, set, nil); err != nil {
				t.Errorf("%v: %s", err, same)
			}
		}
		for _, other := range [][]byte{with("description", ""), with("description", nil), with("iconUrl", ""), with("skills", []any{}), with("name", "Another")} {
			if err := judge(other, set, nil); !errors.Is(err, auth.ErrTampered) {
				t.Errorf("%v: %s", err, other)
			}
		}
	})
	t.Run("R-206 R-282 a client verifies before it trusts", func(t *testing.T) {
		check := a2aclient.Options{CheckCard: func(_ context.Context, doc []byte) ([]byte, error) { return doc, judge(doc, set, nil) }}
		if _, err := a2aclient.Resolve(t.Context(), url, &check); err != nil {
			t.Error(err)
		}
		var e *a2aclient.CardError
		if _, err := a2aclient.Dial(t.Context(), start(t, agent.DemoCard(), agent.Demo(), nil), &check); !errors.As(err, &e) || e.Kind != a2aclient.CardRefused {
			t.Errorf("an unsigned card: %v", err)
		}
	})
	t.Run("R-207 keys come by https, from where the caller says", func(t *testing.T) {
		for _, jku := range []string{"http://keys.example.org/jwks.json", "ftp://keys.example.org/jwks.json", "file:///etc/jwks.json"} {
			r := &auth.Remote{Allow: []string{jku}, HTTPClient: &http.Client{Transport: untouched{t}}}
			if _, err := r.Keys(t.Context(), key.ID(), jku); !errors.Is(err, auth.ErrUnknownKey) {
				t.Errorf("%s: %v", jku, err)
			}
		}
		// The one that the card names is not in the list.
		r := &auth.Remote{Allow: []string{"https://keys.example.org/jwks.json"}, HTTPClient: &http.Client{Transport: untouched{t}}}
		if err := judge(doc, r, nil); !errors.Is(err, auth.ErrUnknownKey) {
			t.Error(err)
		}
	})
	t.Run("R-208 a key that has ended neither signs nor verifies, one that was taken back is unknown", func(t *testing.T) {
		ended := key.Until(time.Now().Add(-time.Minute))
		if err := judge(doc, auth.KeySet{ended.Public()}, nil); !errors.Is(err, auth.ErrKeyExpired) {
			t.Error(err)
		}
		if _, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{CardKeys: []*auth.Key{ended}, PublicURL: url}); err == nil {
			t.Error("it signs")
		}
		if err := judge(doc, slices.Clone(set)[:0], nil); !errors.Is(err, auth.ErrUnknownKey) {
			t.Error(err)
		}
	})
}
