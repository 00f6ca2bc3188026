package parley

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
)

// signCard signs a card's document.
type signCard func(doc []byte) ([]*a2a.AgentCardSignature, error)

const (
	maxCardKeys = 8                   // each may sign twice, and verifiers accept 16 signatures
	soon        = 30 * 24 * time.Hour // time enough to give a new key to verifiers
)

// signer returns the function that signs a server's cards, or nil if there are no keys.
// A card that cannot be signed is found here and in signable, not at the first request.
func (o *Options) signer() (signCard, error) {
	if len(o.CardKeys) == 0 {
		return nil, nil
	}
	if len(o.CardKeys) > maxCardKeys {
		return nil, fmt.Errorf("parley: there are more than %d card keys", maxCardKeys)
	}
	for _, k := range o.CardKeys {
		end := k.Expires()
		at := end.UTC().Format(time.RFC3339)
		switch {
		case !k.Private():
			return nil, fmt.Errorf("parley: card keys: the %s is public: the private one signs", k)
		case end.IsZero():
		case !time.Now().Before(end):
			return nil, fmt.Errorf("parley: card keys: the %s ended at %s: sign with another", k, at)
		case time.Until(end) < soon:
			o.logger().Warn("a key that signs cards ends soon: add another one now, and take it away when it has ended", slog.String("key", k.String()), slog.String("ends", at))
		}
	}
	so := &auth.SignOptions{JKU: o.CardKeysURL, Strict: o.CardStrict}
	if so.JKU == "" && o.PublicURL != "" {
		so.JKU = strings.TrimRight(o.PublicURL, "/") + a2aserver.CardKeysPath
	}
	var over sync.Once
	sign := func(doc []byte) ([]*a2a.AgentCardSignature, error) {
		keys := slices.DeleteFunc(slices.Clone(o.CardKeys), func(k *auth.Key) bool {
			return !k.Expires().IsZero() && !time.Now().Before(k.Expires())
		})
		if len(keys) == 0 {
			// A client that insists on signatures refuses an unsigned card just as it
			// would refuse one with an expired signature.
			over.Do(func() { o.logger().Error("all keys that sign cards have ended: new cards are not signed") })
		}
		return auth.Signatures(doc, keys, so)
	}
	return sign, nil
}

// signable reports whether sign, if not nil, can sign a public card.
func (o *Options) signable(public *a2a.AgentCard, sign signCard) error {
	if sign == nil {
		return nil
	}
	if o.PublicURL == "" && len(public.SupportedInterfaces) == 0 {
		return errors.New("parley: signed cards need PublicURL, or a card that lists interfaces: what is signed must not come from a request")
	}
	return trySign(public, sign)
}

// trySign reports whether a card can be signed.
func trySign(card *a2a.AgentCard, sign signCard) error {
	doc := card.AppendJSON(nil)
	p, err := auth.Reduce(doc, auth.FormProtocol)
	if err != nil {
		return fmt.Errorf("parley: the card cannot be signed: %w", err)
	}
	if len(p.Uncovered) > 0 { // an OAuthFlow can have fields that its kind of flow does not
		return fmt.Errorf("parley: the card cannot be signed: the protocol knows no %s", p.Uncovered[0])
	}
	if _, err := sign(doc); err != nil {
		return fmt.Errorf("parley: the card cannot be signed: %w", err)
	}
	return nil
}

// signedBefore refuses a card that its author signed and that would be published with
// changes, which make its signatures invalid.
func signedBefore(author, published *a2a.AgentCard) error {
	if len(author.Signatures) == 0 {
		return nil
	}
	was, err := auth.Reduce(author.AppendJSON(nil), auth.FormProtocol)
	is, isErr := auth.Reduce(published.AppendJSON(nil), auth.FormProtocol)
	if err = cmp.Or(err, isErr); err != nil {
		return fmt.Errorf("parley: the card's signatures: %w", err)
	}
	if len(author.SupportedInterfaces) == 0 || !bytes.Equal(was.JSON, is.JSON) {
		return errors.New("parley: the card is signed, and would be published with more than was signed, such as extensions: leave its signatures out, and have it signed here with CardKeys")
	}
	return nil
}
