package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestKeysSurviveTheirDocuments(t *testing.T) {
	end := time.Unix(1893456000, 0)
	for _, alg := range Algorithms {
		k := generate(t, alg).Until(end)
		for _, k := range []*Key{k, k.Public()} {
			jwk, err := json.Marshal(k)
			if err != nil {
				t.Fatal(err)
			}
			block, err := k.PEM()
			if err != nil {
				t.Fatal(err)
			}
			for form, doc := range map[string][]byte{"JWK": jwk, "PEM": block} {
				back, err := ParseKey(doc)
				if err != nil || back.ID() != k.ID() || back.Algorithm() != alg || back.Private() != k.Private() {
					t.Errorf("%s by %s: %v, %v", k, form, back, err)
					continue
				}
				if form == "JWK" && !back.Expires().Equal(end) {
					t.Errorf("%s: it ends %v, not %v", k, back.Expires(), end)
				}
			}
		}
		set, err := KeySet{k}.JWKS()
		if err != nil || strings.Contains(string(set), `"d":`) {
			t.Errorf("%s: the set has its secret: %v", k, err)
		}
		back, err := ParseKeySet(set)
		if err != nil || len(back) != 1 || back[0].ID() != k.ID() || !back[0].Expires().Equal(end) {
			t.Errorf("%s: of the set came %v, %v", k, back, err)
		}
		if s := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Count(s, k.ID()) != 4 || len(s) > 4*(len(k.String())+1) {
			t.Errorf("it prints as %s", s)
		}
	}
	if k, err := GenerateKey("none"); err == nil {
		t.Error("made", k)
	}
}

// RFC 7638 §3.1 and RFC 8037 appendix A.3
func TestKeyIDsAreThumbprints(t *testing.T) {
	for want, doc := range map[string]string{
		"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs": `{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256"}`,
		"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k": `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","key_ops":"sign"}`, // key_ops is not read
	} {
		if k, err := ParseKey([]byte(doc)); err != nil || k.ID() != want {
			t.Errorf("got %v, %v, want %s", k, err, want)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	big, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if k, err := newKey(big); err == nil {
		t.Error("P-384 became", k)
	}
	const ed = `"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	for name, doc := range map[string]string{
		"nothing": "", "no key": "{}", "a secret": `{"kty":"oct","k":"c2VjcmV0"}`,
		"for something else": `{` + ed + `,"use":"enc"}`, "another algorithm": `{` + ed + `,"alg":"ES256"}`,
		"a broken end":    `{` + ed + `,"exp":1.5}`,
		"a small RSA key": `{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbU","e":"AQAB"}`,
		"a certificate":   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"broken PEM":      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"a set":           `{"keys":7}`,
	} {
		if k, err := ParseKey([]byte(doc)); err == nil {
			t.Errorf("%s became %v", name, k)
		}
		if k, err := ParseKeySet([]byte(doc)); err == nil {
			t.Errorf("%s became a set: %v", name, k)
		}
	}
	set, err := ParseKeySet([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{` + ed + `},{"kty":"new"}]}`))
	if err != nil || len(set) != 1 {
		t.Errorf("of a set with others came %v, %v", set, err)
	}
}
