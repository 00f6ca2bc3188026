package auth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// maxLabel bounds names, subjects and tenants, in bytes.
const maxLabel = 256

// checkLabel refuses what would cause trouble in a log or a table.
func checkLabel(s string) error {
	switch {
	case len(s) > maxLabel:
		return fmt.Errorf("is longer than %d bytes", maxLabel)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("has characters that cannot be printed")
	case s != strings.TrimSpace(s):
		return errors.New("begins or ends with a blank")
	}
	return nil
}

// CheckScope refuses what cannot be a scope, and what looks like one of a2a.Scopes but
// is not, because nothing would ever require it.
func CheckScope(scope string) error {
	if scope == "" || len(scope) > maxLabel {
		return fmt.Errorf("a scope has between 1 and %d bytes", maxLabel)
	}
	for _, c := range []byte(scope) { // RFC 6749 §3.3
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return fmt.Errorf("%q cannot be a scope: it has characters other than the printable ones of ASCII, or one of blank, \" and \\", scope)
		}
	}
	family, _, _ := strings.Cut(strings.ToLower(scope), ":")
	ours := slices.ContainsFunc(a2a.Scopes, func(s string) bool { return strings.HasPrefix(s, family+":") })
	if ours && !slices.Contains(a2a.Scopes, scope) {
		return fmt.Errorf("there is no scope %s; those of %s are %s", scope, family, strings.Join(slices.DeleteFunc(slices.Clone(a2a.Scopes),
			func(s string) bool { return !strings.HasPrefix(s, family+":") }), ", "))
	}
	return nil
}

// expandScopes returns scopes and those of roles, sorted and each once; a2a.OwnScopes
// if there are neither.
func expandScopes(scopes, roles []string) ([]string, error) {
	if len(scopes) == 0 && len(roles) == 0 {
		scopes = a2a.OwnScopes
	}
	all := slices.Clone(scopes)
	for _, role := range roles {
		of, ok := KeyRoles[role]
		if !ok {
			return nil, fmt.Errorf("there is no role %q; there are %s", role, strings.Join(slices.Sorted(maps.Keys(KeyRoles)), ", "))
		}
		all = append(all, of...)
	}
	for _, s := range all {
		if err := CheckScope(s); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Clip(slices.Compact(all)), nil
}
