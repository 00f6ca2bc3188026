package webhook

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestKeysAreStoredAndRead(t *testing.T) {
	k := testKeys()
	again, err := ParseKeys(k.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.JWKS(), k.JWKS()) || again.PublicKey() != k.PublicKey() || !again.Made().Equal(now) {
		t.Errorf("got %s, want %s", again.JWKS(), k.JWKS())
	}
	a, b := http.Header{}, http.Header{}
	k.Sign(a, "d-1", now, []byte("x"), "")
	again.Sign(b, "d-1", now, []byte("x"), "")
	if a.Get(HeaderSignature) != b.Get(HeaderSignature) {
		t.Error("the keys sign differently")
	}
}

func TestBrokenKeys(t *testing.T) {
	good := string(testKeys().Marshal())
	var doc map[string][]map[string]json.RawMessage
	json.Unmarshal([]byte(good), &doc)
	set := doc["sets"][0]
	for _, bad := range []string{
		"", "{}", "[]", "null", `{"sets":[]}`, `{"sets":[{}]}`, good[:len(good)/2], good + "x",
		`{"sets":[{"made":"2026-01-01T00:00:00Z","rsa":` + string(set["rsa"]) + `}]}`,
		`{"sets":[{"made":"2026-01-01T00:00:00Z","ed25519":` + string(set["rsa"]) + `,"rsa":` + string(set["ed25519"]) + `}]}`,
		`{"sets":[{"ed25519":` + string(set["ed25519"]) + `,"rsa":` + string(set["rsa"]) + `}]}`,
		strings.Replace(good, `"d":"`, `"d":"AAAA`, 1),
		string(testKeys().JWKS()),
	} {
		if _, err := ParseKeys([]byte(bad)); err == nil {
			t.Errorf("read %.60s", bad)
		} else if len(err.Error()) > 120 {
			t.Errorf("the error tells too much: %v", err)
		}
	}
}

// TestJWKS checks the published form without this package: names, no private parts, and
// thumbprints computed by hand.
func TestJWKS(t *testing.T) {
	var doc struct{ Keys []map[string]string }
	if err := json.Unmarshal(testKeys().JWKS(), &doc); err != nil || len(doc.Keys) != 2 {
		t.Fatalf("%s: %v", testKeys().JWKS(), err)
	}
	r, e := doc.Keys[0], doc.Keys[1]
	if r["kty"] != "RSA" || r["alg"] != "RS256" || r["use"] != "sig" || e["kty"] != "OKP" || e["crv"] != "Ed25519" || e["alg"] != "EdDSA" || e["use"] != "sig" {
		t.Errorf("%s", testKeys().JWKS())
	}
	for i, input := range []string{`{"e":"` + r["e"] + `","kty":"RSA","n":"` + r["n"] + `"}`, `{"crv":"Ed25519","kty":"OKP","x":"` + e["x"] + `"}`} {
		sum := sha256.Sum256([]byte(input))
		if want := base64.RawURLEncoding.EncodeToString(sum[:]); doc.Keys[i]["kid"] != want {
			t.Errorf("kid %s, want %s", doc.Keys[i]["kid"], want)
		}
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi"} {
			if doc.Keys[i][private] != "" {
				t.Errorf("key %d has %s", i, private)
			}
		}
	}
}

func TestRotation(t *testing.T) {
	old := testKeys()
	later := now.Add(30 * 24 * time.Hour)
	k, err := old.Rotate(later)
	if err != nil {
		t.Fatal(err)
	}
	k, err = ParseKeys(k.Marshal()) // Marshal has all that is stored
	if err != nil {
		t.Fatal(err)
	}
	oldSet, _ := ParseKeySet(old.JWKS())
	newSet, _ := ParseKeySet(k.JWKS())
	body := []byte("{}")
	signed := func(k *Keys, at time.Time) *Signed {
		h := http.Header{}
		k.Sign(h, "d-1", at, body, "")
		s, err := ReadSigned(h)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := signed(old, later); !s.ByKey(newSet, body) {
		t.Error("what was signed before the rotation is not verified after it")
	}
	if s := signed(k, later.Add(Overlap)); !s.ByKey(newSet, body) || !s.ByKey(oldSet, body) {
		t.Error("during the overlap one of the keys is missing")
	}
	if s := signed(k, later.Add(Overlap+time.Second)); !s.ByKey(newSet, body) || s.ByKey(oldSet, body) {
		t.Error("the old key signs for ever")
	}
	h := http.Header{}
	if err := k.Bearer(h, "d-1", "t", "https://example.com", later, body); err != nil {
		t.Fatal(err)
	}
	tok, err := ReadToken(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Claims(oldSet, body); err != ErrUnknownKey {
		t.Errorf("the JWT is not of the new key: %v", err)
	}
	third, err := k.Rotate(later.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if thirdSet, _ := ParseKeySet(third.JWKS()); signed(old, later).ByKey(thirdSet, body) {
		t.Error("the oldest key is still published")
	}
}

// TestJWTByHand takes a token apart without a library.
func TestJWTByHand(t *testing.T) {
	k, h, body := testKeys(), http.Header{}, []byte(`{"id":"t-1"}`)
	if err := k.Bearer(h, "d-1", "t-1", "https://example.com/hook?secret=1", now, body); err != nil {
		t.Fatal(err)
	}
	raw, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	parts := strings.Split(raw, ".")
	if !ok || len(parts) != 3 {
		t.Fatal(h)
	}
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var header, claims map[string]any
	json.Unmarshal(decode(parts[0]), &header)
	json.Unmarshal(decode(parts[1]), &claims)
	sum := sha256.Sum256(body)
	if header["alg"] != "RS256" || header["typ"] != "JWT" || header["kid"] == "" || len(header) != 3 {
		t.Errorf("header %v", header)
	}
	for name, want := range map[string]any{
		"iat": float64(now.Unix()), "exp": float64(now.Unix() + 300), "jti": "d-1", "taskId": "t-1", "htu": "https://example.com/hook",
		"request_body_sha256": hex.EncodeToString(sum[:]), "aud": nil,
	} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&k.sets[0].rsa.PublicKey, crypto.SHA256, digest[:], decode(parts[2])); err != nil {
		t.Error(err)
	}
}

func TestJWTTampering(t *testing.T) {
	k, h, body := testKeys(), http.Header{}, []byte(`{"id":"t-1"}`)
	if err := k.Bearer(h, "d-1", "t-1", "https://example.com", now, body); err != nil {
		t.Fatal(err)
	}
	set, _ := ParseKeySet(k.JWKS())
	tok, err := ReadToken(h)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tok.Claims(set, body); err != nil || c.ID != "d-1" || c.TaskID != "t-1" || !c.IssuedAt.Time().Equal(now) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := tok.Claims(set, []byte(`{"id":"t-2"}`)); err != ErrForged {
		t.Errorf("another body: %v", err)
	}
	raw := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	parts := strings.Split(raw, ".")
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	kid := tok.jwt.Headers[0].KeyID
	publicPEM := part("whatever")
	for what, value := range map[string]string{
		"none":          part(`{"alg":"none","kid":"`+kid+`"}`) + "." + parts[1] + ".",
		"hmac":          part(`{"alg":"HS256","kid":"`+kid+`"}`) + "." + parts[1] + "." + publicPEM,
		"other claims":  parts[0] + "." + part(`{"iat":1}`) + "." + parts[2],
		"no signature":  parts[0] + "." + parts[1] + ".",
		"own key":       part(`{"alg":"RS256","kid":"x","jwk":{"kty":"RSA","n":"AQAB","e":"AQAB"}}`) + "." + parts[1] + "." + parts[2],
		"key elsewhere": part(`{"alg":"RS256","kid":"x","jku":"https://evil.example/"}`) + "." + parts[1] + "." + parts[2],
		"long":          strings.Repeat("a", maxToken) + raw,
	} {
		tok, err := ReadToken(http.Header{"Authorization": {"Bearer " + value}})
		if err == nil {
			_, err = tok.Claims(set, body)
		}
		if err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	for _, h := range []http.Header{{}, {"Authorization": {"Basic " + raw}}, {"Authorization": {"Bearer opaque"}}} {
		if _, err := ReadToken(h); err != ErrMissing {
			t.Errorf("%v: %v", h, err)
		}
	}
	if _, err := ReadToken(http.Header{"Authorization": {"Bearer " + raw, "Bearer " + raw}}); !errors.Is(err, ErrMalformed) {
		t.Errorf("two tokens: %v", err)
	}
}

func TestKeySetsOfOthers(t *testing.T) {
	for doc, n := range map[string]int{
		`{"keys":[]}`: 0,
		`{"keys":[{"kty":"EC"},{"kty":"AKP","alg":"ML-DSA-44","pub":"x"},null,7,{"kty":"oct","k":"AAAA"}]}`:      0,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`:             1,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`: 0,
		`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"weak"}]}`:                                            0,
	} {
		set, err := ParseKeySet([]byte(doc))
		if err != nil || len(set.ed)+len(set.rsa) != n {
			t.Errorf("%s: %+v, %v", doc, set, err)
		}
	}
	for _, doc := range []string{"", "null", "{}", "[]", `{"keys":7}`, `{"keys":[]}` + strings.Repeat(" ", maxKeySet)} {
		if _, err := ParseKeySet([]byte(doc)); err == nil {
			t.Errorf("read %.40s", doc)
		}
	}
	for _, s := range []string{"", "whpk_", "whpk_AAAA", strings.TrimPrefix(testKeys().PublicKey(), "whpk_"), "whsk_" + testKeys().PublicKey()} {
		if _, err := ParsePublicKeys([]string{s}); err == nil {
			t.Errorf("read %q", s)
		}
	}
	if set, err := ParsePublicKeys([]string{testKeys().PublicKey()}); err != nil || len(set.ed) != 1 {
		t.Error(err)
	}
}

func FuzzParseKeySet(f *testing.F) {
	f.Add(testKeys().JWKS())
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		set, err := ParseKeySet(doc)
		if err != nil {
			return
		}
		s, _ := ReadSigned(http.Header{HeaderID: {"d"}, HeaderTimestamp: {"1"}, HeaderSignature: {"v1a," + base64.StdEncoding.EncodeToString(make([]byte, 64))}})
		s.ByKey(set, doc)
	})
}

func BenchmarkBearer(b *testing.B) {
	k, body := testKeys(), make([]byte, 1000)
	h := http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Bearer(h, "d-1", "t-1", "https://example.com", now, body); err != nil {
			b.Fatal(err)
		}
	}
}
