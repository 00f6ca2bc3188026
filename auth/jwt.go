package auth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

// TokenAlgorithms are the algorithms that tokens may be signed with: none that has a
// secret shared with the server, and never the algorithm none.
var TokenAlgorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

// TokenOptions adjusts how bearer tokens are checked. A nil *TokenOptions means
// all defaults.
type TokenOptions struct {
	// Name is the card's name for the method. Empty means "oidc", or "jwt" for keys of
	// a file; two issuers need two names.
	Name string
	// Algorithms are the accepted ones of TokenAlgorithms. Empty means RS256, ES256 and
	// EdDSA. A token that is signed with another is refused before a key is looked for.
	Algorithms []string
	// Skew is how far the issuer's clock may differ from ours, either way. Zero means
	// 60 s, negative not at all.
	Skew time.Duration
	// Claims says which claims of a token describe its holder.
	Claims Claims
	// Grants are the scopes of all callers if Claims has neither Scopes nor Roles. Nil
	// means a2a.OwnScopes; empty, that they may do nothing.
	Grants []string
	// Realm is the realm in challenges. Empty means "a2a".
	Realm string
	// Refresh is how often keys are loaded again, so that keys which the issuer has
	// withdrawn are not used any longer. Zero means 10 minutes, and 10 s for a file.
	Refresh time.Duration
	// Retry is the shortest time between two loads of keys, however many tokens name an
	// unknown one. Zero means 10 s, and 1 s for a file.
	Retry time.Duration
	// HTTPClient asks the issuer. Its Transport is used, with bounds of our own;
	// nil means one that takes proxies from the environment.
	HTTPClient *http.Client
	// Logger gets a record when keys appear or disappear, and when they cannot be
	// loaded. Nil discards.
	Logger *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// tokens checks bearer tokens of one issuer: it is the common part of OIDC and JWT.
// Except for its keys it does not change once it is made.
type tokens struct {
	name, via, issuer string
	audiences         []string
	algorithms        []jose.SignatureAlgorithm
	skew              time.Duration
	claims            Claims
	grants            []string
	realm             string
	now               func() time.Time
	keys              *keyring
}

func newTokens(via, issuer string, audiences []string, o *TokenOptions) (*tokens, error) {
	o = cmp.Or(o, new(TokenOptions))
	t := &tokens{
		name: cmp.Or(o.Name, via), via: via, issuer: issuer, audiences: slices.Clone(audiences), skew: max(cmp.Or(o.Skew, time.Minute), 0),
		claims: o.Claims, grants: slices.Clone(o.Grants), realm: cmp.Or(o.Realm, "a2a"), now: clockOf(o.Now),
	}
	t.claims.Subject, t.claims.Grants = cmp.Or(o.Claims.Subject, "sub"), maps.Clone(o.Claims.Grants)
	if t.skew > maxSkew {
		return nil, fmt.Errorf("auth: a skew of more than %v is not allowed: set the clock", maxSkew)
	}
	if t.grants == nil {
		t.grants = a2a.OwnScopes
	}
	for _, scopes := range append([][]string{o.Grants}, slices.Collect(maps.Values(o.Claims.Grants))...) {
		if err := checkScopes(scopes); err != nil {
			return nil, err
		}
	}
	if len(audiences) == 0 || slices.Contains(audiences, "") {
		return nil, errors.New("auth: say which audience the tokens for this agent have: without one, those for any other service of the issuer would do")
	}
	if err := checkIssuer(issuer); err != nil {
		return nil, err
	}
	wanted := o.Algorithms
	if len(wanted) == 0 {
		wanted = []string{"RS256", "ES256", "EdDSA"}
	}
	for _, a := range wanted {
		if !slices.Contains(TokenAlgorithms, a) {
			return nil, fmt.Errorf("auth: tokens cannot be signed with %.20q: use some of %s", a, strings.Join(TokenAlgorithms, ", "))
		}
		t.algorithms = append(t.algorithms, jose.SignatureAlgorithm(a))
	}
	t.keys = &keyring{
		retry: o.Retry, refresh: o.Refresh, now: t.now,
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("issuer", issuer), algorithms: wanted,
	}
	return t, nil
}

// checkScopes refuses to grant invalid scopes.
func checkScopes(scopes []string) error {
	for _, s := range scopes {
		if err := CheckScope(s); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
	}
	return nil
}

// maxSkew is the most that makes sense: with more, expired tokens are good for longer
// than many are meant to be.
const maxSkew = 10 * time.Minute

// checkIssuer refuses issuers with which a subject could be that of another caller:
// subjects of the other methods begin with a word and a colon, and a number sign in the
// issuer would hide where the subject begins.
func checkIssuer(issuer string) error {
	if word, _, found := strings.Cut(issuer, ":"); found && slices.Contains([]string{"key", "user", "cert"}, strings.ToLower(word)) {
		return fmt.Errorf("auth: an issuer must not begin with %s: that is how other callers are named", word)
	}
	if strings.Contains(issuer, "#") || !goodName(issuer) {
		return errors.New("auth: the issuer must have between 1 and 255 bytes and no number sign or control characters")
	}
	return nil
}

// Challenge asks for a bearer token (RFC 6750 §3).
func (t *tokens) Challenge() string { return fmt.Sprintf("Bearer realm=%q", t.realm) }

// Run loads the keys at once and whenever it is time, until ctx ends.
func (t *tokens) Run(ctx context.Context) error { return t.keys.run(ctx) }

// Authenticate returns the caller whose token a request has.
func (t *tokens) Authenticate(r *http.Request) (*a2a.Caller, error) {
	raw, err := bearerToken(r)
	switch {
	case isKeyToken(raw):
		return nil, errElsewhere
	case raw == "" || err != nil:
		return nil, err
	}
	return t.verify(r.Context(), raw)
}

// verify reads from an unverified token only what selects the keys to try: its
// algorithm, its issuer and the name of its key. It judges everything else after the
// signature, so that no answer tells a stranger what a token for this server must
// contain. Unknown key names make it ask the issuer no more often than
// TokenOptions.Retry allows.
func (t *tokens) verify(ctx context.Context, raw string) (*a2a.Caller, error) {
	tok, err := parseToken(raw)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.algorithms, jose.SignatureAlgorithm(tok.alg)) {
		return nil, refuse("the token is signed with an algorithm that is not allowed")
	}
	if iss, _ := tok.claims["iss"].(string); iss != t.issuer {
		return nil, errElsewhere
	}
	keys, err := t.keys.find(ctx, tok.kid, tok.alg)
	if err != nil {
		return nil, err
	}
	jws, err := jose.ParseSignedCompact(raw, t.algorithms)
	if err != nil {
		return nil, refuse("the token cannot be read") // the cause may quote it
	}
	if !slices.ContainsFunc(keys, func(k *Key) bool {
		payload, err := jws.Verify(k.public)
		return err == nil && bytes.Equal(payload, tok.payload)
	}) {
		return nil, refuse("the token's signature was not made with the key that it names")
	}
	if err := t.check(tok); err != nil {
		return nil, err
	}
	if err := t.inTime(tok); err != nil {
		return nil, err
	}
	return t.caller(tok.claims)
}

// check checks that a token is for this audience, and that it is not bound to a key.
func (t *tokens) check(tok *token) error {
	if !tok.meant(t.audiences) {
		return refuse("the token is for another audience")
	}
	if _, bound := tok.claims["cnf"]; bound {
		return refuse("the token is bound to a key of its holder (claim cnf), which is not checked here: it must not be used as a bearer token")
	}
	return nil
}

// inTime checks a token that the issuer has signed against the clock: a caller
// with an expired token is not guessing.
func (t *tokens) inTime(tok *token) error {
	now := t.now()
	exp, err := tok.time("exp")
	switch {
	case err != nil:
		return err
	case exp.IsZero():
		return refuse("the token never expires: it has no exp")
	case !now.Before(exp.Add(t.skew)):
		return outdated("the token has expired: get a new one")
	}
	for _, name := range []string{"nbf", "iat"} {
		from, err := tok.time(name)
		if err != nil {
			return err
		}
		if now.Add(t.skew).Before(from) {
			return refuse("the token is not valid yet: its %s is ahead of our clock", name)
		}
	}
	return nil
}

// JWT accepts bearer tokens that are signed with a key of a file. Make one with NewJWT.
type JWT struct{ *tokens }

// NewJWT returns a method that accepts the tokens of an issuer that have one of the
// audiences, and are signed with a key of a JSON Web Key Set (RFC 7517) in a file. The
// file is read again when it changes; if it is broken, that is logged and the keys stay
// as they were. It must hold no private keys.
func NewJWT(issuer string, audiences []string, file string, o *TokenOptions) (*JWT, error) {
	t, err := newTokens("jwt", issuer, audiences, o)
	if err != nil {
		return nil, err
	}
	t.keys.fromFile(file)
	if err := t.keys.first(context.Background()); err != nil {
		return nil, fmt.Errorf("auth: read the keys of %s: %w", issuer, err)
	}
	return &JWT{t}, nil
}

// Scheme describes the method as HTTP authentication with bearer tokens.
func (j *JWT) Scheme() (string, *a2a.SecurityScheme) {
	return j.name, &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{
		Description:  "A JSON Web Token issued by " + j.issuer + ".",
		Scheme:       "Bearer",
		BearerFormat: "JWT",
	}}
}
