package serve

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

// guard returns the guard that checks callers; nil if they need no credentials. st
// holds the API keys.
func (f *authFlags) guard(st store.Store, proxies []netip.Prefix, log *slog.Logger) (*auth.Guard, error) {
	if !f.any() {
		return nil, nil
	}
	var methods []auth.Method
	add := func(on bool, make func() (auth.Method, error), what string) error {
		if !on {
			return nil
		}
		m, err := make()
		if err != nil {
			return failure.New(failure.CodeServe, "who may call by "+what+": "+err.Error(), err)
		}
		methods = append(methods, m)
		return nil
	}
	tokens := &auth.TokenOptions{Claims: f.claims, Grants: f.grants, Logger: log}
	tokens.Claims.Grants = f.roles
	for _, err := range []error{
		add(f.keys, func() (auth.Method, error) { return auth.NewKeys(st, &auth.KeysOptions{Logger: log}), nil }, "--auth-keys"),
		add(f.oidcIssuer != "", func() (auth.Method, error) { return auth.NewOIDC(f.oidcIssuer, f.oidcAudiences, tokens) }, "--oidc-issuer"),
		add(f.jwks != "", func() (auth.Method, error) { return auth.NewJWT(f.jwtIssuer, f.jwtAudiences, f.jwks, tokens) }, "--jwks"),
		add(f.basic != "", func() (auth.Method, error) { return auth.NewBasic(f.basic, &auth.BasicOptions{Logger: log}) }, "--auth-basic"),
		add(f.clientCA, func() (auth.Method, error) {
			return auth.NewMutualTLS(&auth.MutualTLSOptions{
				Subject: auth.CertificateName(f.certName), Tenant: auth.CertificateTenant(f.certTenant), Grants: f.grants,
			})
		}, "--client-ca"),
	} {
		if err != nil {
			return nil, err
		}
	}
	failures := cmp.Or(f.failures, -1)
	return auth.NewGuard(methods, &auth.GuardOptions{Anonymous: f.anonymous, Failures: failures, Address: a2aserver.ClientAddr(proxies)})
}

// admit fails if users of other machines can call and no flag says who may.
func (s *Settings) admit(local bool, addr net.Addr) error {
	if local || s.auth.any() || s.auth.anonymous {
		return nil
	}
	what, hint := "this agent", "--auth-keys lets in callers with a key (parley key create), and --help shows other ways; --allow-anonymous lets everybody in"
	if s.File != nil {
		what = "the agents of " + plain.Quote(s.path)
		hint = "auth: {keys: true} lets in callers with a key (parley key create), and docs/config.md has other ways; auth: {anonymous: true} lets everybody in"
	}
	return failure.Usagef("everybody who can reach %s could call %s: nothing says who may", addr, what).WithHint("%s", hint)
}

// local reports whether only this machine can call a server at an address, even through
// a proxy in front.
func (f *flags) local(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() && f.publicURL == "" && len(f.proxies) == 0
}

// caution returns a warning about callers that may be intended; "" if there is none.
func (f *flags) caution(at net.Addr, local bool, public string) string {
	switch {
	case f.auth.any() && !f.tls.given() && !local && !strings.HasPrefix(public, "https://"):
		return "credentials come to " + at.String() + " without encryption: give --tls-cert and --tls-key, or say with --public-url https://... that something in front has TLS"
	case !local && !f.auth.any():
		return "everybody who can reach " + at.String() + " may call this agent, and sees the tasks of all others"
	case f.auth.any() && f.auth.anonymous:
		return "callers without credentials are served, too, and share what they make (--allow-anonymous)"
	}
	return ""
}

// authenticate identifies the caller of a request to a path beside the agents. A
// refusal is recorded and counted like that of a call.
func (h *Host) authenticate(g *auth.Guard, r *http.Request, binding string) (a2a.Caller, error) {
	caller, err := g.Authenticate(r)
	if refused, ok := errors.AsType[*a2a.Error](err); ok {
		var c audit.Record
		c.Begin(h.refusals, binding, a2aserver.ClientAddr(h.view.Load().of.settings.proxies)(r), "")
		c.Fail(r.Context(), refused)
	}
	return caller, err
}
