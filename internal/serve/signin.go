package serve

import (
	"context"
	"encoding/json"

	"github.com/parley-a2a/parley/auth"
)

// signIn is the console's login at the issuer of --oidc-issuer.
type signIn struct {
	name string
	at   *auth.WebLogin
}

func (s *signIn) Name() string { return s.name }

func (s *signIn) Begin(ctx context.Context, redirect string) (string, []byte, error) {
	to, begun, err := s.at.Begin(ctx, redirect)
	if err != nil {
		return "", nil, err
	}
	doc, err := json.Marshal(begun)
	return to, doc, err
}

// Finish returns the access token, and the ID token for issuers whose access tokens are
// for the issuer itself: the audiences decide which token is accepted.
func (s *signIn) Finish(ctx context.Context, pending []byte, query string) ([]string, error) {
	var begun auth.WebSignIn
	if err := json.Unmarshal(pending, &begun); err != nil {
		return nil, err
	}
	access, id, err := s.at.Finish(ctx, begun, query)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return []string{access}, nil
	}
	return []string{access, id}, nil
}
