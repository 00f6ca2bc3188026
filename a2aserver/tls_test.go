package a2aserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	a.cert, a.key, _ = certificate(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// issue makes a certificate for name, for both sides of a connection.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
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

func (a *authority) pair(t *testing.T, name string) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(a.issue(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func certificate(t *testing.T, c *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey, error) {
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
		by = &authority{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	return parsed, key, err
}

func write(t *testing.T, name string, doc []byte) {
	t.Helper()
	if err := os.WriteFile(name, doc, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shake is a handshake of both sides, and a byte, so that a client of TLS 1.3
// hears of what the server thinks of its certificate.
func shake(t *testing.T, server, client *tls.Config) (seen, sees tls.ConnectionState, err error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	s, c := tls.Server(far, server), tls.Client(near, client)
	ended := make(chan error, 1)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		far.Close()
		ended <- err
	}()
	_, err = c.Read(make([]byte, 1))
	near.Close()
	if serverErr := <-ended; serverErr != nil {
		err = serverErr
	}
	return c.ConnectionState(), s.ConnectionState(), err
}

// tlsFiles are files with their server's side of TLS and its clock.
func tlsFiles(t *testing.T, clientCA []byte) (*TLS, TLSFiles, *bytes.Buffer, func(time.Duration), *authority) {
	t.Helper()
	dir, log, a := t.TempDir(), new(bytes.Buffer), newAuthority(t)
	f := TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Logger: slog.New(slog.NewTextHandler(log, nil))}
	cert, key := a.issue(t, "one")
	write(t, f.Cert, cert)
	write(t, f.Key, key)
	if clientCA != nil {
		f.ClientCA = filepath.Join(dir, "ca.pem")
		write(t, f.ClientCA, clientCA)
	}
	x, err := LoadTLS(f)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x.now = func() time.Time { return now }
	return x, f, log, func(d time.Duration) { now = now.Add(d) }, a
}

func TestCertificatesAreReadAgain(t *testing.T) {
	x, f, log, pass, a := tlsFiles(t, nil)
	var told []string
	x.files.Reloaded = func(leaf *x509.Certificate, err error) {
		if err != nil {
			told = append(told, "trouble")
			return
		}
		told = append(told, leaf.Subject.CommonName)
	}
	server, client := x.Config(), &tls.Config{RootCAs: a.pool(), ServerName: "agent.test", NextProtos: []string{"h2"}}
	serves := func(want string) {
		t.Helper()
		seen, _, err := shake(t, server, client)
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.PeerCertificates[0].Subject.CommonName; got != want || seen.Version != tls.VersionTLS13 || seen.NegotiatedProtocol != "h2" {
			t.Errorf("certificate %s, want %s; version %x, protocol %q", got, want, seen.Version, seen.NegotiatedProtocol)
		}
	}
	logged := func(want int, words string) {
		t.Helper()
		if n := strings.Count(log.String(), words); n != want {
			t.Errorf("%q is logged %d times, want %d: %s", words, n, want, log)
		}
	}
	serves("one")

	cert, key := a.issue(t, "two")
	write(t, f.Cert, cert)
	pass(lookEvery - 1)
	serves("one") // not looked at so soon
	pass(1)
	serves("one") // the key is still the other's
	pass(lookEvery)
	serves("one")
	logged(1, "cannot be used")
	write(t, f.Key, key)
	pass(lookEvery)
	serves("two")
	logged(1, "read anew")

	if err := os.Remove(f.Key); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pass(lookEvery)
		serves("two")
	}
	logged(2, "cannot be used")
	write(t, f.Key, key)
	pass(lookEvery)
	serves("two")
	pass(-time.Hour) // a clock that is set back does not stop it
	cert, key = a.issue(t, "three")
	write(t, f.Cert, cert)
	write(t, f.Key, key)
	serves("three")
	if got := strings.Join(told, " "); !strings.HasPrefix(got, "trouble two trouble ") || !strings.HasSuffix(got, " three") {
		t.Errorf("told of %s", got)
	}
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	x, _, _, _, a := tlsFiles(t, nil)
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		_, _, err := shake(t, x.Config(), &tls.Config{RootCAs: a.pool(), ServerName: "agent.test", MinVersion: tls.VersionTLS10, MaxVersion: version})
		if ok != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestClientCertificates(t *testing.T) {
	clients, others := newAuthority(t), newAuthority(t)
	x, f, log, pass, a := tlsFiles(t, clients.pem())
	server := x.Config()
	// A session that is resumed would show the certificate of the one before.
	cache := tls.NewLRUClientSessionCache(8)
	connect := func(by *authority) (tls.ConnectionState, error) {
		client := &tls.Config{RootCAs: a.pool(), ServerName: "agent.test", ClientSessionCache: cache}
		if by != nil {
			pair := by.pair(t, "alice")
			client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		_, sees, err := shake(t, server, client)
		return sees, err
	}
	if sees, err := connect(nil); err != nil || len(sees.PeerCertificates) > 0 {
		t.Errorf("without a certificate: %v", err)
	}
	sees, err := connect(clients)
	if err != nil || len(sees.VerifiedChains) == 0 || sees.PeerCertificates[0].Subject.CommonName != "alice" {
		t.Errorf("with a certificate: %v", err)
	}
	if _, err := connect(others); err == nil {
		t.Error("the certificate of another authority was taken")
	}

	write(t, f.ClientCA, others.pem())
	pass(lookEvery)
	if _, err := connect(clients); err == nil {
		t.Error("an authority that is gone is still believed")
	}
	if _, err := connect(others); err != nil {
		t.Error(err)
	}
	write(t, f.ClientCA, append(clients.pem(), "and more"...))
	pass(lookEvery)
	if _, err := connect(others); err != nil || !strings.Contains(log.String(), "cannot be used") {
		t.Errorf("%v: %s", err, log)
	}

	f.RequireClient = true
	write(t, f.ClientCA, append(clients.pem(), others.pem()...))
	if x, err = LoadTLS(f); err != nil {
		t.Fatal(err)
	}
	server = x.Config()
	if _, err := connect(nil); err == nil {
		t.Error("no certificate was taken where one is required")
	}
	for _, by := range []*authority{clients, others} {
		if _, err := connect(by); err != nil {
			t.Error(err)
		}
	}
}

func TestFilesThatAreNoCertificates(t *testing.T) {
	_, f, _, _, a := tlsFiles(t, newAuthority(t).pem())
	ownCert, ownKey := a.issue(t, "own")
	cert, key := a.issue(t, "x")
	for name, change := range map[string]func(){
		"nothing":           func() { f.ClientCA = filepath.Join(t.TempDir(), "none") },
		"a key":             func() { write(t, f.ClientCA, key) },
		"text":              func() { write(t, f.ClientCA, []byte("hello")) },
		"empty":             func() { write(t, f.ClientCA, nil) },
		"half":              func() { write(t, f.ClientCA, append(a.pem(), cert[:len(cert)/2]...)) },
		"broken":            func() { write(t, f.ClientCA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})) },
		"too large":         func() { write(t, f.ClientCA, bytes.Repeat([]byte("\n"), maxPEM+1)) },
		"another's key":     func() { write(t, f.Key, key) },
		"nothing but a key": func() { write(t, f.Cert, key) },
	} {
		good := f
		write(t, f.Cert, ownCert)
		write(t, f.Key, ownKey)
		write(t, f.ClientCA, a.pem())
		if _, err := LoadTLS(f); err != nil {
			t.Fatal(err)
		}
		change()
		if _, err := LoadTLS(f); err == nil {
			t.Errorf("%s: taken", name)
		}
		f = good
	}
}
