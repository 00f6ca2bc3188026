package serve

import (
	"crypto/x509"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/failure"
)

// tlsFiles are the flags that name certificates.
type tlsFiles struct {
	cert, key string
	clientCA  string
	required  bool // callers need a client certificate
}

func (f *tlsFiles) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.cert, "tls-cert", "", "PEM `file` of a certificate and its chain: the port then speaks TLS, gRPC included. This file and the next two are read again when they change")
	fs.StringVar(&f.key, "tls-key", "", "PEM `file` of the certificate's private key")
	fs.StringVar(&f.clientCA, "client-ca", "", "callers with a certificate of one of the authorities in this PEM `file`")
	fs.BoolVar(&f.required, "client-cert-required", false, "refuse connections without such a certificate, whatever other credentials they have")
}

func (f *tlsFiles) check() error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return failure.Usagef("--tls-cert and --tls-key go together: give both, or neither")
	case f.clientCA != "" && f.cert == "":
		return failure.Usagef("--client-ca is about TLS, and there is no --tls-cert").
			WithHint("where something in front has TLS, it is also what sees the certificates of callers")
	case f.required && f.clientCA == "":
		return failure.Usagef("--client-cert-required needs --client-ca")
	}
	return nil
}

func (f *tlsFiles) given() bool { return f.cert != "" }

// certificate returns the certificate in use; nil if there is none. Like a handshake, it
// reads files that have changed.
func (h *Host) certificate() *x509.Certificate {
	if h.tls == nil {
		return nil
	}
	c, err := h.tls.Config().GetConfigForClient(nil)
	if err != nil {
		return nil
	}
	return c.Certificates[0].Leaf
}

// load reads the files, so that mistakes show at the start; it returns nil if there are
// none.
func (f *tlsFiles) load(audit *AuditLog, log *slog.Logger) (*a2aserver.TLS, error) {
	if !f.given() {
		return nil, nil
	}
	t, err := a2aserver.LoadTLS(a2aserver.TLSFiles{Cert: f.cert, Key: f.key, ClientCA: f.clientCA, RequireClient: f.required, Logger: log, Reloaded: audit.reloaded})
	if err != nil {
		return nil, failure.New(failure.CodeServe, "the certificate cannot be used: "+err.Error(), err).
			WithHint("--tls-cert wants the certificate with its chain, --tls-key its private key, --client-ca the certificates of authorities, all in PEM")
	}
	return t, nil
}
