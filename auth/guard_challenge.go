package auth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Challenges returns the values of WWW-Authenticate for an answer with e, one
// for each scheme, in the order of the methods.
func (g *Guard) Challenges(e *a2a.Error) []string {
	var list []string
	seen := map[string]bool{}
	for _, m := range g.methods {
		scheme, params, _ := strings.Cut(m.Challenge(), " ")
		if scheme == "" || seen[scheme] {
			continue
		}
		seen[scheme] = true
		if !strings.HasPrefix(params, "realm=") {
			params = strings.TrimSuffix(fmt.Sprintf("realm=%q, %s", g.opts.Realm, params), ", ")
		}
		bearer := scheme == "Bearer"
		switch {
		case e.Code == a2a.CodePermissionDenied && (!bearer || e.Meta["scope"] == ""):
			continue // other schemes have no word for it
		case e.Code == a2a.CodePermissionDenied:
			params += fmt.Sprintf(`, error="insufficient_scope", scope=%q`, e.Meta["scope"])
		case bearer && errors.Is(e.Cause, ErrCredentials):
			params += `, error="invalid_token"`
		}
		list = append(list, scheme+" "+params)
	}
	return list
}
