// Package auth identifies callers, signs in, and signs agent cards and verifies their
// signatures.
//
// # Callers
//
// A Guard has one or more Methods: API keys (Keys), tokens of an issuer (OIDC,
// JWT), user names and passwords (Basic), client certificates (MutualTLS).
//
//	keys := auth.NewKeys(st, nil) // in a store.Store
//	token, _, err := keys.Create(ctx, auth.KeySpec{Name: "build", Expires: end})
//
//	guard, err := auth.NewGuard([]auth.Method{keys}, nil)
//	srv, err := parley.New(card, agent, &parley.Options{Store: st, Auth: guard})
//
// Errors of a Guard are for callers. Those of a Method are for operators; test
// them for ErrCredentials, and those of Keys for ErrNoKey.
//
// # Signing in
//
// On the client's side an OAuth gets tokens for the agent of a card.
//
//	o, err := auth.NewOAuth(ctx, card, auth.OAuthSchemes(card)[0], &auth.OAuthOptions{ClientID: "my-app"})
//	session, err := o.Device(ctx, func(c auth.DeviceCode) { fmt.Println(c.URL, c.Code) })
//
// A server's refusal is an *OAuthError.
//
// # Signed cards
//
// Signatures are those of the specification's §8.4: detached JSON Web
// Signatures over the canonical form (RFC 8785) of the card without its default
// values.
//
//	key, err := auth.GenerateKey("ES256")
//	err = auth.SignCard(card, key, nil)
//
//	v, err := auth.VerifyJSON(ctx, doc, auth.KeySet{key.Public()}, nil)
//	if err == nil && v.Err() == nil {
//		doc = v.Good().Payload.JSON // what was signed, and nothing else
//	}
//
// A signature says which key signed, and nothing else. The caller has to know whose key
// it is, by a KeySet or by the addresses that a Remote may fetch.
//
// Everything here may be used by many goroutines at once; SignCard changes the
// card it is given. Errors to test for are ErrNotSigned, ErrMalformed,
// ErrAlgorithm, ErrUnknownKey, ErrKeyExpired and ErrTampered.
package auth
