package webhook

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Overlap is how long after a rotation deliveries are also signed with the previous
// key.
const Overlap = 7 * 24 * time.Hour

const (
	keptSets = 2    // the current keys and the previous ones
	rsaBits  = 2048 // of keys we make; RS256 allows no less (RFC 7518 §3.3)
)

// Keys are a server's own keys: an Ed25519 key for signatures and an RSA key for the
// JWTs of versions before 1.0, and those from before the last rotation.
type Keys struct {
	sets []keyset // the current one first
	jwks []byte
}

// keyset has the keys that one rotation makes.
type keyset struct {
	made   time.Time
	ed     ed25519.PrivateKey
	rsa    *rsa.PrivateKey
	signer jose.Signer // of JWTs
}

// GenerateKeys makes keys for a server that has none.
func GenerateKeys(now time.Time) (*Keys, error) {
	s, err := generate(now)
	if err != nil {
		return nil, err
	}
	return newKeys([]keyset{s})
}

// Rotate returns keys whose current ones are new and whose previous ones are the
// current ones of k; older ones are dropped. k does not change.
func (k *Keys) Rotate(now time.Time) (*Keys, error) {
	s, err := generate(now)
	if err != nil {
		return nil, err
	}
	return newKeys([]keyset{s, k.sets[0]})
}

func generate(now time.Time) (keyset, error) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return keyset{}, fmt.Errorf("make an Ed25519 key: %w", err)
	}
	r, err := rsa.GenerateKey(rand.Reader, rsaBits)
	if err != nil {
		return keyset{}, fmt.Errorf("make an RSA key: %w", err)
	}
	return keyset{made: now.UTC().Truncate(time.Second), ed: ed, rsa: r}, nil
}

func newKeys(sets []keyset) (*Keys, error) {
	k := &Keys{sets: sets}
	var public jose.JSONWebKeySet
	for i := range sets {
		s := &sets[i]
		r, err := jwk(s.rsa, s.rsa.Public(), jose.RS256)
		if err != nil {
			return nil, err
		}
		e, err := jwk(s.ed, s.ed.Public(), jose.EdDSA)
		if err != nil {
			return nil, err
		}
		s.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: r}, new(jose.SignerOptions).WithType("JWT"))
		if err != nil {
			return nil, err
		}
		public.Keys = append(public.Keys, r.Public(), e.Public())
	}
	var err error
	k.jwks, err = json.Marshal(public)
	return k, err
}

// jwk describes a private key. Its id is the thumbprint of the public one (RFC 7638),
// which reveals nothing and is unique.
func jwk(private any, public crypto.PublicKey, alg jose.SignatureAlgorithm) (jose.JSONWebKey, error) {
	print, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	return jose.JSONWebKey{Key: private, KeyID: base64.RawURLEncoding.EncodeToString(print), Algorithm: string(alg), Use: "sig"}, nil
}

// JWKS returns the public keys as a JSON Web Key Set, for
// /.well-known/jwks.json. It must not be changed.
func (k *Keys) JWKS() []byte { return k.jwks }

// PublicKey returns the current Ed25519 key as Standard Webhooks writes it,
// whpk_ and base64, for receivers that are told the key.
func (k *Keys) PublicKey() string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k.sets[0].ed.Public().(ed25519.PublicKey))
}

// Made returns when the current keys were made.
func (k *Keys) Made() time.Time { return k.sets[0].made }

// storedSet is a set of keys in the form of Marshal.
type storedSet struct {
	Made    time.Time       `json:"made"`
	Ed25519 jose.JSONWebKey `json:"ed25519"`
	RSA     jose.JSONWebKey `json:"rsa"`
}

type stored struct {
	Sets []storedSet `json:"sets"`
}

// Marshal returns the keys, including the private ones, as JSON for ParseKeys. Keep them
// secret: they let their holder sign for the server.
func (k *Keys) Marshal() []byte {
	var doc stored
	for _, s := range k.sets {
		doc.Sets = append(doc.Sets, storedSet{s.made, jose.JSONWebKey{Key: s.ed}, jose.JSONWebKey{Key: s.rsa}})
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic("webhook: keys that were made here cannot be written: " + err.Error())
	}
	return b
}

// ParseKeys reads what Marshal wrote. The error reveals nothing of the keys.
func ParseKeys(doc []byte) (*Keys, error) {
	var in stored
	if json.Unmarshal(doc, &in) != nil || len(in.Sets) == 0 || len(in.Sets) > keptSets {
		return nil, errors.New("the webhook keys cannot be read: they are not as they were stored")
	}
	var sets []keyset
	for _, s := range in.Sets {
		ed, isEd := s.Ed25519.Key.(ed25519.PrivateKey)
		r, isRSA := s.RSA.Key.(*rsa.PrivateKey)
		if !isEd || !isRSA || r.N.BitLen() < rsaBits || r.Validate() != nil || s.Made.IsZero() {
			return nil, errors.New("the webhook keys cannot be used: each set has the time it was made, an Ed25519 and an RSA key")
		}
		sets = append(sets, keyset{made: s.Made, ed: ed, rsa: r})
	}
	return newKeys(sets)
}
