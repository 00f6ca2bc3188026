package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/auth"
)

// authFlags say who may call. The methods are alternatives: a caller needs one
// of them.
type authFlags struct {
	anonymous bool
	keys      bool
	basic     string
	failures  int

	oidcIssuer, jwtIssuer string
	oidcAudiences         []string
	jwtAudiences          []string
	jwks                  string
	claims                auth.Claims
	roles                 roleScopes
	grants                scopeList

	certName, certTenant string

	clientCA bool // set by check: client certificates are verified
}

func (f *authFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.keys, "auth-keys", false, "callers with an API key, which parley key create makes, also while the server runs")
	fs.StringVar(&f.oidcIssuer, "oidc-issuer", "", "callers with a bearer token (JWT) of this issuer, whose keys are found by OpenID Connect Discovery below its `URL`")
	fs.StringArrayVar(&f.oidcAudiences, "oidc-audience", nil, "the `name` of this agent in such tokens, without which they are for somebody else; may be repeated")
	fs.StringVar(&f.jwks, "jwks", "", "callers with a bearer token (JWT) signed with a key of this JSON Web Key Set, a `file` that is read again when it changes")
	fs.StringVar(&f.jwtIssuer, "jwt-issuer", "", "the `name` of who issues such tokens")
	fs.StringArrayVar(&f.jwtAudiences, "jwt-audience", nil, "the `name` of this agent in such tokens; may be repeated")
	fs.StringVar(&f.basic, "auth-basic", "", "callers with a user and password of this `file`, whose lines parley key password makes; it is read again when it changes")
	f.certName = string(auth.NameCN)
	fs.Var(&choice{&f.certName, []string{"cn", "uri", "dns", "email", "dn"}}, "cert-name", "which `name` of a client certificate (--client-ca) is the caller's: cn, uri, dns, email or dn")
	fs.Var(&choice{&f.certTenant, []string{"o", "ou"}}, "cert-tenant", "what of it is the caller's `tenant`: o or ou (default: callers have none)")
	fs.StringVar(&f.claims.Subject, "subject-claim", "", "which `claim` of a token is the caller's name (default sub)")
	fs.StringVar(&f.claims.Tenant, "tenant-claim", "", "which `claim` of a token is the caller's tenant; without it a token is refused (default: callers have none)")
	fs.StringVar(&f.claims.Scopes, "scope-claim", "", "which `claim` of a token says what the caller may do, such as scope")
	fs.StringVar(&f.claims.Prefix, "scope-prefix", "", "`text` to cut off these scopes, such as api://parley/")
	fs.StringVar(&f.claims.Roles, "role-claim", "", "which `claim` of a token has the caller's roles, such as realm_access.roles")
	fs.Var(&f.roles, "role", "what a `role` may do: support=tasks:read:tenant,tasks:cancel:tenant; may be repeated")
	fs.Var(&f.grants, "grant", "what callers may do whose tokens or certificates do not say it: a `scope`, or none; may be repeated (default: everything with what is their own)")
	fs.IntVar(&f.failures, "max-failures", 10, "`times` that wrong credentials may come from an address, or for a user, in a minute, before it has to wait; 0 means any number")
	fs.BoolVar(&f.anonymous, "allow-anonymous", false, "callers without credentials: all of them share what they make")
}

func (f *authFlags) check() error {
	tokens := f.oidcIssuer != "" || f.jwks != ""
	switch {
	case (f.oidcIssuer == "") != (len(f.oidcAudiences) == 0):
		return usagef("--oidc-issuer and --oidc-audience go together: give both, or neither").
			withHint("without an audience, tokens that are meant for any other service of the issuer would do")
	case (f.jwks == "") != (len(f.jwtAudiences) == 0) || (f.jwks == "") != (f.jwtIssuer == ""):
		return usagef("--jwks, --jwt-issuer and --jwt-audience go together: give all, or none").
			withHint("the issuer and the audience are in the tokens, as iss and aud")
	case !tokens && f.claims.Subject+f.claims.Tenant+f.claims.Scopes+f.claims.Roles != "":
		return usagef("claims are of tokens, and there is neither --oidc-issuer nor --jwks")
	case f.claims.Scopes == "" && f.claims.Prefix != "":
		return usagef("--scope-prefix is of scopes, and there is no --scope-claim")
	case (f.claims.Roles == "") != (len(f.roles) == 0):
		return usagef("--role-claim and --role go together: give both, or neither")
	case f.failures < 0:
		return usagef("--max-failures cannot be negative").withHint("0 means any number")
	}
	return nil
}

// any reports whether anybody is authenticated.
func (f *authFlags) any() bool { return len(f.names()) > 0 }

// names are the methods, as the card calls them.
func (f *authFlags) names() (list []string) {
	for name, on := range f.methods() {
		if on {
			list = append(list, name)
		}
	}
	return list
}

// methods are all methods in the order in which they are tried, and whether they
// are on.
func (f *authFlags) methods() func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		_ = yield("apiKey", f.keys) && yield("oidc", f.oidcIssuer != "") && yield("jwt", f.jwks != "") &&
			yield("basic", f.basic != "") && yield("mtls", f.clientCA)
	}
}

// who says in a few words who may call.
func (f *authFlags) who(local bool) string {
	var list []string
	add := func(on bool, words string) {
		if on {
			list = append(list, words)
		}
	}
	add(f.keys, "API keys")
	add(f.oidcIssuer != "", "tokens of "+f.oidcIssuer)
	add(f.jwks != "", "tokens of "+f.jwtIssuer)
	add(f.basic != "", "users of "+f.basic)
	add(f.clientCA, "client certificates")
	switch {
	case len(list) == 0 && local:
		return "everybody on this machine"
	case len(list) == 0:
		return "everybody who can reach it"
	}
	add(f.anonymous, "and everybody else")
	return strings.Join(list, ", ")
}

// first is how to get credentials into the environment of a client, in the words
// of a shell; "" where none are needed.
func (f *authFlags) first(p *location) string {
	switch {
	case !f.any() || f.anonymous:
		return ""
	case f.keys && p.shared():
		return "export A2ACLI_API_KEY=$(parley key create --name me)  # with " + storeEnv + " as here"
	case f.keys && p.file != filepath.Join(p.data, "parley.db"):
		return "export A2ACLI_API_KEY=$(parley key create --name me --store " + quote(p.file) + ")"
	case f.keys && p.data == defaultData:
		return "export A2ACLI_API_KEY=$(parley key create --name me)"
	case f.keys:
		return "export A2ACLI_API_KEY=$(parley key create --name me --data " + quote(p.data) + ")"
	case f.oidcIssuer != "" || f.jwks != "":
		return "export A2ACLI_BEARER=<token>"
	case f.basic != "":
		return "export A2ACLI_BASIC=<user:password>"
	}
	return "export A2ACLI_CLIENT_CERT=<cert.pem> A2ACLI_CLIENT_KEY=<key.pem>"
}

// scopeList is a repeatable flag of scopes; none is a list of none.
type scopeList []string

func (l *scopeList) String() string { return strings.Join(*l, ",") }
func (l *scopeList) Type() string   { return "scope" }
func (l *scopeList) Set(s string) error {
	if s == "none" {
		*l = scopeList{}
		return nil
	}
	for scope := range strings.SplitSeq(s, ",") {
		if err := auth.CheckScope(scope); err != nil {
			return err
		}
		*l = append(*l, scope)
	}
	return nil
}

// roleScopes is a repeatable flag of roles and their scopes.
type roleScopes map[string][]string

func (r *roleScopes) String() string { return "" }
func (r *roleScopes) Type() string   { return "role" }
func (r *roleScopes) Set(s string) error {
	role, list, ok := strings.Cut(s, "=")
	if !ok || role == "" {
		return errors.New("must be role=scope,scope")
	}
	var scopes scopeList
	if err := scopes.Set(list); err != nil {
		return err
	}
	if *r == nil {
		*r = roleScopes{}
	}
	(*r)[role] = slices.Concat((*r)[role], scopes)
	return nil
}
