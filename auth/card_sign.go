package auth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

// SignOptions adjusts a signature. A nil *SignOptions means all defaults.
type SignOptions struct {
	// JKU is the address of a JSON Web Key Set with the public key, which the signature
	// names. Empty names none.
	JKU string
	// Strict omits what Signatures adds for the SDKs for JavaScript and Python.
	Strict bool
	// Now is the clock that tells whether the key has expired. Nil means time.Now.
	Now func() time.Time
}

// SignCard adds a signature to card.Signatures; present ones stay. The card must not
// change any more, and exactly this card must be served: the signature covers what
// card.AppendJSON writes.
func SignCard(card *a2a.AgentCard, key *Key, o *SignOptions) error {
	p, err := Reduce(card.AppendJSON(nil), FormProtocol)
	if err != nil {
		return err
	}
	if len(p.Uncovered) > 0 { // an OAuthFlow can hold what its flow does not have
		return fmt.Errorf("the protocol knows no %s: no signature would cover it", p.Uncovered[0])
	}
	s, err := sign(p.JSON, key, o)
	if err == nil {
		card.Signatures = append(card.Signatures, s)
	}
	return err
}

// SignJSON returns a card's document with one more signature, in canonical form, and
// what the signature covers. That is FormProtocol, which all implementations verify, or
// FormWhole if the card has no supportedInterfaces, as before version 1.0.
func SignJSON(doc []byte, key *Key, o *SignOptions) ([]byte, *Payload, error) {
	card, err := parseCard(doc)
	if err != nil {
		return nil, nil, err
	}
	p, err := reduce(card, formOf(card))
	if err != nil {
		return nil, nil, err
	}
	before, ok := card["signatures"].([]any)
	if !ok && card["signatures"] != nil {
		return nil, nil, errors.New("the card's signatures are not a list")
	}
	s, err := sign(p.JSON, key, o)
	if err != nil {
		return nil, nil, err
	}
	card["signatures"] = append(before, map[string]any{"protected": s.Protected, "signature": s.Signature})
	return appendCanonical(nil, card), p, nil
}

// Signatures returns the signatures of a card's document by each of the keys, over the
// same form as SignJSON.
//
// If the card has empty members, such as a requirement without scopes, each key signs
// once more, over FormStripped, unless o says Strict: the SDKs for JavaScript and
// Python accept nothing else. Anybody who passes the card on can then serve it without
// these members, and every verifier accepts it as signed.
func Signatures(doc []byte, keys []*Key, o *SignOptions) ([]*a2a.AgentCardSignature, error) {
	card, err := parseCard(doc)
	if err != nil {
		return nil, err
	}
	p, err := reduce(card, formOf(card))
	if err != nil {
		return nil, err
	}
	payloads := []*Payload{p}
	if p.Form == FormProtocol && (o == nil || !o.Strict) {
		bare, err := reduce(card, FormStripped)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(bare.JSON, p.JSON) {
			payloads = append(payloads, bare)
		}
	}
	var all []*a2a.AgentCardSignature
	for _, p := range payloads { // the best come first, for readers that look only at a few
		for _, k := range keys {
			s, err := sign(p.JSON, k, o)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// formOf returns the form in which a card is signed.
func formOf(card map[string]any) Form {
	if card["supportedInterfaces"] == nil && card["supported_interfaces"] == nil {
		return FormWhole
	}
	return FormProtocol
}

func sign(payload []byte, key *Key, o *SignOptions) (*a2a.AgentCardSignature, error) {
	o = cmp.Or(o, new(SignOptions))
	switch {
	case key.private == nil:
		return nil, fmt.Errorf("the %s is public: the private one signs", key)
	case key.ended(clockOf(o.Now)()):
		return nil, fmt.Errorf("%w: %s", ErrKeyExpired, key)
	}
	with := new(jose.SignerOptions).WithType("JOSE")
	if o.JKU != "" {
		with = with.WithHeader("jku", o.JKU)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: key.alg, Key: jose.JSONWebKey{Key: key.private, KeyID: key.id}}, with)
	if err != nil {
		return nil, fmt.Errorf("sign with the %s: %w", key, err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		return nil, fmt.Errorf("sign with the %s: %w", key, err)
	}
	compact, err := jws.DetachedCompactSerialize()
	if err != nil {
		return nil, fmt.Errorf("sign with the %s: %w", key, err)
	}
	protected, signature, _ := strings.Cut(compact, "..")
	return &a2a.AgentCardSignature{Protected: protected, Signature: signature}, nil
}

func (k *Key) ended(now time.Time) bool { return !k.expires.IsZero() && !now.Before(k.expires) }
