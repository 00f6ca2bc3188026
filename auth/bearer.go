package auth

import (
	"net/http"
	"strings"
)

// maxAuthorization is the longest Authorization header that is looked at, in
// bytes: a bearer token of 8 KiB and its scheme.
const maxAuthorization = 8<<10 + 64

// authorization returns the scheme of a request's Authorization header (RFC 9110
// §11.6.2), in lower case, and what follows it; both are "" if there is no such header.
func authorization(r *http.Request) (scheme, rest string, err error) {
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return "", "", nil
	case len(values) > 1:
		return "", "", refuse("there is more than one Authorization header: send one")
	case len(values[0]) > maxAuthorization:
		return "", "", refuse("the Authorization header has more than %d bytes", maxAuthorization)
	}
	value := strings.Trim(values[0], " ")
	if value == "" {
		return "", "", refuse("the Authorization header is empty")
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return "", "", refuse("the Authorization header has characters other than the printable ones of ASCII")
		}
	}
	scheme, rest, _ = strings.Cut(value, " ")
	return strings.ToLower(scheme), strings.TrimLeft(rest, " "), nil
}

// bearerToken returns the bearer token of a request (RFC 6750 §2.1), "" if it has none.
func bearerToken(r *http.Request) (string, error) {
	scheme, token, err := authorization(r)
	switch {
	case err != nil || scheme != "bearer":
		return "", err
	case token == "":
		return "", refuse("the bearer token is empty")
	case !isToken68(token):
		return "", refuse("the bearer token has characters that are not allowed")
	}
	return token, nil
}

// isToken68 reports whether s is a token68 (RFC 9110 §11.2): letters, digits,
// some marks, and then any number of =.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && strings.IndexByte("-._~+/", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}
