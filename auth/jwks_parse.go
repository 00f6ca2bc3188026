package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuerKey is a public key of an issuer of tokens. A Key is for the three algorithms
// of cards; issuers have more, and one key may be for several.
type issuerKey struct {
	id      string // may be ""
	alg     string // "" if the set does not say: all algorithms of this kind of key
	public  any
	expires time.Time
}

// maxRSA is the limit of crypto/tls, too: the time to verify grows with the square.
const maxRSA = 8192 // bits

// takes reports whether the key may verify tokens with an algorithm. The key's kind
// decides: if the algorithm that a token names did, a public key could be taken for a
// shared secret.
func (k *issuerKey) takes(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		switch p.Curve {
		case elliptic.P256():
			return alg == "ES256"
		case elliptic.P384():
			return alg == "ES384"
		case elliptic.P521():
			return alg == "ES512"
		}
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

func (k *issuerKey) ended(now time.Time) bool { return !k.expires.IsZero() && !now.Before(k.expires) }

func (k *issuerKey) equal(o *issuerKey) bool {
	p, ok := k.public.(interface{ Equal(crypto.PublicKey) bool })
	return ok && p.Equal(o.public) && k.alg == o.alg
}

// parseIssuerKeys reads a JSON Web Key Set. Keys for none of the algorithms, and keys
// that cannot be read, are left out (RFC 7517 §5).
func parseIssuerKeys(doc []byte, algorithms []string) ([]*issuerKey, error) {
	if len(doc) > maxKeys {
		return nil, fmt.Errorf("the set of keys is larger than %d bytes", maxKeys)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(doc, &set) != nil || set.Keys == nil {
		return nil, errors.New("it is not a JSON Web Key Set: an object with a list \"keys\"")
	}
	if len(set.Keys) > maxSet {
		return nil, fmt.Errorf("the set holds more than %d keys", maxSet)
	}
	out := []*issuerKey{}
	for _, one := range set.Keys {
		k := parseIssuerKey(one)
		if k != nil && slices.ContainsFunc(algorithms, k.takes) {
			out = append(out, k)
		}
	}
	return out, nil
}

// parseIssuerKey returns nil if doc is not a key for signatures.
func parseIssuerKey(doc []byte) *issuerKey {
	var jwk jose.JSONWebKey
	var also struct {
		jwkMembers
		Ops []string `json:"key_ops"`
	}
	if jwk.UnmarshalJSON(doc) != nil || json.Unmarshal(doc, &also) != nil || !jwk.Valid() {
		return nil
	}
	if jwk.Use != "" && jwk.Use != "sig" || also.Ops != nil && !slices.Contains(also.Ops, "verify") {
		return nil
	}
	if !jwk.IsPublic() {
		jwk = jwk.Public()
	}
	if p, ok := jwk.Key.(*rsa.PublicKey); ok && (p.N.BitLen() < minRSA || p.N.BitLen() > maxRSA) {
		return nil
	}
	if jwk.Key == nil || jwk.KeyID != "" && !goodName(jwk.KeyID) {
		return nil
	}
	end, err := also.end()
	if err != nil {
		return nil
	}
	return &issuerKey{id: jwk.KeyID, alg: jwk.Algorithm, public: jwk.Key, expires: end}
}

// private reports whether a set has a key that can sign.
func private(doc []byte) bool {
	type key struct {
		D json.RawMessage `json:"d"`
	}
	var set struct {
		Keys []key `json:"keys"`
	}
	return json.Unmarshal(doc, &set) == nil && slices.ContainsFunc(set.Keys, func(k key) bool { return k.D != nil })
}
