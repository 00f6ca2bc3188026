package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"
)

// authority signs certificates of tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

// issue returns a certificate and the PEM of its key; by signs it, nil for
// itself.
func issue(t *testing.T, by *authority, change func(*x509.Certificate)) (*authority, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: rand.Text()},
		NotBefore: doctorNow.AddDate(0, -1, 0), NotAfter: doctorNow.AddDate(0, 6, 0), BasicConstraintsValid: true,
	}
	change(c)
	own := &authority{cert: c, key: key}
	if by == nil {
		by = own
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if own.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	own.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return own, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

var doctorNow = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func TestExamineTLS(t *testing.T) {
	isCA := func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }
	root, _ := issue(t, nil, isCA)
	oldRoot, _ := issue(t, nil, func(c *x509.Certificate) { isCA(c); c.NotAfter = doctorNow.AddDate(0, 0, -1) })
	between, _ := issue(t, root, isCA)
	host := func(c *x509.Certificate) { c.DNSNames = []string{"agents.example.org"} }
	good, key := issue(t, between, host)
	self, selfKey := issue(t, nil, host)
	nameless, namelessKey := issue(t, root, func(*x509.Certificate) {})
	expired, expiredKey := issue(t, root, func(c *x509.Certificate) { host(c); c.NotAfter = doctorNow.AddDate(0, 0, -1) })
	ends, endsKey := issue(t, root, func(c *x509.Certificate) { host(c); c.NotAfter = doctorNow.AddDate(0, 0, 3) })
	early, earlyKey := issue(t, root, func(c *x509.Certificate) { host(c); c.NotBefore = doctorNow.AddDate(0, 0, 1) })
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	for name, c := range map[string]struct {
		cert, key, public string
		mode              os.FileMode
		clientCA          string
		result, says      string
	}{
		"good":             {good.pem + between.pem, key, "https://agents.example.org", 0o600, root.pem, "ok", "cert.pem for agents.example.org, until 2027-05-01T00:00:00Z; the key fits"},
		"another key":      {good.pem + between.pem, selfKey, "", 0o600, "", "problem", "private key does not match public key"},
		"no PEM":           {"x", key, "", 0o600, "", "problem", "failed to find any PEM data"},
		"another name":     {good.pem + between.pem, key, "https://other.example.org", 0o600, "", "problem", "does not fit --public-url https://other.example.org: it is for agents.example.org"},
		"public http":      {good.pem + between.pem, key, "http://agents.example.org", 0o600, "", "warning", "is http, and the port speaks TLS"},
		"no names":         {nameless.pem, namelessKey, "", 0o600, "", "problem", "names no host"},
		"expired":          {expired.pem, expiredKey, "", 0o600, "", "problem", "cert.pem expired on 2026-10-31"},
		"about to":         {ends.pem, endsKey, "", 0o600, "", "warning", "cert.pem expires on 2026-11-04"},
		"not yet":          {early.pem, earlyKey, "", 0o600, "", "problem", "is valid from 2026-11-02T00:00:00Z on only"},
		"self-signed":      {self.pem, selfKey, "", 0o600, "", "warning", "is self-signed"},
		"no chain":         {good.pem, key, "", 0o600, "", "warning", "cert.pem has no chain, and no authority of this system made it"},
		"another chain":    {good.pem + self.pem, key, "", 0o600, "", "warning", "does not lead to an authority of this system"},
		"a wide key":       {good.pem + between.pem, key, "", 0o644, "", "warning", "key.pem can be read by every user"},
		"no callers' CA":   {good.pem + between.pem, key, "", 0o600, "x", "problem", "ca.pem has no certificate"},
		"an old CA":        {good.pem + between.pem, key, "", 0o600, oldRoot.pem, "problem", "all authorities in ca.pem have expired"},
		"an old CA of two": {good.pem + between.pem, key, "", 0o600, oldRoot.pem + root.pem, "warning", "1 of 2 authorities in ca.pem have expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			mustWrite(t, "cert.pem", c.cert, 0o600)
			mustWrite(t, "key.pem", c.key, 0o600)
			chmod(t, "key.pem", c.mode)
			f := tlsFiles{cert: "cert.pem", key: "key.pem"}
			if c.clientCA != "" {
				mustWrite(t, "ca.pem", c.clientCA, 0o600)
				f.clientCA = "ca.pem"
			}
			r := &report{check: "tls"}
			f.examine(r, c.public, doctorNow, roots)
			if len(r.found) != 1 || r.found[0].Result != c.result || !strings.Contains(r.found[0].Detail, c.says) {
				t.Errorf("%+v, want %s %s", r.found, c.result, c.says)
			}
		})
	}
}
