package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/crypto/bcrypt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// proof is what somebody shows.
type proof struct {
	header map[string]string
	cert   *tls.Certificate
	at     string // the path of the agent that it is shown to
}

// to shows it to another agent.
func (c proof) to(path string) proof { return proof{c.header, c.cert, path} }

// with adds headers.
func (c proof) with(pairs ...string) proof {
	header := map[string]string{}
	for name, value := range c.header {
		header[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = pairs[i+1]
	}
	return proof{header, c.cert, c.at}
}

// of adds the certificate of others.
func (c proof) of(other proof) proof { return proof{c.header, other.cert, c.at} }

func bearer(token string) proof {
	return proof{header: map[string]string{"Authorization": "Bearer " + token}}
}

// Two issuers of tokens, of which one names tenants.
const (
	tenantIssuer = "https://tenants.example.com"
	plainIssuer  = "https://issuer.example.com"
	audience     = "parley"
)

// office makes credentials of all kinds, and the guard that takes them.
type office struct {
	t      *testing.T
	vault  auth.Vault
	keys   *auth.Keys
	signer *ecdsa.PrivateKey // of both issuers
	ca     *authority
}

const password = "correct horse battery staple"

// newOffice opens one whose API keys are in a store. users are lines of name and
// tenant, with a colon between them.
func newOffice(t *testing.T, st store.Store, anonymous bool, users ...string) (*office, *auth.Guard) {
	t.Helper()
	o := &office{t: t, vault: st, keys: auth.NewKeys(st, nil), signer: newECKey(t), ca: newAuthority(t)}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: o.signer.Public(), KeyID: "one", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	jwks := file("jwks.json", set)
	var lines strings.Builder
	for _, u := range users {
		name, tenant, _ := strings.Cut(u, ":")
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		lines.WriteString(name + ":" + string(hash) + ":" + tenant + "\n")
	}
	withTenants, err := auth.NewJWT(tenantIssuer, []string{audience}, jwks, &auth.TokenOptions{Name: "tenants", Claims: auth.Claims{Tenant: "tenant"}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := auth.NewJWT(plainIssuer, []string{audience}, jwks, nil)
	if err != nil {
		t.Fatal(err)
	}
	basic, err := auth.NewBasic(file("users", []byte(lines.String())), nil)
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := auth.NewMutualTLS(&auth.MutualTLSOptions{Tenant: auth.TenantO})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.NewGuard([]auth.Method{o.keys, withTenants, plain, basic, certificates}, &auth.GuardOptions{Anonymous: anonymous, Failures: -1})
	if err != nil {
		t.Fatal(err)
	}
	return o, guard
}

// key makes an API key.
func (o *office) key(subject, tenant string, scopes ...string) proof {
	token, _ := o.newKey(o.keys, auth.KeySpec{Subject: subject, Tenant: tenant, Scopes: scopes})
	return proof{header: map[string]string{auth.KeyHeader: token}}
}

func (o *office) newKey(keys *auth.Keys, spec auth.KeySpec) (token, id string) {
	o.t.Helper()
	secret, key, err := keys.Create(o.t.Context(), spec)
	if err != nil {
		o.t.Fatal(err)
	}
	return secret.Reveal(), key.ID
}

// revoked, expired and replaced make keys that were good once.
func (o *office) revoked(subject, tenant string) proof {
	token, id := o.newKey(o.keys, auth.KeySpec{Subject: subject, Tenant: tenant})
	if _, err := o.keys.Revoke(o.t.Context(), id); err != nil {
		o.t.Fatal(err)
	}
	return bearer(token)
}

func (o *office) expired(subject, tenant string) proof {
	past := time.Now().Add(-time.Hour)
	then := auth.NewKeys(o.vault, &auth.KeysOptions{Now: func() time.Time { return past }})
	token, _ := o.newKey(then, auth.KeySpec{Subject: subject, Tenant: tenant, Expires: past.Add(time.Minute)})
	return bearer(token)
}

func (o *office) replaced(subject, tenant string) proof {
	token, id := o.newKey(o.keys, auth.KeySpec{Subject: subject, Tenant: tenant})
	if _, _, err := o.keys.Rotate(o.t.Context(), id, 0); err != nil {
		o.t.Fatal(err)
	}
	return bearer(token)
}

// token makes a token of one of the issuers: with a tenant, of the one that has
// them. claims, in pairs, are changed; nil takes one away.
func (o *office) token(subject, tenant string, claims ...any) proof {
	o.t.Helper()
	all := map[string]any{"iss": plainIssuer, "sub": subject, "aud": audience, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	if tenant != "" {
		all["iss"], all["tenant"] = tenantIssuer, tenant
	}
	for i := 0; i < len(claims); i += 2 {
		all[claims[i].(string)] = claims[i+1]
		if claims[i+1] == nil {
			delete(all, claims[i].(string))
		}
	}
	return o.signed(o.signer, all)
}

func (o *office) signed(key *ecdsa.PrivateKey, claims map[string]any) proof {
	o.t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "one").WithType("JWT"))
	if err != nil {
		o.t.Fatal(err)
	}
	doc, err := json.Marshal(claims)
	if err != nil {
		o.t.Fatal(err)
	}
	jws, err := s.Sign(doc)
	if err != nil {
		o.t.Fatal(err)
	}
	token, err := jws.CompactSerialize()
	if err != nil {
		o.t.Fatal(err)
	}
	return bearer(token)
}

// forged is a token that is signed with a key of the forger's.
func (o *office) forged(subject, tenant string) proof {
	o.t.Helper()
	return o.signed(newECKey(o.t), map[string]any{"iss": tenantIssuer, "sub": subject, "tenant": tenant, "aud": audience, "exp": time.Now().Add(time.Hour).Unix()})
}

// unsigned is a token that says it needs no signature.
func unsigned(subject, tenant string) proof {
	part := func(v any) string {
		doc, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(doc)
	}
	return bearer(part(obj{"alg": "none"}) + "." + part(obj{"iss": tenantIssuer, "sub": subject, "tenant": tenant, "aud": audience, "exp": time.Now().Add(time.Hour).Unix()}) + ".")
}

// login is a user with a password.
func login(name, password string) proof {
	return proof{header: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))}}
}

// certificate makes a client certificate. Without tenant it names none.
func (o *office) certificate(subject, tenant string) proof {
	return proof{cert: o.ca.client(o.t, subject, tenant)}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// authority signs the certificates of a server and its clients.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newECKey(t)}
	a.cert = &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert = a.sign(t, a.cert, &a.key.PublicKey)
	return a
}

func (a *authority) sign(t *testing.T, c *x509.Certificate, of *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, of, a.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func (a *authority) client(t *testing.T, name, organization string) *tls.Certificate {
	t.Helper()
	key := newECKey(t)
	subject := pkix.Name{CommonName: name}
	if organization != "" {
		subject.Organization = []string{organization}
	}
	c := a.sign(t, &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, &key.PublicKey)
	return &tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key, Leaf: c}
}

// server returns the TLS of a server on this machine that takes certificates of
// the authority, and that of its clients.
func (a *authority) server(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key := newECKey(t)
	c := a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, &key.PublicKey)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{c.Raw}, PrivateKey: key}},
			ClientAuth:   tls.VerifyClientCertIfGiven, ClientCAs: pool, NextProtos: []string{"h2", "http/1.1"},
		}, &tls.Config{
			RootCAs: pool,
		}
}

// callerOf is the caller to whom the guard maps credentials: the same name of another
// kind is another caller.
func callerOf(kind, subject, tenant string) a2a.Caller {
	return a2a.Caller{Subject: kind + subject, Tenant: tenant}
}
