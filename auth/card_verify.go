package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

// Reasons why a signature does not hold. The errors of a Result wrap one of them.
var (
	ErrNotSigned  = errors.New("the card is not signed")
	ErrMalformed  = errors.New("the signature is malformed")
	ErrAlgorithm  = errors.New("the signature's algorithm is not accepted")
	ErrUnknownKey = errors.New("the signature's key is not known")
	ErrKeyExpired = errors.New("the key has ended")
	ErrTampered   = errors.New("the signature does not match this card and this key: one of them was changed")
)

// VerifyOptions adjusts a verification. A nil *VerifyOptions means all
// defaults.
type VerifyOptions struct {
	// Stripped also accepts signatures over FormStripped. Anybody who passes the card
	// on can then add and remove empty members; see there.
	Stripped bool
	// Now is the clock that tells whether a key has expired. Nil means time.Now.
	Now func() time.Time
}

// Bounds of a card that is verified.
const (
	maxSignatures = 16
	maxProtected  = 8 << 10 // characters
)

// Result is the outcome for one signature.
type Result struct {
	KeyID     string   // as the signature says, even if it does not hold
	Algorithm string   // as the signature says, even if it does not hold
	JKU       string   // as the signature says, even if it does not hold
	Key       *Key     // that it holds with; nil: it does not hold
	Payload   *Payload // that it holds for; nil: it does not hold
	Err       error    // why it does not hold
}

// Verification is the outcome for the signatures of a card.
type Verification struct {
	Results []Result // in the order of the card's
}

// Good returns, of the signatures that hold, the first that leaves the fewest members
// uncovered; nil if none holds.
func (v *Verification) Good() *Result {
	var best *Result
	for i := range v.Results {
		if r := &v.Results[i]; r.Err == nil && (best == nil || len(r.Payload.Uncovered) < len(best.Payload.Uncovered)) {
			best = r
		}
	}
	return best
}

// Err returns nil if a signature holds, and otherwise ErrNotSigned or why none of them
// holds.
func (v *Verification) Err() error {
	if v.Good() != nil {
		return nil
	}
	if len(v.Results) == 0 {
		return ErrNotSigned
	}
	var all []error
	for i, r := range v.Results {
		all = append(all, fmt.Errorf("signatures[%d]: %w", i, r.Err))
	}
	return errors.Join(all...)
}

// VerifyCard judges the signatures of a card that was made here or parsed. Prefer
// VerifyJSON for a card from the network: parsing leaves out members that a signature
// may cover.
func VerifyCard(ctx context.Context, card *a2a.AgentCard, keys KeySource, o *VerifyOptions) (*Verification, error) {
	return VerifyJSON(ctx, card.AppendJSON(nil), keys, o)
}

// VerifyJSON judges the signatures of a card's document (§8.4.3). The error says that
// the document cannot be judged at all, or that ctx has ended; Verification.Err says
// whether a signature holds. Unprotected headers and keys inside of signatures are
// ignored.
func VerifyJSON(ctx context.Context, doc []byte, keys KeySource, o *VerifyOptions) (*Verification, error) {
	card, err := parseCard(doc)
	if err != nil {
		return nil, err
	}
	o = cmp.Or(o, new(VerifyOptions))
	list, ok := card["signatures"].([]any)
	switch {
	case !ok && card["signatures"] != nil:
		return nil, fmt.Errorf("%w: signatures is not a list", ErrMalformed)
	case len(list) > maxSignatures:
		return nil, fmt.Errorf("%w: the card has more than %d signatures", ErrMalformed, maxSignatures)
	}
	payloads, err := payloadsOf(card, o)
	if err != nil {
		return nil, err
	}
	v := new(Verification)
	for _, entry := range list {
		var r Result
		r.Err = r.verify(ctx, entry, payloads, keys, o)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v.Results = append(v.Results, r)
	}
	return v, nil
}

// payloadsOf returns what a signature of the card may cover, best first.
func payloadsOf(card map[string]any, o *VerifyOptions) ([]*Payload, error) {
	forms := []Form{FormWhole, FormProtocol}
	if o.Stripped {
		forms = append(forms, FormStripped)
	}
	var out []*Payload
	for _, f := range forms {
		p, err := reduce(card, f)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(q *Payload) bool { return string(q.JSON) == string(p.JSON) }) {
			out = append(out, p)
		}
	}
	return out, nil
}

func (r *Result) verify(ctx context.Context, entry any, payloads []*Payload, keys KeySource, o *VerifyOptions) error {
	s, _ := entry.(map[string]any)
	protected, _ := s["protected"].(string)
	signature, _ := s["signature"].(string)
	if err := r.header(protected); err != nil {
		return err
	}
	if !slices.Contains(Algorithms, r.Algorithm) { // also excludes none, and HMAC with the public key as its secret
		return fmt.Errorf("%w: %.20q; those are %s", ErrAlgorithm, r.Algorithm, strings.Join(Algorithms, ", "))
	}
	candidates, err := keys.Keys(ctx, r.KeyID, r.JKU)
	if err != nil {
		return err
	}
	now := clockOf(o.Now)()
	err = ErrUnknownKey
	for _, k := range candidates {
		switch {
		case k.Algorithm() != r.Algorithm:
			err = fmt.Errorf("%w: the signature says %s, its key is for %s", ErrAlgorithm, r.Algorithm, k.Algorithm())
			continue
		case k.ended(now):
			err = fmt.Errorf("%w: on %s", ErrKeyExpired, k.expires.UTC().Format(time.RFC3339))
			continue
		}
		for _, p := range payloads {
			jws, bad := jose.ParseDetached(protected+".."+signature, p.JSON, []jose.SignatureAlgorithm{k.alg})
			if bad != nil {
				return fmt.Errorf("%w: it is not a JWS", ErrMalformed)
			}
			if jws.DetachedVerify(p.JSON, k.public) == nil {
				r.Key, r.Payload = k, p
				return nil
			}
		}
		err = ErrTampered
	}
	return err
}

// header reads the protected header.
func (r *Result) header(protected string) error {
	if len(protected) > maxProtected {
		return fmt.Errorf("%w: its protected header is longer than %d characters", ErrMalformed, maxProtected)
	}
	doc, err := base64.RawURLEncoding.Strict().DecodeString(protected)
	if err != nil || protected == "" {
		return fmt.Errorf("%w: its protected header is not base64url", ErrMalformed)
	}
	v, err := parseJSON(doc)
	h, ok := v.(map[string]any)
	if err != nil || !ok {
		return fmt.Errorf("%w: its protected header is not a JSON object", ErrMalformed)
	}
	r.Algorithm, _ = h["alg"].(string)
	r.KeyID, _ = h["kid"].(string)
	r.JKU, _ = h["jku"].(string)
	if r.Algorithm == "" || r.KeyID == "" {
		return fmt.Errorf("%w: its protected header lacks alg or kid", ErrMalformed) // §8.4.2
	}
	if _, has := h["crit"]; has { // RFC 7515 §4.1.11: we know none
		return fmt.Errorf("%w: its protected header has extensions that must be understood", ErrMalformed)
	}
	return nil
}
