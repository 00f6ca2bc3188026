package auth

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// Claims says which claims of a token describe its holder. A claim is given by its name
// in the token, or by the path to it with dots between the names, such as
// realm_access.roles; names may contain dots.
type Claims struct {
	// Subject is the claim with the name of the caller. Empty means sub. A token
	// without it is refused, even if client_id or azp say which program holds it: these
	// name a program, not its user. If all tokens are of programs and have no sub, say
	// "client_id" or "azp" here.
	Subject string
	// Tenant is the claim with the caller's tenant, a string. Empty means that
	// callers have none. A token without it is refused.
	Tenant string
	// Scopes is the claim with the caller's scopes: a string with blanks between them,
	// as scope in RFC 9068, or a list. A caller without that claim may do nothing.
	// Empty means that tokens have no scopes; see Roles, and TokenOptions.Grants.
	Scopes string
	// Prefix is removed from the scopes, such as api://parley/. A scope without it is
	// ignored, whatever its name.
	Prefix string
	// Roles is the claim with the names of the caller's roles, a list, or a string
	// with blanks between them. Grants says what each role may do. Scopes and
	// Roles add up.
	Roles string
	// Grants are the scopes of each role. Roles that are missing here allow nothing.
	Grants map[string][]string
}

// caller returns the caller that the claims of a verified token describe.
func (t *tokens) caller(claims map[string]any) (*a2a.Caller, error) {
	subject, err := nameClaim(claims, t.claims.Subject)
	if err != nil {
		return nil, err
	}
	c := &a2a.Caller{Subject: t.issuer + "#" + subject, Via: t.via}
	if t.claims.Tenant != "" {
		if c.Tenant, err = nameClaim(claims, t.claims.Tenant); err != nil {
			return nil, err
		}
	}
	if c.Scopes, err = t.scopes(claims); err != nil {
		return nil, err
	}
	return c, nil
}

// scopes never returns nil, which would mean a2a.OwnScopes.
func (t *tokens) scopes(claims map[string]any) ([]string, error) {
	if t.claims.Scopes == "" && t.claims.Roles == "" {
		return append([]string{}, t.grants...), nil
	}
	out := []string{}
	if t.claims.Scopes != "" {
		has, err := wordsClaim(claims, t.claims.Scopes)
		if err != nil {
			return nil, err
		}
		for _, s := range has {
			if bare, ours := strings.CutPrefix(s, t.claims.Prefix); ours { // otherwise it is another service's
				out = append(out, bare)
			}
		}
	}
	if t.claims.Roles != "" {
		has, err := wordsClaim(claims, t.claims.Roles)
		if err != nil {
			return nil, err
		}
		for _, role := range has {
			out = append(out, t.claims.Grants[role]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// claim finds a claim by its name, or by the path to it. There is one path to each
// value, so this takes no longer than looking at all of them.
func claim(claims map[string]any, path string) (any, bool) {
	if v, there := claims[path]; there {
		return v, true
	}
	for i, c := range path {
		if c != '.' {
			continue
		}
		if inner, ok := claims[path[:i]].(map[string]any); ok {
			if v, there := claim(inner, path[i+1:]); there {
				return v, true
			}
		}
	}
	return nil, false
}

// nameClaim returns a claim that is a name.
func nameClaim(claims map[string]any, path string) (string, error) {
	v, there := claim(claims, path)
	if !there {
		return "", refuse("the token has no claim %s", path)
	}
	s, ok := v.(string)
	if !ok || !goodName(s) {
		return "", refuse("the token's claim %s is not a name: a string of 1 to %d bytes without control characters", path, maxName)
	}
	return s, nil
}

// wordsClaim returns a claim that is a list of words in either form; none if it is
// missing.
func wordsClaim(claims map[string]any, path string) ([]string, error) {
	v, there := claim(claims, path)
	if !there {
		return nil, nil
	}
	switch v := v.(type) {
	case string:
		return strings.Fields(v), nil
	case []any:
		out := make([]string, len(v))
		for i := range v {
			var ok bool
			if out[i], ok = v[i].(string); !ok {
				return nil, refuse("the token's claim %s is a list with elements other than words", path)
			}
		}
		return out, nil
	}
	return nil, refuse("the token's claim %s is neither a string nor a list", path)
}

// maxName is how long a subject or tenant may be, in bytes (OpenID Connect Core
// §2 has the same bound for sub).
const maxName = 255

// goodName reports whether s can be a name: it has nothing that would make two names
// look the same in a log, or begin a line there.
func goodName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	})
}
