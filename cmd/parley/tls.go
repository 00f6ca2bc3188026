package main

import (
	"crypto/tls"
	"net"
)

// tlsFiles are the options of serve that name a certificate.
type tlsFiles struct{ cert, key string }

func (f tlsFiles) given() bool { return f.cert != "" || f.key != "" }

// listen returns l, with TLS if files were given. The certificate is read once
// here, so that a wrong one is known at the start; a new one takes a restart.
func (f tlsFiles) listen(l net.Listener) (net.Listener, error) {
	if !f.given() {
		return l, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, usagef("--tls-cert and --tls-key go together: give both, or neither")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, newFailure(codeServe, "the certificate cannot be used: "+err.Error(), err).
			withHint("--tls-cert wants the certificate with its chain, --tls-key its private key, both in PEM")
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}), nil
}
