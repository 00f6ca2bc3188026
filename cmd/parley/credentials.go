package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/parts"
	"github.com/parley-a2a/parley/internal/plain"
)

// userPassword is the value of --basic.
type userPassword struct{ user, password string }

func (p userPassword) given() bool { return p != userPassword{} }

func (p userPassword) String() string {
	if !p.given() {
		return ""
	}
	return p.user + ":" + plain.Redacted
}

func parseUserPassword(s string) (userPassword, error) {
	user, password, ok := strings.Cut(s, ":")
	if !ok || user == "" || password == "" {
		return userPassword{}, errors.New("must be user:password")
	}
	return userPassword{user, password}, nil
}

// hidden returns what diagnostics must not show of it: the password, and the encoded user and
// password.
func (p userPassword) hidden() []string {
	if !p.given() {
		return nil
	}
	return []string{p.password, base64.StdEncoding.EncodeToString([]byte(p.user + ":" + p.password))}
}

// settleCredentials decides between --bearer and --basic, which use the same header. It also
// reads the certificate, so that a wrong one is reported before the first request.
func (a *app) settleCredentials() error {
	f := &a.flags
	if f.bearer != "" && f.basic.given() {
		switch bearer, err := a.settings.prefer("bearer", "basic"); {
		case err != nil:
			return err
		case bearer:
			f.basic = userPassword{}
		default:
			f.bearer = ""
		}
	}
	if f.caFile != "" {
		pool, err := trusted(f.caFile)
		if err != nil {
			return failure.Usagef("--ca-file %s: %v", plain.Quote(f.caFile), err).WithHint("it wants certificates in PEM, as in -----BEGIN CERTIFICATE-----")
		}
		a.roots = pool
	}
	if f.clientCert == "" {
		if f.clientKey != "" {
			return failure.Usagef("--client-key is the key of a certificate, and there is no --client-cert")
		}
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.clientCert, cmp.Or(f.clientKey, f.clientCert))
	if err != nil {
		return failure.Usagef("the certificate of --client-cert cannot be used: %v", err).
			WithHint("--client-cert wants the certificate with its chain, --client-key its private key, both in PEM")
	}
	a.certificate = []tls.Certificate{pair}
	return nil
}

// trusted returns the system's certificate authorities and those of a file.
func trusted(name string) (*x509.CertPool, error) {
	text, err := parts.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}
