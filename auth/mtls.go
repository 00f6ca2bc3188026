package auth

import (
	"cmp"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// CertificateName selects the name in a certificate that identifies its holder.
type CertificateName string

// The names that a certificate can have.
const (
	NameCN    CertificateName = "cn"    // the common name of the subject
	NameURI   CertificateName = "uri"   // the alternative name that is a URI, such as a SPIFFE id
	NameDNS   CertificateName = "dns"   // the alternative name that is a host's
	NameEmail CertificateName = "email" // the alternative name that is an address for mail
	NameDN    CertificateName = "dn"    // the whole subject, as RFC 2253 writes it
)

// CertificateTenant selects the attribute of a certificate's subject that is the
// caller's tenant.
type CertificateTenant string

// The attributes that can be a tenant.
const (
	TenantNone CertificateTenant = ""
	TenantO    CertificateTenant = "o"  // the organization
	TenantOU   CertificateTenant = "ou" // the unit of the organization
)

// MutualTLSOptions adjusts how client certificates become callers. A nil
// *MutualTLSOptions means all defaults.
type MutualTLSOptions struct {
	// Subject selects the name that the caller is known by; a certificate without it,
	// or with two of them, is refused. Empty means NameCN.
	Subject CertificateName
	// Tenant selects the caller's tenant; a certificate without it, or with two of
	// them, is refused. Empty means that callers have none.
	Tenant CertificateTenant
	// Grants are the scopes of all callers. Nil means a2a.OwnScopes; empty, that
	// they may do nothing.
	Grants []string
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// MutualTLS accepts the client certificates of connections. Make one with NewMutualTLS.
//
// It relies on what crypto/tls has verified, so the server's tls.Config needs ClientCAs
// and the ClientAuth VerifyClientCertIfGiven, or RequireAndVerifyClientCert; see
// ClientCAs. Every authority there can vouch for every name. Behind a proxy that ends
// TLS there are no certificates, and headers in which a proxy passes them on are not
// read, because anybody could send them.
type MutualTLS struct{ opts MutualTLSOptions }

// NewMutualTLS returns a method that accepts client certificates.
func NewMutualTLS(o *MutualTLSOptions) (*MutualTLS, error) {
	m := new(MutualTLS)
	if o != nil {
		m.opts = *o
	}
	m.opts.Subject = cmp.Or(m.opts.Subject, NameCN)
	if !slices.Contains([]CertificateName{NameCN, NameURI, NameDNS, NameEmail, NameDN}, m.opts.Subject) {
		return nil, fmt.Errorf("auth: certificates have no name called %.20q: use cn, uri, dns, email or dn", string(m.opts.Subject))
	}
	if !slices.Contains([]CertificateTenant{TenantNone, TenantO, TenantOU}, m.opts.Tenant) {
		return nil, fmt.Errorf("auth: certificates have no tenant called %.20q: use o or ou, or nothing", string(m.opts.Tenant))
	}
	if err := checkScopes(m.opts.Grants); err != nil {
		return nil, err
	}
	if m.opts.Grants == nil {
		m.opts.Grants = a2a.OwnScopes
	}
	m.opts.Grants = append([]string{}, m.opts.Grants...)
	m.opts.Now = clockOf(m.opts.Now)
	return m, nil
}

// Scheme describes the method as mutual TLS.
func (m *MutualTLS) Scheme() (string, *a2a.SecurityScheme) {
	return "mtls", &a2a.SecurityScheme{MutualTLS: &a2a.MutualTLSSecurityScheme{Description: "A client certificate."}}
}

// Challenge returns "": TLS asks for certificates, and HTTP has no scheme for them.
func (m *MutualTLS) Challenge() string { return "" }

// Authenticate returns the caller whose certificate the connection of a request has.
func (m *MutualTLS) Authenticate(r *http.Request) (*a2a.Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 && len(r.TLS.VerifiedChains) == 0 {
		return nil, nil
	}
	if len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return nil, refuse("the client's certificate was not verified: the server's TLS asks for certificates without an authority to check them by")
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		return nil, refuse("the client's certificate is not for clients: it lacks the extended key usage clientAuth")
	}
	// TLS has checked that when the connection began, which can be days ago.
	if now := m.opts.Now(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return nil, outdated("the client's certificate has expired since the connection was made, or is not valid yet")
	}
	subject, err := only(string(m.opts.Subject), m.opts.Subject.of(leaf))
	if err != nil {
		return nil, err
	}
	c := &a2a.Caller{Subject: "cert:" + subject, Via: "mtls", Scopes: append([]string{}, m.opts.Grants...)}
	if m.opts.Tenant != TenantNone {
		if c.Tenant, err = only(string(m.opts.Tenant), m.opts.Tenant.of(leaf)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// only returns the name, of which there must be exactly one.
func only(kind string, names []string) (string, error) {
	if len(names) != 1 {
		return "", refuse("the client's certificate has %d names of the kind %s; it must have one", len(names), kind)
	}
	if !goodName(names[0]) {
		return "", refuse("the client's certificate has a %s that is not a name: 1 to %d bytes without control characters", kind, maxName)
	}
	return names[0], nil
}

func (n CertificateName) of(c *x509.Certificate) []string {
	switch n {
	case NameURI:
		out := make([]string, len(c.URIs))
		for i, u := range c.URIs {
			out[i] = u.String()
		}
		return out
	case NameDNS:
		out := make([]string, len(c.DNSNames))
		for i, name := range c.DNSNames {
			out[i] = strings.ToLower(name)
		}
		return out
	case NameEmail:
		return c.EmailAddresses
	case NameDN:
		return []string{c.Subject.String()}
	}
	return inSubject(c, asn1.ObjectIdentifier{2, 5, 4, 3})
}

func (t CertificateTenant) of(c *x509.Certificate) []string {
	if t == TenantOU {
		return inSubject(c, asn1.ObjectIdentifier{2, 5, 4, 11})
	}
	return inSubject(c, asn1.ObjectIdentifier{2, 5, 4, 10})
}

// inSubject returns all attributes of a kind; of some kinds, pkix.Name has only the
// last one.
func inSubject(c *x509.Certificate, kind asn1.ObjectIdentifier) []string {
	var out []string
	for _, a := range c.Subject.Names {
		if s, ok := a.Value.(string); ok && a.Type.Equal(kind) {
			out = append(out, s)
		}
	}
	return out
}
