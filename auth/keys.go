package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Algorithms are the algorithms that cards are signed with (RFC 7518 §3.1, RFC 8037).
var Algorithms = []string{"ES256", "EdDSA", "RS256"}

const minRSA = 2048 // bits; RS256 allows no less (RFC 7518 §3.3)

// Key is a key that signs cards, or verifies them. It prints without its secret, and
// does not change once it is made.
type Key struct {
	id      string                  // "" only of an issuer of tokens
	alg     jose.SignatureAlgorithm // "" only of an issuer of tokens: all that this kind of key has
	expires time.Time
	private crypto.Signer // nil: public only
	public  crypto.PublicKey
}

// GenerateKey makes a key for one of Algorithms: P-256, Ed25519, or RSA of
// 2048 bits.
func GenerateKey(alg string) (*Key, error) {
	var private crypto.Signer
	var err error
	switch alg {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "RS256":
		private, err = rsa.GenerateKey(rand.Reader, minRSA)
	default:
		return nil, fmt.Errorf("there is no algorithm %q: use %s", alg, strings.Join(Algorithms, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return newKey(private)
}

// newKey describes a private or public key.
func newKey(from any) (*Key, error) {
	k := new(Key)
	switch from := from.(type) {
	case crypto.Signer:
		k.private, k.public = from, from.Public()
	default:
		k.public = from
	}
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return nil, errors.New("elliptic keys must be on the curve P-256")
		}
		k.alg = jose.ES256
	case ed25519.PublicKey:
		k.alg = jose.EdDSA
	case *rsa.PublicKey:
		if public.N.BitLen() < minRSA {
			return nil, fmt.Errorf("RSA keys must have %d bits at least", minRSA)
		}
		k.alg = jose.RS256
	default:
		return nil, errors.New("the key is not of a kind that signs cards: P-256, Ed25519 or RSA")
	}
	print, err := (&jose.JSONWebKey{Key: k.public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("describe the key: %w", err)
	}
	k.id = base64.RawURLEncoding.EncodeToString(print)
	return k, nil
}

// ID returns the key's id: the one in its document, or its thumbprint (RFC 7638), which
// reveals nothing and is unique.
func (k *Key) ID() string { return k.id }

// Algorithm returns the one algorithm that the key is used with.
func (k *Key) Algorithm() string { return string(k.alg) }

// Expires returns when the key expires; zero means never.
func (k *Key) Expires() time.Time { return k.expires }

// Private reports whether the key can sign.
func (k *Key) Private() bool { return k.private != nil }

// Public returns the key without its secret.
func (k *Key) Public() *Key {
	public := *k
	public.private = nil
	return &public
}

// Until returns the key with an expiry. Documents have it as member exp, as in OpenID
// Federation, in whole seconds.
func (k *Key) Until(t time.Time) *Key {
	with := *k
	with.expires = t.Truncate(time.Second)
	return &with
}

func (k *Key) String() string   { return k.Algorithm() + " key " + k.id }
func (k *Key) GoString() string { return k.String() }

// MarshalJSON returns the key as a JSON Web Key (RFC 7517), with its secret if it is
// private.
func (k *Key) MarshalJSON() ([]byte, error) {
	jwk := jose.JSONWebKey{Key: k.public, KeyID: k.id, Algorithm: string(k.alg), Use: "sig"}
	if k.private != nil {
		jwk.Key = k.private
	}
	doc, err := jwk.MarshalJSON()
	if err != nil || k.expires.IsZero() {
		return doc, err
	}
	return fmt.Appendf(bytes.TrimSuffix(doc, []byte("}")), `,"exp":%d}`, k.expires.Unix()), nil
}

// PEM returns the key as PKCS #8, or as SubjectPublicKeyInfo if it is public.
// It has no place for the id and the expiry.
func (k *Key) PEM() ([]byte, error) {
	block := &pem.Block{Type: "PUBLIC KEY"}
	var err error
	if k.private != nil {
		block.Type = "PRIVATE KEY"
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(k.private)
	} else {
		block.Bytes, err = x509.MarshalPKIXPublicKey(k.public)
	}
	if err != nil {
		return nil, fmt.Errorf("write the key: %w", err)
	}
	return pem.EncodeToMemory(block), nil
}

// ParseKey reads a key from PEM (PKCS #8, PKCS #1, SEC 1 or a public key) or
// from a JSON Web Key. No error contains anything of the key.
func ParseKey(doc []byte) (*Key, error) {
	if block, _ := pem.Decode(doc); block != nil {
		return parseDER(block)
	}
	var jwk jose.JSONWebKey
	var also jwkMembers
	if jwk.UnmarshalJSON(doc) != nil || json.Unmarshal(doc, &also) != nil || !jwk.Valid() {
		return nil, errors.New("this is neither a PEM file with a key nor a JSON Web Key")
	}
	k, err := newKey(jwk.Key)
	switch {
	case err != nil:
		return nil, err
	case jwk.Use != "" && jwk.Use != "sig":
		return nil, errors.New("the key is not for signatures: its use is another")
	case jwk.Algorithm != "" && jwk.Algorithm != string(k.alg):
		return nil, fmt.Errorf("the key is for the algorithm %.20q; cards take %s", jwk.Algorithm, strings.Join(Algorithms, ", "))
	}
	if jwk.KeyID != "" {
		k.id = jwk.KeyID
	}
	if k.expires, err = also.end(); err != nil {
		return nil, errors.New("the key's exp is not a whole number of seconds")
	}
	return k, nil
}

// jwkMembers are members of a JSON Web Key that package jose does not know.
type jwkMembers struct {
	Exp *json.Number `json:"exp"` // see Key.Until
}

// end returns when the key expires; zero means never.
func (m *jwkMembers) end() (time.Time, error) {
	if m.Exp == nil {
		return time.Time{}, nil
	}
	s, err := m.Exp.Int64()
	return time.Unix(s, 0), err
}

func parseDER(block *pem.Block) (*Key, error) {
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	default:
		return nil, fmt.Errorf("the PEM file holds a %.40q: a PRIVATE KEY or PUBLIC KEY without password is needed", block.Type)
	}
	if err != nil {
		return nil, errors.New("the key in the PEM file cannot be read")
	}
	return newKey(key)
}

// KeySet is a set of keys to verify with.
type KeySet []*Key

const maxSet = 100 // keys

// ParseKeySet reads a JSON Web Key Set, or one key as ParseKey does. Keys of a set that
// are not for cards are left out.
func ParseKeySet(doc []byte) (KeySet, error) {
	list, err := keysIn(doc)
	if err != nil {
		return nil, err
	}
	if list == nil {
		k, err := ParseKey(doc)
		if err != nil {
			return nil, err
		}
		return KeySet{k.Public()}, nil
	}
	out := KeySet{}
	for _, one := range list {
		if k, err := ParseKey(one); err == nil {
			out = append(out, k.Public())
		}
	}
	return out, nil
}

// keysIn returns the documents of the keys in a JSON Web Key Set; nil if doc is no set.
func keysIn(doc []byte) ([]json.RawMessage, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(doc, &set) != nil || set.Keys == nil {
		return nil, nil
	}
	if len(set.Keys) > maxSet {
		return nil, fmt.Errorf("the set holds more than %d keys", maxSet)
	}
	return set.Keys, nil
}

// JWKS returns the public parts of the keys as a JSON Web Key Set.
func (s KeySet) JWKS() ([]byte, error) {
	public := make([]*Key, len(s))
	for i, k := range s {
		public[i] = k.Public()
	}
	return json.Marshal(map[string][]*Key{"keys": public})
}
