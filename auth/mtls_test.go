package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	a.cert, a.key = a.make(t, &x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) make(t *testing.T, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(1)
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// forClients returns a template for a client's certificate.
func forClients(name pkix.Name) *x509.Certificate {
	return &x509.Certificate{Subject: name, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// over returns a request over a connection with a verified certificate.
func over(c *x509.Certificate) *http.Request {
	r := bearing()
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}
	return r
}

func mtls(t *testing.T, o *MutualTLSOptions) *MutualTLS {
	t.Helper()
	m, err := NewMutualTLS(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCertificatesNameTheirCallers(t *testing.T) {
	ca := newAuthority(t)
	spiffe, other := &url.URL{Scheme: "spiffe", Host: "example.com", Path: "/agent"}, &url.URL{Scheme: "urn", Opaque: "x"}
	full := func(change func(*x509.Certificate)) *x509.Certificate {
		c := forClients(pkix.Name{CommonName: "batch", Organization: []string{"acme"}, OrganizationalUnit: []string{"ops"}})
		c.URIs, c.DNSNames, c.EmailAddresses = []*url.URL{spiffe}, []string{"Agent.Example.com"}, []string{"a@example.com"}
		if change != nil {
			change(c)
		}
		made, _ := ca.make(t, c)
		return made
	}
	for name, c := range map[string]struct {
		o    MutualTLSOptions
		cert *x509.Certificate
		want string // subject and tenant, or the refusal's text
	}{
		"cn":        {MutualTLSOptions{}, full(nil), "cert:batch "},
		"uri":       {MutualTLSOptions{Subject: NameURI}, full(nil), "cert:spiffe://example.com/agent "},
		"dns":       {MutualTLSOptions{Subject: NameDNS}, full(nil), "cert:agent.example.com "},
		"email":     {MutualTLSOptions{Subject: NameEmail}, full(nil), "cert:a@example.com "},
		"dn":        {MutualTLSOptions{Subject: NameDN}, full(nil), "cert:CN=batch,OU=ops,O=acme "},
		"tenant o":  {MutualTLSOptions{Tenant: TenantO}, full(nil), "cert:batch acme"},
		"tenant ou": {MutualTLSOptions{Tenant: TenantOU}, full(nil), "cert:batch ops"},
		"no cn":     {MutualTLSOptions{}, full(func(c *x509.Certificate) { c.Subject.CommonName = "" }), "0 names of the kind cn"},
		"two cns": {MutualTLSOptions{}, full(func(c *x509.Certificate) {
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: []int{2, 5, 4, 3}, Value: "admin"}, {Type: []int{2, 5, 4, 3}, Value: "batch"}}
		}), "2 names of the kind cn"},
		"two uris":         {MutualTLSOptions{Subject: NameURI}, full(func(c *x509.Certificate) { c.URIs = append(c.URIs, other) }), "2 names of the kind uri"},
		"no dns":           {MutualTLSOptions{Subject: NameDNS}, full(func(c *x509.Certificate) { c.DNSNames = nil }), "0 names of the kind dns"},
		"two emails":       {MutualTLSOptions{Subject: NameEmail}, full(func(c *x509.Certificate) { c.EmailAddresses = []string{"a@x", "b@x"} }), "2 names of the kind email"},
		"no dn":            {MutualTLSOptions{Subject: NameDN}, full(func(c *x509.Certificate) { c.Subject = pkix.Name{} }), "not a name"},
		"no o":             {MutualTLSOptions{Tenant: TenantO}, full(func(c *x509.Certificate) { c.Subject.Organization = nil }), "0 names of the kind o"},
		"two ous":          {MutualTLSOptions{Tenant: TenantOU}, full(func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"a", "b"} }), "2 names of the kind ou"},
		"a name of a line": {MutualTLSOptions{}, full(func(c *x509.Certificate) { c.Subject.CommonName = "a\nb" }), "not a name"},
		"a long name":      {MutualTLSOptions{}, full(func(c *x509.Certificate) { c.Subject.CommonName = strings.Repeat("x", 256) }), "not a name"},
		"a server's":       {MutualTLSOptions{}, full(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), "clientAuth"},
		"for anything":     {MutualTLSOptions{}, full(func(c *x509.Certificate) { c.ExtKeyUsage = nil }), "clientAuth"},
		"ended since":      {MutualTLSOptions{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}, full(nil), "expired"},
	} {
		got, err := mtls(t, &c.o).Authenticate(over(c.cert))
		switch {
		case strings.HasPrefix(c.want, "cert:"):
			if err != nil || got.Subject+" "+got.Tenant != c.want || got.Via != "mtls" || !slices.Equal(got.Scopes, a2a.OwnScopes) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		case got != nil || !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %+v, %v, want %q", name, got, err, c.want)
		}
	}
	if got, err := mtls(t, &MutualTLSOptions{Grants: []string{}}).Authenticate(over(full(nil))); err != nil || got.Scopes == nil || len(got.Scopes) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A certificate that TLS has not verified is not trusted, nor is a proxy's header.
func TestOnlyVerifiedCertificatesCount(t *testing.T) {
	m := mtls(t, nil)
	cert, _ := newAuthority(t).make(t, forClients(pkix.Name{CommonName: "batch"}))
	r := over(cert)
	r.TLS.VerifiedChains = nil
	if c, err := m.Authenticate(r); c != nil || !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), "not verified") {
		t.Error(c, err)
	}
	r = bearing()
	r.Header.Set("X-Forwarded-Client-Cert", "Subject=CN=batch")
	for _, state := range []*tls.ConnectionState{nil, {}} {
		r.TLS = state
		if c, err := m.Authenticate(r); c != nil || err != nil {
			t.Error(c, err)
		}
	}
	if name, s := m.Scheme(); name != "mtls" || s.MutualTLS == nil || m.Challenge() != "" {
		t.Errorf("%s, %+v", name, s)
	}
}

// Over a real connection: a client with a certificate of the authority is known, one
// without is not, and one whose certificate has expired or comes from another
// authority gets no connection.
func TestMutualTLSOverTheNetwork(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ours.pem())
	m := mtls(t, nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := m.Authenticate(r)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case c == nil:
			_, _ = io.WriteString(w, "nobody")
		default:
			_, _ = io.WriteString(w, c.Subject)
		}
	}))
	server.TLS = &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	ask := func(cert *x509.Certificate, key *ecdsa.PrivateKey) string {
		tr := server.Client().Transport.(*http.Transport).Clone()
		defer tr.CloseIdleConnections()
		if cert != nil {
			// Sent whatever the server asks for.
			tr.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}, nil
			}
		}
		res, err := (&http.Client{Transport: tr}).Get(server.URL)
		if err != nil {
			return "no connection"
		}
		defer func() { _ = res.Body.Close() }()
		doc, err := io.ReadAll(res.Body)
		if err != nil {
			return "no connection"
		}
		return string(doc)
	}
	name := pkix.Name{CommonName: "batch"}
	ended := forClients(name)
	ended.NotBefore, ended.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	for what, c := range map[string]struct {
		by   *authority
		cert *x509.Certificate
		want string
	}{
		"ours":       {ours, forClients(name), "cert:batch"},
		"theirs":     {theirs, forClients(name), "no connection"},
		"its own":    {&authority{}, forClients(name), "no connection"},
		"expired":    {ours, ended, "no connection"},
		"a server's": {ours, &x509.Certificate{Subject: name, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, "no connection"},
	} {
		if got := ask(c.by.make(t, c.cert)); got != c.want {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := ask(nil, nil); got != "nobody" {
		t.Errorf("none: %s", got)
	}
}

func TestMutualTLSOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []*MutualTLSOptions{{Subject: "serial"}, {Tenant: "cn"}, {Grants: []string{"tasks:raed"}}} {
		if m, err := NewMutualTLS(o); err == nil {
			t.Errorf("%+v became %v", o, m)
		}
	}
}
