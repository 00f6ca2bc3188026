package auth

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 8 << 10

// errElsewhere says that a bearer token is not for the method that was asked. If no
// other method accepts it, it is wrong.
var errElsewhere = refuse("the token is from another issuer, or of a kind that is not accepted here")

// token is a JWT (RFC 7519) that has been read but not verified.
type token struct {
	alg, kid string
	payload  []byte
	claims   map[string]any
}

// parseToken reads a token in compact form. Errors contain nothing of it.
func parseToken(raw string) (*token, error) {
	if len(raw) > maxToken {
		return nil, refuse("the bearer token has more than %d bytes", maxToken)
	}
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || slices.Contains(parts, "") || strings.ContainsAny(raw, "\r\n") { // which the decoder would skip
		return nil, refuse("the bearer token is not a signed JWT")
	}
	t := new(token)
	header, _, err := section(parts[0])
	if err == nil {
		t.claims, t.payload, err = section(parts[1])
	}
	if err == nil {
		_, err = base64.RawURLEncoding.Strict().DecodeString(parts[2])
	}
	if err != nil {
		return nil, refuse("the bearer token is not a JWT that can be read")
	}
	return t, t.header(header)
}

// section decodes the header or the claims: base64url without padding, of a JSON object
// without duplicate members at any depth.
func section(s string) (map[string]any, []byte, error) {
	doc, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, nil, err
	}
	v, err := parseJSON(doc)
	if err != nil {
		return nil, nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, nil, errors.New("a section is not a JSON object")
	}
	return m, doc, nil
}

// header reads the members of the header that may decide something. It ignores where
// the header says to find a key (jku, jwk, x5u, x5c), because the token would vouch for
// itself.
func (t *token) header(h map[string]any) error {
	var ok bool
	if t.alg, ok = h["alg"].(string); !ok || t.alg == "" {
		return refuse("the token does not say how it is signed")
	}
	if kid, there := h["kid"]; there {
		if t.kid, ok = kid.(string); !ok || !goodName(t.kid) {
			return refuse("the token's kid is not the name of a key")
		}
	}
	if typ, there := h["typ"]; there {
		// RFC 9068 §2.1: at+jwt for access tokens. JWTs of other types have another
		// purpose, and their issuer relies on not being accepted here.
		s, _ := typ.(string)
		s = strings.ToLower(s)
		if s = strings.TrimPrefix(s, "application/"); s != "jwt" && s != "at+jwt" {
			return refuse("the token's type is not JWT or at+jwt")
		}
	}
	for _, name := range []string{"crit", "b64", "zip", "enc"} {
		if _, there := h[name]; there {
			return refuse("the token's header has %s, which is not understood", name)
		}
	}
	return nil
}

// meant reports whether the token is for one of the audiences.
func (t *token) meant(audiences []string) bool {
	switch aud := t.claims["aud"].(type) {
	case string:
		return slices.Contains(audiences, aud)
	case []any:
		return slices.ContainsFunc(aud, func(v any) bool {
			s, ok := v.(string)
			return ok && slices.Contains(audiences, s)
		})
	}
	return false
}

// time returns a claim that is a NumericDate (RFC 7519 §2); zero if it is missing.
func (t *token) time(name string) (time.Time, error) {
	v, there := t.claims[name]
	if !there {
		return time.Time{}, nil
	}
	s, ok := v.(float64)
	if !ok || s < 0 || s > maxTime {
		return time.Time{}, refuse("the token's %s is not a time", name)
	}
	whole, part := math.Modf(s)
	return time.Unix(int64(whole), int64(part*1e9)), nil
}

// maxTime is the end of the year 9999, in seconds.
const maxTime = 253402300799
