package webhook

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

const (
	maxScheme      = 64
	maxCredentials = 4 << 10
	maxNotifyToken = 1 << 10
)

// The headers that carry a token: the first is that of versions before 1.0; a client in
// Go looks only for the second.
const (
	HeaderToken  = "X-A2a-Notification-Token"
	HeaderToken2 = "A2a-Notification-Token"
)

// schemes maps the schemes of the RFC 7235 registries, which clients write in any case,
// to their spelling.
var schemes = map[string]string{
	"bearer": "Bearer", "jwt": "Bearer", "basic": "Basic", "digest": "Digest", "dpop": "DPoP", "hoba": "HOBA", "mutual": "Mutual",
	"negotiate": "Negotiate", "vapid": "vapid", "hawk": "Hawk", "token": "Token",
	"apikey": apiKey, "api-key": apiKey, "api_key": apiKey, "x-api-key": apiKey,
}

const apiKey = "ApiKey"

// Authorize sets the headers by which a client wants deliveries to be authenticated,
// from its scheme and credentials. Schemes are compared without case:
//
//   - bearer, jwt: Authorization: Bearer and the credentials. Without
//     credentials nothing is set; see WantsJWT.
//   - basic: credentials with a colon are user:password, in any letters; others are
//     that in base64 already.
//   - apiKey, api-key, api_key, x-api-key: X-API-Key, and Authorization: ApiKey, as the
//     text of 1.0 has it.
//   - none, or no scheme and no credentials: nothing.
//   - any other: Authorization with both unchanged.
//
// The error says which field of the configuration is wrong, and leaves h unchanged.
// Check finds that error when a configuration is made, with an h that is thrown away. a
// may be nil.
func Authorize(h http.Header, a *a2a.AuthenticationInfo) error {
	if a == nil || a.Scheme == "" && a.Credentials == "" {
		return nil
	}
	if !isToken(a.Scheme) || len(a.Scheme) > maxScheme {
		return a2a.Invalid("authentication.scheme", "must be the name of an HTTP authentication scheme, such as Bearer")
	}
	if len(a.Credentials) > maxCredentials {
		return a2a.Invalid("authentication.credentials", "must not be longer than %d bytes", maxCredentials)
	}
	lower := strings.ToLower(a.Scheme)
	if a.Credentials == "" {
		if lower == "none" || WantsJWT(a) {
			return nil
		}
		return a2a.Invalid("authentication.credentials", "are needed for the scheme %s", a.Scheme)
	}
	scheme := cmp.Or(schemes[lower], a.Scheme)
	creds := string(a.Credentials)
	switch scheme {
	case "Basic":
		var ok bool
		if creds, ok = basic(creds); !ok {
			return a2a.Invalid("authentication.credentials", "must be user:password, or that in base64, without control characters")
		}
	case "Bearer", apiKey:
		if strings.ContainsAny(creds, " \t") {
			return a2a.Invalid("authentication.credentials", "must be the %s credential alone, without a space or the name of the scheme", scheme)
		}
	}
	if !isValue(creds) {
		return a2a.Invalid("authentication.credentials", "must be printable ASCII without spaces at the ends")
	}
	h["Authorization"] = []string{scheme + " " + creds}
	if scheme == apiKey {
		h["X-Api-Key"] = []string{creds}
	}
	return nil
}

// WantsJWT reports whether a client leaves the credentials to us: a JWT, which
// Keys.Bearer makes.
func WantsJWT(a *a2a.AuthenticationInfo) bool {
	return a != nil && a.Credentials == "" && (strings.EqualFold(a.Scheme, "bearer") || strings.EqualFold(a.Scheme, "jwt"))
}

// basic returns the credentials of RFC 7617. Base64 has no colon in it.
func basic(s string) (string, bool) {
	pair, encoded := s, false
	if !strings.Contains(s, ":") {
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return "", false
		}
		pair, encoded = string(raw), true
	}
	if !strings.Contains(pair, ":") || !utf8.ValidString(pair) || strings.ContainsFunc(pair, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	if encoded {
		return s, true
	}
	return base64.StdEncoding.EncodeToString([]byte(pair)), true
}

// isValue reports whether s can be a header's value unchanged. net/http refuses the
// worst of the others, but only when it sends.
func isValue(s string) bool {
	return s != "" && s == strings.Trim(s, " ") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// letters are the letters and digits, which are harmless in a header.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// isToken reports whether s is a token of RFC 9110 §5.6.2.
func isToken(s string) bool { return s != "" && strings.Trim(s, letters+"!#$%&'*+-.^_`|~") == "" }

// CheckToken refuses a token that cannot be sent or signed with.
func CheckToken(token string) error {
	switch {
	case token == "":
		return nil
	case len(token) > maxNotifyToken:
		return a2a.Invalid("token", "must not be longer than %d bytes", maxNotifyToken)
	case !isValue(token):
		return a2a.Invalid("token", "must be printable ASCII without spaces at the ends")
	}
	if _, err := Secret(token); err != nil {
		return a2a.Invalid("token", "%s", err.Error())
	}
	return nil
}

// SetToken adds a token that CheckToken accepted to a delivery. A token that begins
// with whsec_ is a secret to sign with, which is never sent.
func SetToken(h http.Header, token string) {
	if token == "" || strings.HasPrefix(token, secretPrefix) {
		return
	}
	h[HeaderToken] = []string{token}
	h[HeaderToken2] = []string{token}
}
