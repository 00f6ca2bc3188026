package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	publicPrefix  = "whpk_"
	maxSignatures = 8        // of one delivery that are tried
	maxKeys       = 16       // of one set
	maxID         = 256      // bytes
	maxHeader     = 4 << 10  // bytes of Webhook-Signature
	maxKeySet     = 64 << 10 // bytes
	maxRSABits    = 8192     // verifying with larger keys costs too much
)

// Signed has the headers of Standard Webhooks of one delivery, which were read but not
// yet verified.
type Signed struct {
	ID string
	At time.Time

	stamp string
	macs  [][]byte // v1
	signs [][]byte // v1a
}

// ReadSigned reads the headers of a delivery. Signatures of other kinds are skipped.
// The error is ErrMissing if there is no signature header.
func ReadSigned(h http.Header) (*Signed, error) {
	id, stamp, list := h[HeaderID], h[HeaderTimestamp], h[HeaderSignature]
	if len(list) == 0 {
		return nil, ErrMissing
	}
	if len(id) != 1 || len(stamp) != 1 || len(list) != 1 || len(list[0]) > maxHeader || !validID(id[0]) {
		return nil, ErrMalformed
	}
	seconds, err := strconv.ParseInt(stamp[0], 10, 64)
	if err != nil || seconds < 0 || strconv.FormatInt(seconds, 10) != stamp[0] {
		return nil, ErrMalformed
	}
	s := &Signed{ID: id[0], At: time.Unix(seconds, 0).UTC(), stamp: stamp[0]}
	n := 0
	for entry := range strings.FieldsSeq(list[0]) {
		if n++; n > maxSignatures {
			return nil, ErrMalformed
		}
		version, text, _ := strings.Cut(entry, ",")
		sig, err := base64.StdEncoding.Strict().DecodeString(text)
		switch {
		case err != nil:
		case version == "v1" && len(sig) == sha256.Size:
			s.macs = append(s.macs, sig)
		case version == "v1a" && len(sig) == ed25519.SignatureSize:
			s.signs = append(s.signs, sig)
		}
	}
	return s, nil
}

// validID reports whether a delivery's id is valid. With a dot in it, id and time could
// be split in two ways under the same signature.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '.' })
}

// ByToken reports whether one of the signatures was made with the token.
func (s *Signed) ByToken(token string, body []byte) bool {
	secret, err := Secret(token)
	if err != nil || len(secret) == 0 || len(s.macs) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(signedContent(s.ID, s.stamp, body))
	sum := mac.Sum(nil)
	return slices.ContainsFunc(s.macs, func(m []byte) bool { return hmac.Equal(m, sum) })
}

// ByKey reports whether one of the signatures was made with one of the keys.
func (s *Signed) ByKey(keys *KeySet, body []byte) bool {
	if len(s.signs) == 0 || keys == nil {
		return false
	}
	content := signedContent(s.ID, s.stamp, body)
	return slices.ContainsFunc(keys.ed, func(key ed25519.PublicKey) bool {
		return slices.ContainsFunc(s.signs, func(sig []byte) bool { return ed25519.Verify(key, content, sig) })
	})
}

// HasKeySignature reports whether there is a signature that a key could have
// made.
func (s *Signed) HasKeySignature() bool { return len(s.signs) > 0 }

// KeySet are the public keys of a server, as a receiver knows them.
type KeySet struct {
	ed  []ed25519.PublicKey
	rsa map[string]*rsa.PublicKey // by key id
}

// ParseKeySet reads a JSON Web Key Set. Keys of kinds that no webhook is signed with,
// including future kinds, are skipped.
func ParseKeySet(doc []byte) (*KeySet, error) {
	var in struct{ Keys []json.RawMessage }
	if len(doc) > maxKeySet || json.Unmarshal(doc, &in) != nil || in.Keys == nil {
		return nil, errors.New("this is not a set of keys")
	}
	set := &KeySet{rsa: map[string]*rsa.PublicKey{}}
	for i, raw := range in.Keys {
		if i >= maxKeys {
			break
		}
		var k jose.JSONWebKey
		if json.Unmarshal(raw, &k) != nil || k.Use != "" && k.Use != "sig" {
			continue
		}
		switch key := k.Key.(type) {
		case ed25519.PublicKey:
			set.ed = append(set.ed, key)
		case *rsa.PublicKey:
			if n := key.N.BitLen(); n >= rsaBits && n <= maxRSABits && (k.Algorithm == "" || k.Algorithm == string(jose.RS256)) {
				set.rsa[k.KeyID] = key
			}
		}
	}
	return set, nil
}

// ParsePublicKeys reads Ed25519 keys as Standard Webhooks writes them: whpk_
// and base64.
func ParsePublicKeys(keys []string) (*KeySet, error) {
	set := new(KeySet)
	for _, s := range keys {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, publicPrefix))
		if err != nil || !strings.HasPrefix(s, publicPrefix) || len(raw) != ed25519.PublicKeySize {
			return nil, errors.New("a public key is whpk_ and 32 bytes in base64")
		}
		set.ed = append(set.ed, ed25519.PublicKey(raw))
	}
	return set, nil
}
