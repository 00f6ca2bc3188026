package a2aclient

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
)

// proof is what the headers of a delivery prove. It holds only values that a verified
// signature covers.
type proof struct {
	id             string
	at             time.Time
	expires        time.Time // zero if the signature has none
	taskID         string    // empty if the signature has none
	byKey, byToken bool
}

func unproven(reason string) error {
	return &WebhookError{Status: http.StatusUnauthorized, Reason: reason}
}

// prove verifies all that is required of a delivery.
func (v *WebhookVerifier) prove(ctx context.Context, h http.Header, body []byte) (proof, error) {
	signed, err := webhook.ReadSigned(h)
	token, err2 := webhook.ReadToken(h)
	if errors.Is(err, webhook.ErrMalformed) || errors.Is(err2, webhook.ErrMalformed) {
		return proof{}, unproven("the headers of the signature cannot be read")
	}
	byKeys := v.pinned != nil || v.keys != nil
	if signed == nil && (token == nil || !byKeys && v.opts.Unsigned) { // without keys, a JWT is only for the receiver
		if v.opts.Unsigned && (v.opts.Token == "" || v.carriesToken(h)) {
			return proof{}, nil
		}
		return proof{}, unproven("the delivery is not signed")
	}
	var p proof
	if byKeys {
		if p, err = v.byKey(ctx, signed, token, body); err != nil {
			return proof{}, err
		}
	}
	switch {
	case v.opts.Token == "":
	case signed != nil:
		// Even if a key has verified it: the key identifies the agent, the token the
		// configuration.
		if !signed.ByToken(v.opts.Token, body) || p.byKey && p.id != signed.ID {
			return proof{}, unproven("the delivery is not signed with the token")
		}
		p.id, p.at, p.byToken = signed.ID, signed.At, true
	case !p.byKey || !v.carriesToken(h):
		return proof{}, unproven("the delivery does not have the token")
	default:
		p.byToken = true
	}
	if !p.byKey && !p.byToken && v.opts.Unsigned {
		return proof{}, nil // signed, by an unknown signer
	}
	// Each kind of signature covers the id. Refused deliveries never reach the memory
	// of ids, so a third party cannot fill it.
	if len(v.opts.Sources) > 0 && !slices.Contains(v.opts.Sources, webhook.SourceOf(p.id)) {
		return proof{}, unproven("the delivery is signed for another caller of the agent")
	}
	return p, nil
}

// carriesToken reports whether a header has the token itself.
func (v *WebhookVerifier) carriesToken(h http.Header) bool {
	for _, name := range []string{webhook.HeaderToken, webhook.HeaderToken2} {
		if got := h.Get(name); got != "" {
			return subtle.ConstantTimeCompare([]byte(got), []byte(v.opts.Token)) == 1
		}
	}
	return false
}

// byKey verifies an Ed25519 signature, or the JWT of versions before 1.0.
func (v *WebhookVerifier) byKey(ctx context.Context, signed *webhook.Signed, token *webhook.Token, body []byte) (proof, error) {
	if token == nil && !signed.HasKeySignature() {
		return proof{}, unproven("the delivery is not signed with a key")
	}
	try := func(keys *webhook.KeySet) (proof, bool) {
		if signed != nil && signed.ByKey(keys, body) {
			return proof{id: signed.ID, at: signed.At, byKey: true}, true
		}
		if token == nil {
			return proof{}, false
		}
		claims, err := token.Claims(keys, body)
		if err != nil {
			return proof{}, false
		}
		p := proof{id: claims.ID, at: claims.IssuedAt.Time(), taskID: claims.TaskID, byKey: true}
		if claims.Expires != nil {
			p.expires = claims.Expires.Time()
		}
		return p, true
	}
	if v.pinned != nil {
		if p, ok := try(v.pinned); ok {
			return p, nil
		}
		return proof{}, unproven("the delivery is not signed with a known key")
	}
	before, _ := v.keys.have()
	keys, err := v.keys.current(ctx)
	if err != nil {
		return proof{}, err
	}
	if p, ok := try(keys); ok {
		return p, nil
	}
	if keys == before { // the agent may have other keys by now
		if keys, err = v.keys.newer(ctx, keys); err != nil {
			return proof{}, err
		}
		if p, ok := try(keys); ok {
			return p, nil
		}
	}
	return proof{}, unproven("the delivery is not signed with a key of the agent")
}
