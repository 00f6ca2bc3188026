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

	"github.com/go-jose/go-jose/v4"
)

// maxRSA is the limit of crypto/tls, too: the time to verify grows with the square.
const maxRSA = 8192 // bits

// takes reports whether the key may verify tokens with an algorithm. The key's kind
// decides: if the algorithm that a token names did, a public key could be taken for a
// shared secret.
func (k *Key) takes(alg string) bool {
	if k.alg != "" && string(k.alg) != alg {
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

func (k *Key) equal(o *Key) bool {
	p, ok := k.public.(interface{ Equal(crypto.PublicKey) bool })
	return ok && p.Equal(o.public) && k.alg == o.alg
}

// parseIssuerKeys reads the JSON Web Key Set of an issuer of tokens. Cards take three
// algorithms; issuers have more, and one key may be for several: then it has no alg.
// Keys for none of the algorithms, and keys that cannot be read, are left out (RFC 7517
// §5).
func parseIssuerKeys(doc []byte, algorithms []string) ([]*Key, error) {
	if len(doc) > maxKeys {
		return nil, fmt.Errorf("the set of keys is larger than %d bytes", maxKeys)
	}
	list, err := keysIn(doc)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, errors.New("it is not a JSON Web Key Set: an object with a list \"keys\"")
	}
	out := []*Key{}
	for _, one := range list {
		k := parseIssuerKey(one)
		if k != nil && slices.ContainsFunc(algorithms, k.takes) {
			out = append(out, k)
		}
	}
	return out, nil
}

// parseIssuerKey returns nil if doc is not a key for signatures.
func parseIssuerKey(doc []byte) *Key {
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
	return &Key{id: jwk.KeyID, alg: jose.SignatureAlgorithm(jwk.Algorithm), public: jwk.Key, expires: end}
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
