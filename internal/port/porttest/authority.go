package porttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Authority makes certificates of the host agent.test that are valid for an hour.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a new authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := new(Authority)
	a.cert, a.key, _ = certificate(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

// PEM returns the certificate of the authority.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Pool returns a pool with the authority's certificate, for clients that trust it.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Issue makes a certificate for name, for both sides of a connection.
func (a *Authority) Issue(t testing.TB, name string) (cert, key []byte) {
	t.Helper()
	c, k, _ := certificate(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"agent.test"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Pair is Issue in the form that crypto/tls takes.
func (a *Authority) Pair(t testing.TB, name string) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func certificate(t testing.TB, c *x509.Certificate, by *Authority) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if by == nil {
		by = &Authority{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	return parsed, key, err
}
