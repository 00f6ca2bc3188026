package port

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLSFiles are the files of a server's side of TLS, all in PEM, at most 1 MiB
// each.
type TLSFiles struct {
	// Cert is the certificate with its chain, Key its private key.
	Cert, Key string
	// ClientCA has the authorities whose client certificates are accepted; a client
	// with a certificate of another one is refused. Empty: no certificate is asked for.
	ClientCA string
	// RequireClient refuses clients without a certificate. False leaves that to the
	// server's Identity, which may accept other credentials.
	RequireClient bool
	// Logger gets a record when files were read again, or could not be. Nil discards.
	Logger *slog.Logger
	// Reloaded, if not nil, is called when files have changed, with the certificate
	// that is used from then on, or with the reason why the old one stays. It is called
	// during a handshake, by one goroutine at a time.
	Reloaded func(leaf *x509.Certificate, err error)
}

// TLS is a server's side of TLS, from files that are read again when they change, so
// that a renewed certificate needs no restart. Present connections stay as they are.
type TLS struct {
	files TLSFiles
	log   *slog.Logger
	now   func() time.Time

	current atomic.Pointer[tls.Config]

	mu     sync.Mutex        // protects the fields below
	looked time.Time         // when the files were looked at
	seen   [sha256.Size]byte // hash of what was in them then, good or not
}

const (
	// lookEvery is the least time between two looks at the files.
	lookEvery = time.Second
	maxPEM    = 1 << 20 // bytes
)

// LoadTLS reads the files.
func LoadTLS(f TLSFiles) (*TLS, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("TLS needs both a certificate and its key: set Cert and Key")
	}
	t := &TLS{files: f, log: f.Logger, now: time.Now}
	t.log = cmp.Or(t.log, slog.New(slog.DiscardHandler))
	docs, sum, err := t.read()
	if err != nil {
		return nil, err
	}
	c, err := t.parse(docs)
	if err != nil {
		return nil, err
	}
	t.looked, t.seen = t.now(), sum
	t.current.Store(c)
	return t, nil
}

// Config returns the configuration for a listener of crypto/tls. It has TLS 1.2
// and 1.3 with the suites and curves that Go has as its defaults, and offers
// HTTP/2, which gRPC needs. At a handshake the files are looked at, once a second at
// most. While they cannot be used, such as between the writing of one and the other,
// what was read before stays in use.
func (t *TLS) Config() *tls.Config {
	c := t.config()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		t.look()
		return t.current.Load(), nil
	}
	return c
}

func (t *TLS) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// A session ticket would outlive the authority of its client certificate.
		SessionTicketsDisabled: t.files.ClientCA != "",
	}
}

// look reads the files unless that was done a moment ago. One handshake does it; others
// do not wait.
func (t *TLS) look() {
	if !t.mu.TryLock() {
		return
	}
	defer t.mu.Unlock()
	now := t.now()
	if age := now.Sub(t.looked); age >= 0 && age < lookEvery {
		return
	}
	t.looked = now
	docs, sum, err := t.read()
	if err == nil {
		if sum == t.seen {
			return
		}
		var c *tls.Config
		if c, err = t.parse(docs); err == nil {
			t.current.Store(c)
			t.log.Info("the certificate was read again", slog.Time("ends", c.Certificates[0].Leaf.NotAfter))
			t.tell(c.Certificates[0].Leaf, nil)
		}
	} else if sum = sha256.Sum256([]byte(err.Error())); sum == t.seen {
		return
	}
	t.seen = sum
	if err != nil {
		t.log.Error("the certificate has changed and cannot be used; the previous one stays in use", slog.Any("error", err))
		t.tell(nil, err)
	}
}

func (t *TLS) tell(leaf *x509.Certificate, err error) {
	if t.files.Reloaded != nil {
		t.files.Reloaded(leaf, err)
	}
}

// tlsDocs has the contents of the files.
type tlsDocs struct{ cert, key, clientCA []byte }

func (t *TLS) read() (docs tlsDocs, sum [sha256.Size]byte, err error) {
	all := sha256.New()
	for _, f := range []struct {
		name string
		doc  *[]byte
	}{{t.files.Cert, &docs.cert}, {t.files.Key, &docs.key}, {t.files.ClientCA, &docs.clientCA}} {
		if f.name == "" && f.doc == &docs.clientCA {
			continue
		}
		if *f.doc, err = readPEM(f.name); err != nil {
			return docs, sum, err
		}
		one := sha256.Sum256(*f.doc)
		all.Write(one[:])
	}
	return docs, [sha256.Size]byte(all.Sum(nil)), nil
}

func readPEM(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(doc) > maxPEM {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxPEM)
	}
	return doc, err
}

func (t *TLS) parse(docs tlsDocs) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(docs.cert, docs.key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.files.Cert, t.files.Key, err)
	}
	c := t.config()
	c.Certificates = []tls.Certificate{pair}
	if t.files.ClientCA != "" {
		if c.ClientCAs, err = authorities(docs.clientCA); err != nil {
			return nil, fmt.Errorf("%s: %w", t.files.ClientCA, err)
		}
		c.ClientAuth = tls.VerifyClientCertIfGiven
		if t.files.RequireClient {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	if now := t.now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		t.log.Warn("the certificate is not valid at this time: clients will refuse it",
			slog.String("file", t.files.Cert), slog.Time("from", pair.Leaf.NotBefore), slog.Time("to", pair.Leaf.NotAfter))
	}
	return c, nil
}

// authorities reads the whole of a file: if it skipped what is wrong, only the clients
// that are refused would notice.
func authorities(doc []byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, doc = pem.Decode(doc); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("there is a %.40q among the certificates", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read", n+1)
		}
		pool.AddCert(cert)
		n++
	}
	if n == 0 || len(bytes.TrimSpace(doc)) > 0 {
		return nil, errors.New("it is not, or not entirely, a PEM file of certificates")
	}
	return pool, nil
}
