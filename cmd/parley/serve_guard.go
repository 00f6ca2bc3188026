package main

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// guard makes what the flags say of who may call; nil where nobody needs
// credentials. st keeps the API keys.
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
			return newFailure(codeServe, "who may call by "+what+": "+err.Error(), err)
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
	failures := f.failures
	if failures == 0 {
		failures = -1
	}
	return auth.NewGuard(methods, &auth.GuardOptions{Anonymous: f.anonymous, Failures: failures, Address: a2aserver.ClientAddr(proxies)})
}

// admit refuses to serve whoever comes, where that are others than this
// machine's users and nobody said so.
func (f *authFlags) admit(local bool, addr net.Addr) error {
	if local || f.any() || f.anonymous {
		return nil
	}
	return usagef("everybody who can reach %s could call this agent: nothing says who may", addr).
		withHint("--auth-keys lets in who has a key (parley key create), and --help shows other ways; --allow-anonymous lets everybody in")
}

// warn says what is legal and may be a mistake.
func (f *serveFlags) warn(a *app, b *banner, local bool) {
	switch {
	case f.auth.any() && !b.tls && !local && !strings.HasPrefix(b.public, "https://"):
		a.note("Warning", "credentials come to %s without encryption: give --tls-cert and --tls-key, or say with --public-url https://... that something in front has TLS", b.addr)
	case !local && !f.auth.any():
		a.note("Warning", "everybody who can reach %s may call this agent, and sees the tasks of all others", b.addr)
	case f.auth.any() && f.auth.anonymous:
		a.note("Warning", "callers without credentials are served, too, and share what they make (--allow-anonymous)")
	}
}
