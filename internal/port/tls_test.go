package port

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/port/porttest"
)

func write(t *testing.T, name string, doc []byte) {
	t.Helper()
	if err := os.WriteFile(name, doc, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shake makes a handshake between both sides, and sends a byte, so that a client of TLS
// 1.3 learns whether the server accepts its certificate.
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

// tlsFiles returns files, the server's TLS made from them, its log, and a function that
// moves its clock.
func tlsFiles(t *testing.T, clientCA []byte) (*TLS, TLSFiles, *bytes.Buffer, func(time.Duration), *porttest.Authority) {
	t.Helper()
	dir, log, a := t.TempDir(), new(bytes.Buffer), porttest.NewAuthority(t)
	f := TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Logger: slog.New(slog.NewTextHandler(log, nil))}
	cert, key := a.Issue(t, "one")
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
			told = append(told, "failure")
			return
		}
		told = append(told, leaf.Subject.CommonName)
	}
	server, client := x.Config(), &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test", NextProtos: []string{"h2"}}
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

	cert, key := a.Issue(t, "two")
	write(t, f.Cert, cert)
	pass(lookEvery - 1)
	serves("one") // not looked at so soon
	pass(1)
	serves("one") // the key file still belongs to the old certificate
	pass(lookEvery)
	serves("one")
	logged(1, "cannot be used")
	logged(1, f.Cert+" with "+f.Key+": tls: private key does not match")
	write(t, f.Key, key)
	pass(lookEvery)
	serves("two")
	logged(1, "read again")

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
	cert, key = a.Issue(t, "three")
	write(t, f.Cert, cert)
	write(t, f.Key, key)
	serves("three")
	if got := strings.Join(told, " "); !strings.HasPrefix(got, "failure two failure ") || !strings.HasSuffix(got, " three") {
		t.Errorf("told of %s", got)
	}
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	x, _, _, _, a := tlsFiles(t, nil)
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		_, _, err := shake(t, x.Config(), &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test", MinVersion: tls.VersionTLS10, MaxVersion: version})
		if ok != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestClientCertificates(t *testing.T) {
	clients, others := porttest.NewAuthority(t), porttest.NewAuthority(t)
	x, f, log, pass, a := tlsFiles(t, clients.PEM())
	server := x.Config()
	// A resumed session would show the certificate of the earlier one.
	cache := tls.NewLRUClientSessionCache(8)
	connect := func(by *porttest.Authority) (tls.ConnectionState, error) {
		client := &tls.Config{RootCAs: a.Pool(), ServerName: "agent.test", ClientSessionCache: cache}
		if by != nil {
			pair := by.Pair(t, "alice")
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

	write(t, f.ClientCA, others.PEM())
	pass(lookEvery)
	if _, err := connect(clients); err == nil {
		t.Error("an authority that is gone is still believed")
	}
	if _, err := connect(others); err != nil {
		t.Error(err)
	}
	write(t, f.ClientCA, append(clients.PEM(), "and more"...))
	pass(lookEvery)
	if _, err := connect(others); err != nil || !strings.Contains(log.String(), "cannot be used") {
		t.Errorf("%v: %s", err, log)
	}

	f.RequireClient = true
	write(t, f.ClientCA, append(clients.PEM(), others.PEM()...))
	if x, err = LoadTLS(f); err != nil {
		t.Fatal(err)
	}
	server = x.Config()
	if _, err := connect(nil); err == nil {
		t.Error("no certificate was taken where one is required")
	}
	for _, by := range []*porttest.Authority{clients, others} {
		if _, err := connect(by); err != nil {
			t.Error(err)
		}
	}
}

func TestFilesThatAreNoCertificates(t *testing.T) {
	_, f, _, _, a := tlsFiles(t, porttest.NewAuthority(t).PEM())
	ownCert, ownKey := a.Issue(t, "own")
	cert, key := a.Issue(t, "x")
	for name, change := range map[string]func(){
		"nothing":           func() { f.ClientCA = filepath.Join(t.TempDir(), "none") },
		"a key":             func() { write(t, f.ClientCA, key) },
		"text":              func() { write(t, f.ClientCA, []byte("hello")) },
		"empty":             func() { write(t, f.ClientCA, nil) },
		"half":              func() { write(t, f.ClientCA, append(a.PEM(), cert[:len(cert)/2]...)) },
		"broken":            func() { write(t, f.ClientCA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})) },
		"too large":         func() { write(t, f.ClientCA, bytes.Repeat([]byte("\n"), maxPEM+1)) },
		"another's key":     func() { write(t, f.Key, key) },
		"nothing but a key": func() { write(t, f.Cert, key) },
		"no certificate":    func() { f.Cert = "" },
		"no key":            func() { f.Key = "" },
	} {
		good := f
		write(t, f.Cert, ownCert)
		write(t, f.Key, ownKey)
		write(t, f.ClientCA, a.PEM())
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
