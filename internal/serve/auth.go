package serve

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
)

// authFlags say who may call. The methods are alternatives: a caller needs only one.
type authFlags struct {
	anonymous bool
	keys      bool
	basic     string
	failures  int

	oidcIssuer, jwtIssuer string
	oidcClient            string // of the console
	oidcAudiences         []string
	jwtAudiences          []string
	jwks                  string
	claims                auth.Claims
	roles                 map[string][]string
	grants                []string

	certName, certTenant string

	clientCA bool // set by check: client certificates are verified
}

func (f *authFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.keys, "auth-keys", false, "callers with an API key; parley key create makes keys, also while the server runs")
	fs.StringVar(&f.oidcIssuer, "oidc-issuer", "", "callers with a bearer token (JWT) of the issuer at this `URL`; OpenID Connect Discovery finds its keys")
	fs.StringArrayVar(&f.oidcAudiences, "oidc-audience", nil, "audience that such tokens must have: the `name` of this agent; may be repeated")
	fs.StringVar(&f.oidcClient, "oidc-client", "", "let people log in to the console at the issuer: the `id` of its client there, a public one with PKCE and the redirect URI <public URL>/console/login/back")
	fs.StringVar(&f.jwks, "jwks", "", "callers with a bearer token (JWT) signed with a key of this JSON Web Key Set, a `file` that is read again when it changes")
	fs.StringVar(&f.jwtIssuer, "jwt-issuer", "", "issuer that such tokens must `name`")
	fs.StringArrayVar(&f.jwtAudiences, "jwt-audience", nil, "audience that such tokens must have: the `name` of this agent; may be repeated")
	fs.StringVar(&f.basic, "auth-basic", "", "callers with a user and password of this `file`, made by parley key password; it is read again when it changes")
	f.certName = string(auth.NameCN)
	fs.Var(flagvalue.Choice(&f.certName, "cn", "uri", "dns", "email", "dn"), "cert-name", "which `name` of a client certificate (--client-ca) is the caller's: cn, uri, dns, email or dn")
	fs.Var(flagvalue.Choice(&f.certTenant, "o", "ou"), "cert-tenant", "which part of it is the caller's `tenant`: o or ou (default: no tenants)")
	fs.StringVar(&f.claims.Subject, "subject-claim", "", "which `claim` of a token is the caller's name (default sub)")
	fs.StringVar(&f.claims.Tenant, "tenant-claim", "", "which `claim` of a token is the caller's tenant; tokens without it are refused (default: no tenants)")
	fs.StringVar(&f.claims.Scopes, "scope-claim", "", "which `claim` of a token says what the caller may do, such as scope")
	fs.StringVar(&f.claims.Prefix, "scope-prefix", "", "`text` to remove from the start of these scopes, such as api://parley/")
	fs.StringVar(&f.claims.Roles, "role-claim", "", "which `claim` of a token has the caller's roles, such as realm_access.roles")
	fs.Var(flagvalue.New("role", f.addRole, nil), "role", "what a `role` may do: support=tasks:read:tenant,tasks:cancel:tenant; may be repeated")
	fs.Var(flagvalue.New("scope", f.addGrant, func() string { return flagvalue.Commas(f.grants) }), "grant", "`scope` of callers whose token or certificate gives none; none allows nothing; may be repeated (default: everything with their own tasks)")
	fs.IntVar(&f.failures, "max-failures", 10, "how many `times` a minute an address, or a user, may send wrong credentials before it has to wait; 0 means no limit")
	fs.BoolVar(&f.anonymous, "allow-anonymous", false, "callers without credentials; they all share their tasks")
}

func (f *authFlags) check() error {
	tokens := f.oidcIssuer != "" || f.jwks != ""
	switch {
	case (f.oidcIssuer == "") != (len(f.oidcAudiences) == 0):
		return failure.Usagef("--oidc-issuer and --oidc-audience go together: give both, or neither").
			WithHint("without an audience, tokens that are meant for any other service of the issuer would do")
	case f.oidcClient != "" && f.oidcIssuer == "":
		return failure.Usagef("--oidc-client needs --oidc-issuer")
	case (f.jwks == "") != (len(f.jwtAudiences) == 0) || (f.jwks == "") != (f.jwtIssuer == ""):
		return failure.Usagef("--jwks, --jwt-issuer and --jwt-audience go together: give all, or none").
			WithHint("the issuer and the audience are in the tokens, as iss and aud")
	case !tokens && f.claims.Subject+f.claims.Tenant+f.claims.Scopes+f.claims.Roles != "":
		return failure.Usagef("flags about claims need tokens: give --oidc-issuer or --jwks")
	case f.claims.Scopes == "" && f.claims.Prefix != "":
		return failure.Usagef("--scope-prefix needs --scope-claim")
	case (f.claims.Roles == "") != (len(f.roles) == 0):
		return failure.Usagef("--role-claim and --role go together: give both, or neither")
	case f.failures < 0:
		return failure.Usagef("--max-failures cannot be negative").WithHint("0 means any number")
	}
	return nil
}

// methods returns the authentication methods that are on, in the order in which they
// are tried: their names on the card, and the callers they identify, in words.
func (f *authFlags) methods() (names, callers []string) {
	for _, m := range []struct {
		on           bool
		name, caller string
	}{
		{f.keys, "apiKey", "API keys"},
		{f.oidcIssuer != "", "oidc", "tokens of " + f.oidcIssuer},
		{f.jwks != "", "jwt", "tokens of " + f.jwtIssuer},
		{f.basic != "", "basic", "users of " + f.basic},
		{f.clientCA, "mtls", "client certificates"},
	} {
		if m.on {
			names, callers = append(names, m.name), append(callers, m.caller)
		}
	}
	return names, callers
}

// any reports whether callers need credentials.
func (f *authFlags) any() bool {
	names, _ := f.methods()
	return len(names) > 0
}

// who describes the callers in a few words.
func (f *authFlags) who(local bool) string {
	_, list := f.methods()
	switch {
	case len(list) == 0 && local:
		return "everybody on this machine"
	case len(list) == 0:
		return "everybody who can reach it"
	case f.anonymous:
		list = append(list, "and everybody else")
	}
	return strings.Join(list, ", ")
}

// first returns the shell command that sets a client's credentials in the environment;
// "" if none are needed.
func (f *authFlags) first(program string, p *database.Location) string {
	switch {
	case !f.any() || f.anonymous:
		return ""
	case f.keys && p.Shared():
		return "export A2ACLI_API_KEY=$(" + program + " key create --name me)  # with " + database.Env + " as here"
	case f.keys:
		return "export A2ACLI_API_KEY=$(" + p.Command(program, "key create --name me") + ")"
	case f.oidcIssuer != "" || f.jwks != "":
		return "export A2ACLI_BEARER=<token>"
	case f.basic != "":
		return "export A2ACLI_BASIC=<user:password>"
	}
	return "export A2ACLI_CLIENT_CERT=<cert.pem> A2ACLI_CLIENT_KEY=<key.pem>"
}

// parseScopes parses scopes separated by commas.
func parseScopes(word string) ([]string, error) {
	list := strings.Split(word, ",")
	for _, scope := range list {
		if err := auth.CheckScope(scope); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// addGrant adds the scopes of a word; "none" makes the list empty.
func (f *authFlags) addGrant(word string) error {
	if word == "none" {
		f.grants = []string{}
		return nil
	}
	scopes, err := parseScopes(word)
	f.grants = append(f.grants, scopes...)
	return err
}

// addRole adds a role and its scopes.
func (f *authFlags) addRole(word string) error {
	role, list, ok := strings.Cut(word, "=")
	if !ok || role == "" {
		return errors.New("must be role=scope,scope")
	}
	var scopes []string
	if list != "none" {
		var err error
		if scopes, err = parseScopes(list); err != nil {
			return err
		}
	}
	if f.roles == nil {
		f.roles = map[string][]string{}
	}
	f.roles[role] = slices.Concat(f.roles[role], scopes)
	return nil
}
